package scan_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/nopfire/nopfire/bpfside/scan"
	"github.com/nopfire/nopfire/internal/testutils"
)

// later is a clock that takes files of just now for old ones.
func later() time.Time { return time.Now().Add(time.Hour) }

// private returns a directory for this user alone, whatever the umask.
func private(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// openCache opens a cache in a directory.
func openCache(t *testing.T, dir string) *scan.Cache {
	t.Helper()
	c, err := scan.OpenCache(dir)
	if err != nil {
		t.Fatal(err)
	}
	c.SetClock(later)
	return c
}

// scanCached scans a directory with a cache, and saves that.
func scanCached(t *testing.T, c *scan.Cache, dir string) *scan.Result {
	t.Helper()
	res, err := scan.Files(context.Background(), []string{dir}, &scan.Options{Cache: c})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	return res
}

// needLasting skips a test in a directory of a file system that is not cached.
func needLasting(t *testing.T, dir string) {
	t.Helper()
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	const tmpfs = 0x01021994 // TMPFS_MAGIC of include/uapi/linux/magic.h
	if st.Type == tmpfs {
		t.Skip("skipped: what is in a tmpfs is not cached (TMPDIR names another directory)")
	}
}

// A second scan knows the files without probes and finds what the first one did.
// Whatever changes is read again: also what has the same size and time as before.
func TestCache(t *testing.T) {
	dir, caches := t.TempDir(), private(t)
	needLasting(t, dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	app := object(t, "app", "one")
	write(t, at("app"), app)
	write(t, at("text"), bytes.Repeat([]byte("x"), len(app)))
	write(t, at("plain"), plain())
	write(t, at("cut"), app[:40])

	want := []string{"app app:one"}
	check := func(c *scan.Cache, cached int64) {
		t.Helper()
		res := scanCached(t, c, dir)
		if got := names(t, dir, res); !slices.Equal(got, want) || res.Stats.Cached != cached || len(res.Problems) != 1 {
			t.Errorf("found %q, %d cached, problems %v; want %q, %d cached, 1 problem", got, res.Stats.Cached, res.Problems, want, cached)
		}
	}
	check(openCache(t, caches), 0)
	check(openCache(t, caches), 2)
	check(nil, 0)

	st, err := os.Stat(at("text"))
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond) // the clock of a file system has ticks
	write(t, at("text"), app)
	if err := os.Chtimes(at("text"), st.ModTime(), st.ModTime()); err != nil {
		t.Fatal(err)
	}
	want = append(want, "text app:one")
	check(openCache(t, caches), 1)

	// Another file in the place of one.
	write(t, at("new"), app)
	if err := os.Rename(at("new"), at("plain")); err != nil {
		t.Fatal(err)
	}
	want = []string{"app app:one", "plain app:one", "text app:one"}
	check(openCache(t, caches), 0)
}

// What was changed just before a scan is not remembered: it may be changed once more
// without another time to show for it.
func TestCacheOfFreshFiles(t *testing.T) {
	dir, caches := t.TempDir(), private(t)
	needLasting(t, dir)
	write(t, filepath.Join(dir, "text"), []byte("text"))
	for range 2 {
		c := openCache(t, caches)
		c.SetClock(time.Now)
		if res := scanCached(t, c, dir); res.Stats.Cached != 0 {
			t.Errorf("%+v", res.Stats)
		}
	}
}

// A cache that somebody else could have written is not used, and a broken one is
// empty and is replaced.
func TestOpenCache(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(dir string) error
		want error // of OpenCache
		root bool
	}{
		{name: "nothing there", make: func(string) error { return nil }},
		{name: "a directory", make: func(d string) error { return os.Mkdir(d, 0o755) }},
		{name: "a directory that a group writes to", want: scan.ErrUntrusted, make: func(d string) error {
			return errors.Join(os.Mkdir(d, 0o700), os.Chmod(d, 0o770))
		}},
		{name: "a directory that all write to", want: scan.ErrUntrusted, make: func(d string) error {
			return errors.Join(os.Mkdir(d, 0o700), os.Chmod(d, 0o777))
		}},
		{name: "a directory of another user", root: true, want: scan.ErrUntrusted, make: func(d string) error {
			return errors.Join(os.Mkdir(d, 0o700), os.Chown(d, 65534, 65534))
		}},
		{name: "in a directory of another user", root: true, want: scan.ErrUntrusted, make: func(d string) error {
			return os.Chown(filepath.Dir(d), 65534, 65534)
		}},
		{name: "two levels missing", want: os.ErrNotExist, make: func(d string) error { return os.Remove(filepath.Dir(d)) }},
		{name: "garbage", make: func(d string) error {
			return errors.Join(os.Mkdir(d, 0o700), os.WriteFile(filepath.Join(d, "scan"), bytes.Repeat([]byte("scan"), 4000), 0o600))
		}},
		{name: "a pipe", make: func(d string) error {
			return errors.Join(os.Mkdir(d, 0o700), syscall.Mkfifo(filepath.Join(d, "scan"), 0o600))
		}},
		{name: "a link", make: func(d string) error {
			return errors.Join(os.Mkdir(d, 0o700), os.Symlink("/dev/zero", filepath.Join(d, "scan")))
		}},
		{name: "what a killed one left", make: func(d string) error {
			left := filepath.Join(d, "scan-1.new")
			old := time.Now().Add(-24 * time.Hour)
			return errors.Join(os.Mkdir(d, 0o700), os.WriteFile(left, nil, 0o600), os.Chtimes(left, old, old))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.root {
				testutils.Root(t)
			}
			dir := t.TempDir()
			needLasting(t, dir)
			write(t, filepath.Join(dir, "files", "text"), []byte("text"))
			home := filepath.Join(dir, "home")
			if err := os.Mkdir(home, 0o755); err != nil {
				t.Fatal(err)
			}
			caches := filepath.Join(home, "nopfire")
			if err := tc.make(caches); err != nil {
				t.Fatal(err)
			}
			c, err := scan.OpenCache(caches)
			if !errors.Is(err, tc.want) {
				t.Fatalf("error %v, want %v", err, tc.want)
			}
			if err != nil {
				return
			}
			c.SetClock(later)
			for i := range int64(2) {
				if i > 0 {
					c = openCache(t, caches)
				}
				if res := scanCached(t, c, filepath.Join(dir, "files")); res.Stats.Cached != i {
					t.Errorf("scan %d: %+v", i, res.Stats)
				}
			}
			entries, err := os.ReadDir(caches)
			if err != nil || len(entries) != 1 {
				t.Errorf("left %v, %v", entries, err)
			}
			st, err := os.Lstat(filepath.Join(caches, "scan"))
			if err != nil || st.Mode() != 0o600 {
				t.Errorf("file of the cache: %v, %v", st.Mode(), err)
			}
		})
	}
}

