//go:build amd64 || arm64

package urdt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/nopfire/nopfire/internal/testutils"
	"github.com/nopfire/nopfire/urdt/abi"
)

// A world is where a search of a test looks.
type world struct {
	t      *testing.T
	dir    string
	env    map[string]string
	system string
	user   string
}

// newWorld makes a world without any object: an empty system directory, and no
// variables.
func newWorld(t *testing.T) *world {
	t.Helper()
	reset(t)
	w := &world{t: t, dir: t.TempDir(), env: map[string]string{}}
	w.system = filepath.Join(w.dir, "system", abi.Library)
	w.mkdir(filepath.Dir(w.system), 0o755)
	oldPath, oldEnv, oldRaised := systemPath, getenv, raised
	systemPath, getenv, raised = w.system, func(k string) string { return w.env[k] }, func() bool { return false }
	t.Cleanup(func() { systemPath, getenv, raised = oldPath, oldEnv, oldRaised })
	return w
}

func (w *world) mkdir(dir string, mode os.FileMode) string {
	w.t.Helper()
	if err := os.MkdirAll(dir, mode); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chmod(dir, mode); err != nil {
		w.t.Fatal(err)
	}
	return dir
}

// runtimeDir gives the user a directory.
func (w *world) runtimeDir() string {
	dir := w.mkdir(filepath.Join(w.dir, "run"), 0o700)
	w.env["XDG_RUNTIME_DIR"] = dir
	w.user = filepath.Join(dir, "nopfire", abi.Library)
	return dir
}

// library writes the library to path.
func (w *world) library(path string) {
	w.t.Helper()
	b, err := Library()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// mapped tells whether the process executes from a file.
func mapped(t *testing.T, path string) bool {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		if f := strings.Fields(line); len(f) > 5 && f[5] == path && strings.Contains(f[1], "x") {
			return true
		}
	}
	return false
}

func reachOfOwner() Reach {
	if os.Geteuid() == 0 {
		return System
	}
	return User
}

// The places in order; each that is passed over is in the reason.
func TestSearchOrder(t *testing.T) {
	for _, tt := range []struct {
		name  string
		setup func(w *world) (path string)
		reach Reach
		why   []string // in the reason, nil for none
	}{
		{"nothing at all", func(w *world) string { return "/proc/self/fd/" }, Process,
			[]string{"system: open ", "no such file", "user: $XDG_RUNTIME_DIR is not set"}},
		{"the variable", func(w *world) string {
			w.env["NOPFIRE_URDT"] = filepath.Join(w.dir, "own.so")
			w.library(w.env["NOPFIRE_URDT"])
			w.library(w.system)
			return w.env["NOPFIRE_URDT"]
		}, reachOfOwner(), nil},
		{"the variable names nothing", func(w *world) string {
			w.env["NOPFIRE_URDT"] = filepath.Join(w.dir, "absent.so")
			w.library(w.system)
			return w.system
		}, System, []string{"$NOPFIRE_URDT: open ", "absent.so: no such file"}},
		{"the variable, raised privileges", func(w *world) string {
			w.env["NOPFIRE_URDT"] = filepath.Join(w.dir, "own.so")
			w.library(w.env["NOPFIRE_URDT"])
			w.library(w.system)
			raised = func() bool { return true }
			return w.system
		}, System, []string{"$NOPFIRE_URDT: the process runs with raised privileges"}},
		{"system before user", func(w *world) string {
			w.library(w.system)
			w.runtimeDir()
			return w.system
		}, System, nil},
		{"user, made by the first", func(w *world) string { w.runtimeDir(); return w.user }, User, []string{"system: open "}},
		{"user, there already", func(w *world) string {
			w.runtimeDir()
			w.mkdir(filepath.Dir(w.user), 0o700)
			w.library(w.user)
			return w.user
		}, User, []string{"system: open "}},
		{"user, raised privileges", func(w *world) string {
			w.runtimeDir()
			raised = func() bool { return true }
			return "/proc/self/fd/"
		}, Process, []string{"user: the process runs with raised privileges"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			path := tt.setup(w)
			s := Scope()
			path = strings.Replace(path, "/self/", fmt.Sprintf("/%d/", os.Getpid()), 1)
			if s.Reach != tt.reach || !strings.HasPrefix(s.Path, path) {
				t.Errorf("%s scope, %s; want %s, %s (reason: %v)", s.Reach, s.Path, tt.reach, path, s.Reason)
			}
			if (s.Reason == nil) != (tt.why == nil) {
				t.Errorf("reason %v", s.Reason)
			}
			for _, why := range tt.why {
				if s.Reason != nil && !strings.Contains(s.Reason.Error(), why) {
					t.Errorf("no %q in %v", why, s.Reason)
				}
			}
			if s.Reach != Process && !mapped(t, s.Path) {
				t.Errorf("%s is not mapped", s.Path)
			}
			if w.user != "" && tt.reach != User {
				if _, err := os.Stat(filepath.Dir(w.user)); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("the user's directory was touched: %v", err)
				}
			}
			// It works: nobody traces, and the call returns.
			Probe1("p", "x", 1)
			if err := Must(New("p", "x", 1)).Fire(2); err != nil {
				t.Error(err)
			}
		})
	}
}

