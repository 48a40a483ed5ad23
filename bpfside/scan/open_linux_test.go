package scan

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// What takes the place of a directory or file between the look at it and its opening
// is neither followed nor waited for.
func TestOpenSwapped(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.Mkdir(at("dir"), 0o755), os.Symlink("dir", at("link")), syscall.Mkfifo(at("pipe"), 0o600),
		os.WriteFile(at("file"), []byte("file"), 0o600), os.Symlink("file", at("filelink")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name   string
		top    bool
		opened bool
		fails  bool
	}{
		{"dir", false, true, false}, {"dir", true, true, false},
		{"link", false, false, false}, {"link", true, true, false},
		{"pipe", false, false, false}, {"pipe", true, false, true},
		{"file", false, false, false}, {"file", true, false, true},
		{"gone", false, false, true},
	} {
		d, err := openDirectory(at(tc.name), tc.top)
		if (d != nil) != tc.opened || (err != nil) != tc.fails {
			t.Errorf("openDirectory(%s, %v): %v, error %v", tc.name, tc.top, d, err)
		}
		if d != nil {
			d.Close()
		}
	}
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for name, fails := range map[string]bool{"file": false, "filelink": false, "pipe": false, "dir": false, "gone": true} {
		f, _, err := openELF(d, name, true)
		if f != nil || (err != nil) != fails {
			t.Errorf("openELF(%s): %v, error %v", name, f, err)
		}
	}
}
