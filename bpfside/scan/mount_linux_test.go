package scan_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nopfire/nopfire/bpfside/scan"
	"github.com/nopfire/nopfire/internal/testutils"
)

// A file system of the kernel is not entered where it is mounted below a given
// directory, another one is.
func TestFilesBehindMounts(t *testing.T) {
	testutils.Root(t)
	dir := t.TempDir()
	for _, fs := range []string{"proc", "tmpfs"} {
		at := filepath.Join(dir, fs)
		if err := os.Mkdir(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount(fs, at, fs, unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
			testutils.SkipOrFail(t, "mount %s: %v", fs, err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(at, 0); err != nil {
				t.Error(err)
			}
		})
	}
	write(t, filepath.Join(dir, "tmpfs", "app"), object(t, "app", "one"))
	res, err := scan.Files(context.Background(), []string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir, res); !slices.Equal(got, []string{"tmpfs/app app:one"}) || len(res.Problems) > 0 || res.Stats.Files != 1 {
		t.Errorf("found %q, problems %v, %+v", got, res.Problems, res.Stats)
	}
}
