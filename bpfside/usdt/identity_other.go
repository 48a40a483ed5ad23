//go:build !unix

package usdt

import "os"

// openNonblock is no flag: where it is missing, named pipes are no files.
const openNonblock = 0

// identify returns size and time alone, where files have no numbers.
func identify(f *os.File) (FileID, error) {
	st, err := f.Stat()
	if err != nil {
		return FileID{}, unwrapPath(err)
	}
	return identityOf(st)
}

func identityOf(st os.FileInfo) (FileID, error) {
	return FileID{Size: st.Size(), MTime: st.ModTime().UnixNano()}, nil
}
