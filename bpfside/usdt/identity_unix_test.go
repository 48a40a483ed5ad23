//go:build unix

package usdt

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A named pipe that takes the place of a file between the look at it and its
// opening must not hang.
func TestOpenRegularSwapped(t *testing.T) {
	dir := t.TempDir()
	path, fifo, plain := filepath.Join(dir, "path"), filepath.Join(dir, "fifo"), filepath.Join(dir, "plain")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stop, swapped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(swapped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			// Links, so that both are there to be put in place again.
			os.Link([]string{fifo, plain}[i%2], path+".new")
			os.Rename(path+".new", path)
		}
	}()
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); {
			f, err := openRegular(path)
			if err != nil {
				if !errors.Is(err, ErrNotELF) && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("open: %v", err)
				}
				continue
			}
			if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
				t.Errorf("opened something that is not a regular file: %v, %v", st, err)
			}
			f.Close()
		}
	}()
	select {
	case <-opened:
	case <-time.After(20 * time.Second):
		t.Error("open hangs in a named pipe")
	}
	close(stop)
	<-swapped
}