// A file that others could have made, or can change, is never executed, and
// neither is one with other bytes: the reason says so and the next place is
// used.
func TestHostileFiles(t *testing.T) {
	stranger := func(t *testing.T) int {
		testutils.Root(t)
		return 4242
	}
	for _, tt := range []struct {
		name  string
		plant func(t *testing.T, w *world, path string)
		why   string
	}{
		{"symbolic link", func(t *testing.T, w *world, path string) {
			w.library(path + ".target")
			if err := os.Symlink(path+".target", path); err != nil {
				t.Fatal(err)
			}
		}, "too many levels of symbolic links"},
		{"fifo", func(t *testing.T, w *world, path string) {
			if err := syscall.Mkfifo(path, 0o644); err != nil {
				t.Fatal(err)
			}
		}, "not a regular file"},
		{"directory", func(t *testing.T, w *world, path string) { w.mkdir(path, 0o755) }, "not a regular file"},
		{"wrong owner", func(t *testing.T, w *world, path string) {
			uid := stranger(t)
			w.library(path)
			if err := os.Chown(path, uid, 0); err != nil {
				t.Fatal(err)
			}
		}, "owned by user 4242"},
		{"writable by group", func(t *testing.T, w *world, path string) { w.library(path); os.Chmod(path, 0o664) }, "writable by others: mode 0664"},
		{"writable by all", func(t *testing.T, w *world, path string) { w.library(path); os.Chmod(path, 0o646) }, "writable by others: mode 0646"},
		{"truncated", func(t *testing.T, w *world, path string) {
			w.library(path)
			if err := os.Truncate(path, 4096); err != nil {
				t.Fatal(err)
			}
		}, "size is 4096, not "},
		{"longer", func(t *testing.T, w *world, path string) {
			w.library(path)
			if err := os.Truncate(path, 1<<20); err != nil {
				t.Fatal(err)
			}
		}, "size is 1048576, not "},
		{"empty", func(t *testing.T, w *world, path string) {
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}, "size is 0, not "},
		{"one bit is wrong", func(t *testing.T, w *world, path string) {
			b, err := Library()
			if err != nil {
				t.Fatal(err)
			}
			b = bytes.Clone(b)
			b[len(b)/2] ^= 1
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}, "content differs"},
	} {
		for place, path := range map[string]func(w *world) string{
			"system": func(w *world) string { return w.system },
			"variable": func(w *world) string {
				w.env["NOPFIRE_URDT"] = filepath.Join(w.dir, "named.so")
				return w.env["NOPFIRE_URDT"]
			},
			"user": func(w *world) string {
				w.runtimeDir()
				w.mkdir(filepath.Dir(w.user), 0o700)
				return w.user
			},
		} {
			t.Run(tt.name+", "+place, func(t *testing.T) {
				w := newWorld(t)
				file := path(w)
				tt.plant(t, w, file)
				s := Scope()
				if s.Reach != Process || !strings.HasPrefix(s.Path, "/proc/") {
					t.Errorf("%s scope, %s", s.Reach, s.Path)
				}
				if s.Reason == nil || !strings.Contains(s.Reason.Error(), tt.why) || !strings.Contains(s.Reason.Error(), file) {
					t.Errorf("reason %v, want %q", s.Reason, tt.why)
				}
				if mapped(t, file) || mapped(t, file+".target") {
					t.Error("the file is mapped executable")
				}
				if err := Use(file); !errors.Is(err, ErrInUse) {
					t.Errorf("Use after the first use: %v", err)
				}
				setCurrent(&unopened)
				if err := Use(file); err == nil || !strings.Contains(err.Error(), tt.why) {
					t.Errorf("Use: %v", err)
				}
				if getCurrent() != &unopened {
					t.Error("Use of a bad file left an object")
				}
			})
		}
	}
}