// The file of a cache that another user could have written is not believed.
func TestCacheFileOfOthers(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(file string) error
		root bool
	}{
		{"that all may write", func(f string) error { return os.Chmod(f, 0o666) }, false},
		{"of another user", func(f string) error { return os.Chown(f, 65534, 65534) }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.root {
				testutils.Root(t)
			}
			dir, caches := t.TempDir(), private(t)
			needLasting(t, dir)
			write(t, filepath.Join(dir, "text"), []byte("text"))
			scanCached(t, openCache(t, caches), dir)
			if err := tc.make(filepath.Join(caches, "scan")); err != nil {
				t.Fatal(err)
			}
			if res := scanCached(t, openCache(t, caches), dir); res.Stats.Cached != 0 {
				t.Errorf("%+v", res.Stats)
			}
			if res := scanCached(t, openCache(t, caches), dir); res.Stats.Cached != 1 {
				t.Errorf("after it was written anew: %+v", res.Stats)
			}
		})
	}
}

func BenchmarkFiles(b *testing.B) {
	dir := b.TempDir()
	app := object(b, "app", "one")
	for i := range 2000 {
		data := []byte("text")
		if i%50 == 0 {
			data = app
		}
		write(b, filepath.Join(dir, fmt.Sprint(i%40), fmt.Sprint("file", i)), data)
	}
	for _, cached := range []bool{false, true} {
		b.Run(fmt.Sprintf("cached=%v", cached), func(b *testing.B) {
			o := new(scan.Options)
			if cached {
				caches := private(b)
				fill := func() *scan.Cache {
					c, err := scan.OpenCache(caches)
					if err != nil {
						b.Fatal(err)
					}
					c.SetClock(later)
					return c
				}
				first := fill()
				if _, err := scan.Files(context.Background(), []string{dir}, &scan.Options{Cache: first}); err != nil {
					b.Fatal(err)
				}
				if err := first.Save(); err != nil {
					b.Fatal(err)
				}
				o.Cache = fill()
			}
			for b.Loop() {
				if _, err := scan.Files(context.Background(), []string{dir}, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
