package body

import (
	"io"
	"io/fs"
	"strings"
	"time"
)

// A source is a file system with one file, the program.
type source string

// Open implements fs.FS.
func (s source) Open(name string) (fs.File, error) {
	if name != file {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return sourceFile{strings.NewReader(string(s))}, nil
}

type sourceFile struct{ *strings.Reader }

func (f sourceFile) Stat() (fs.FileInfo, error) { return sourceInfo{f.Size()}, nil }
func (sourceFile) Close() error                 { return nil }

var _ io.Reader = sourceFile{}

type sourceInfo struct{ size int64 }

func (sourceInfo) Name() string       { return file }
func (i sourceInfo) Size() int64      { return i.size }
func (sourceInfo) Mode() fs.FileMode  { return 0o444 }
func (sourceInfo) ModTime() time.Time { return time.Time{} }
func (sourceInfo) IsDir() bool        { return false }
func (sourceInfo) Sys() any           { return nil }