// The user's directory is used only if it is the user's own.
func TestHostileUserDirectory(t *testing.T) {
	for _, tt := range []struct {
		name  string
		plant func(t *testing.T, w *world, run string)
		why   string
	}{
		{"a stranger's runtime directory", func(t *testing.T, w *world, run string) {
			testutils.Root(t)
			os.Chown(run, 4242, 0)
		}, "is owned by user 4242"},
		{"others can write to it", func(t *testing.T, w *world, run string) { os.Chmod(run, 0o777) }, "is writable by others"},
		{"it is not there", func(t *testing.T, w *world, run string) { os.Remove(run) }, "no such file"},
		{"it is a link", func(t *testing.T, w *world, run string) {
			os.Rename(run, run+".other")
			os.Symlink(run+".other", run)
		}, "is not a directory"},
		{"it is relative", func(t *testing.T, w *world, run string) { w.env["XDG_RUNTIME_DIR"] = "run" }, "is no absolute path"},
		{"the directory is a link", func(t *testing.T, w *world, run string) {
			os.Symlink(w.mkdir(filepath.Join(w.dir, "elsewhere"), 0o700), filepath.Join(run, "nopfire"))
		}, "is not a directory"},
		{"the directory is a file", func(t *testing.T, w *world, run string) {
			os.WriteFile(filepath.Join(run, "nopfire"), nil, 0o600)
		}, "is not a directory"},
		{"others can write to the directory", func(t *testing.T, w *world, run string) {
			w.mkdir(filepath.Join(run, "nopfire"), 0o770)
		}, "is writable by others"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			run := w.runtimeDir()
			tt.plant(t, w, run)
			if p := Places()[1]; p.Name != "user" || p.Err == nil || !strings.Contains(p.Err.Error(), tt.why) {
				t.Errorf("Places: %+v, want %q", p, tt.why)
			}
			s := Scope()
			if s.Reach != Process || s.Reason == nil || !strings.Contains(s.Reason.Error(), tt.why) {
				t.Errorf("%s scope, reason %v, want %q", s.Reach, s.Reason, tt.why)
			}
		})
	}
}

func TestUse(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join(w.dir, "mine.so")
	w.library(path)
	w.library(w.system)
	if err := Use(path); err != nil {
		t.Fatal(err)
	}
	if s := Scope(); s.Path != path || s.Reach != reachOfOwner() || s.Reason != nil {
		t.Errorf("%+v", s)
	}
	if err := Use(path); !errors.Is(err, ErrInUse) {
		t.Errorf("second Use: %v", err)
	}
}

// Many goroutines at once open one object.
func TestFirstUseAtOnce(t *testing.T) {
	w := newWorld(t)
	w.runtimeDir()
	var wg sync.WaitGroup
	objects := make([]*object, 16)
	for i := range objects {
		wg.Go(func() { objects[i] = opened() })
	}
	wg.Wait()
	for _, o := range objects {
		if o != objects[0] || o.status.Reach != User {
			t.Errorf("%+v", o.status)
		}
	}
}

// Places looks and leaves no trace.
func TestPlaces(t *testing.T) {
	w := newWorld(t)
	w.runtimeDir()
	w.env["NOPFIRE_URDT"] = filepath.Join(w.dir, "named.so")
	w.library(w.system)
	os.Chmod(w.system, 0o666)
	places := Places()
	if len(places) != 3 {
		t.Fatalf("%+v", places)
	}
	if p := places[0]; p.Name != "$NOPFIRE_URDT" || !errors.Is(p.Err, fs.ErrNotExist) {
		t.Errorf("%+v", p)
	}
	if p := places[1]; p.Name != "system" || p.Path != w.system || p.Err == nil || !strings.Contains(p.Err.Error(), "writable by others") {
		t.Errorf("%+v", p)
	}
	if p := places[2]; p.Name != "user" || p.Path != w.user || !errors.Is(p.Err, fs.ErrNotExist) {
		t.Errorf("%+v", p)
	}
	if getCurrent() != &unopened {
		t.Error("an object was opened")
	}
	if _, err := os.Stat(filepath.Dir(w.user)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the user's directory: %v", err)
	}
}

func TestSecure(t *testing.T) {
	entry := func(words ...uint64) (b []byte) {
		for _, w := range words {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		return b
	}
	for _, tt := range []struct {
		name string
		auxv []byte
		want bool
	}{
		{"no", entry(6, 4096, 23, 0, 0, 0), false},
		{"yes", entry(6, 4096, 23, 1, 0, 0), true},
		{"not told", entry(6, 4096, 0, 0), true},
		{"behind the end", entry(0, 0, 23, 0), true},
		{"cut", entry(23)[:8], true},
		{"empty", nil, true},
	} {
		if got := secure(tt.auxv); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if raisedPrivileges() {
		t.Error("this process has no raised privileges")
	}
}

// A name that is registered shows in a file that is mapped.
func TestRegistry(t *testing.T) {
	newWorld(t)
	old := registry.file
	registry.file = registryFile{}
	t.Cleanup(func() { registry.file = old })

	Must(New2[int, string]("app", "request"))
	Must(New2[int, string]("app", "request")) // once
	Must(New2[int, error]("app", "request"))  // with other types
	Must(New("app", "request", 3))
	Must(New1[*point]("app", "where"))
	var want []string
	got := abi.Registrations(readRegistry(t, registry.file.fd))
	for _, r := range got {
		want = append(want, fmt.Sprintf("%s:%s(%s)", r.Provider, r.Name, strings.Join(r.Types, ", ")))
	}
	const all = "app:request(int64, string) app:request(int64, error) app:request(, , ) app:where(pointer *urdt.point)"
	if s := strings.Join(want, " "); s != all {
		t.Errorf("registered %s\nwant %s", s, all)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(maps), "/memfd:"+abi.RegistryFile+" (deleted)") {
		t.Errorf("it is not mapped:\n%s", maps)
	}
}

func readRegistry(t *testing.T, fd int) []byte {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
