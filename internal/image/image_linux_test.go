//go:build amd64 || arm64

package image

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/internal/sys"
	"github.com/nopfire/nopfire/internal/testutils"
)

func TestMain(m *testing.M) {
	if f := os.Getenv("NOPFIRE_TEST_CHILD"); f != "" {
		children[f]()
		return
	}
	testutils.Main(m)
}

// children are the functions that tests run in a process of their own.
var children = map[string]func(){
	"file":   childFile,
	"noexec": childNoexec,
}

// childCmd is the command of one of them.
func childCmd(t *testing.T, name string, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), append(env, "NOPFIRE_TEST_CHILD="+name)...)
	return cmd
}

// notEmulated skips a test that a user-mode emulator cannot run: it maps code
// without asking the kernel for PROT_EXEC, and the kernel cannot start the test
// binary itself.
func notEmulated(t *testing.T) {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	if err := exec.Command(exe, "-test.run=^$").Run(); errors.Is(err, syscall.ENOEXEC) {
		t.Skipf("skipped: runs under an emulator: %v", err)
	}
}

// childObject is what a child opens.
func childObject() *elfgen.Object {
	obj, err := buildObject("child")
	if err != nil {
		panic(err)
	}
	return obj
}

// runChild starts one of them.
func runChild(t *testing.T, name string, env ...string) *testutils.Child {
	t.Helper()
	notEmulated(t)
	return testutils.StartCmd(t, childCmd(t, name, env...))
}

func build(t testing.TB, probes ...string) *elfgen.Object {
	t.Helper()
	obj, err := buildObject(probes...)
	must(t, err)
	return obj
}

func buildObject(probes ...string) (*elfgen.Object, error) {
	m, form := stapsdt.X86_64, elfgen.FormNop5
	if runtime.GOARCH == "arm64" {
		m, form = stapsdt.ARM64, elfgen.FormNop1
	}
	spec := elfgen.ProviderSpec{Name: "image"}
	for _, name := range probes {
		spec.Probes = append(spec.Probes, elfgen.ProbeSpec{Name: name, Semaphore: true})
	}
	return elfgen.Build(&spec, m, form)
}

func open(t testing.TB, obj *elfgen.Object, o Options) *Image {
	t.Helper()
	o.Provider = "image"
	im, err := Open(obj, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := im.Close(); err != nil {
			t.Error(err)
		}
	})
	return im
}

// mappingsOf returns the lines of /proc/self/maps of the pages of the image.
func mappingsOf(t testing.TB, im *Image, obj *elfgen.Object) (text, sems string) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	find := func(off int) string {
		addr := uintptr(im.At(off))
		for line := range strings.Lines(string(maps)) {
			var lo, hi uintptr
			if _, err := fmt.Sscanf(line, "%x-%x", &lo, &hi); err == nil && lo <= addr && addr < hi {
				return strings.TrimSpace(line)
			}
		}
		return ""
	}
	return find(obj.Text.Off), find(obj.Semaphores.Off)
}

// pristine fails unless all sites and semaphores hold what the object says.
func pristine(t testing.TB, im *Image, obj *elfgen.Object) {
	t.Helper()
	for i, s := range obj.Sites {
		if w := *(*uint64)(im.At(s.Word)); w != s.Pristine {
			t.Errorf("site %d: word is %#x, want %#x", i, w, s.Pristine)
		}
		if n := *(*uint16)(im.At(s.Semaphore)); n != 0 {
			t.Errorf("site %d: semaphore is %d", i, n)
		}
	}
}

func TestOpenClose(t *testing.T) {
	for _, kind := range []Kind{Memfd, File, Shared} {
		t.Run(kind.String(), func(t *testing.T) {
			obj := build(t, "a", "b")
			dir := t.TempDir()
			im := open(t, obj, Options{Kind: kind, Dir: dir})
			info := im.Info()
			if info.Kind != kind || info.Reason != nil {
				t.Fatalf("backed by %v: %v", info.Kind, info.Reason)
			}
			if b, err := os.ReadFile(info.Path); err != nil || !bytes.Equal(b, obj.Image) {
				t.Errorf("%s does not hold the object: %d bytes, %v", info.Path, len(b), err)
			}
			pristine(t, im, obj)

			text, sems := mappingsOf(t, im, obj)
			if !strings.Contains(text, " r-xp ") || !strings.Contains(sems, " rw-p ") {
				t.Errorf("mappings are\n%s\n%s\nwant r-xp and rw-p", text, sems)
			}
			if kind == Memfd && !strings.Contains(text, "/memfd:nopfire:image") {
				t.Errorf("mapping has no name of ours: %s", text)
			}
			if im.At(0) != nil && im.At(0) == im.At(obj.Text.Off) || im.At(-1) != nil || im.At(1<<40) != nil {
				t.Error("At leads out of the object")
			}

			// A breakpoint, or what looks like one, does not survive.
			*(*uint16)(im.At(obj.Sites[0].Semaphore)) = 1
			if err := im.Close(); err != nil {
				t.Fatal(err)
			}
			pristine(t, im, obj)
			text, sems = mappingsOf(t, im, obj)
			if !strings.HasSuffix(text, " 0") || !strings.HasSuffix(sems, " 0") {
				t.Errorf("after Close the mappings are\n%s\n%s\nwant anonymous ones", text, sems)
			}
			_, err := os.Stat(info.Path)
			if gone := errors.Is(err, os.ErrNotExist); gone != (kind != Shared) {
				t.Errorf("after Close: stat of %s: %v", info.Path, err)
			}
			if err := im.Close(); err != nil {
				t.Errorf("second Close: %v", err)
			}
		})
	}
}

func TestMemfdIsSealed(t *testing.T) {
	obj := build(t, "a")
	im := open(t, obj, Options{})
	seals, err := sys.Seals(im.m.file.fd)
	const want = sys.F_SEAL_SEAL | sys.F_SEAL_SHRINK | sys.F_SEAL_GROW | sys.F_SEAL_WRITE
	if err != nil || seals&want != want {
		t.Errorf("seals are %#x, %v; want %#x", seals, err, want)
	}
}

// What cannot be had is replaced by a memfd, and the reason is there.
func TestFallBack(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kind   Kind
		dir    func(t *testing.T, obj *elfgen.Object) string
		reason string
	}{
		{"no directory", File, func(t *testing.T, _ *elfgen.Object) string { return t.TempDir() + "/none" }, "no such file"},
		{"no directory for sharing", Shared, func(t *testing.T, _ *elfgen.Object) string { return t.TempDir() + "/none" }, "no such file"},
		{"noexec mount", File, noexecDir, "map text: operation not permitted"},
		{"noexec mount for sharing", Shared, noexecDir, "map text: operation not permitted"},
		{"others can write", Shared, planted(0o664, nil), "writable by others"},
		{"content differs", Shared, planted(0o644, func(b []byte) []byte { b[len(b)/2] ^= 1; return b }), "content differs"},
		{"cut short", Shared, planted(0o644, func(b []byte) []byte { return b[:len(b)-1] }), "size is"},
		{"symbolic link", Shared, func(t *testing.T, obj *elfgen.Object) string {
			dir := planted(0o644, nil)(t, obj)
			path := filepath.Join(dir, SharedName("image", obj))
			must(t, os.Rename(path, path+".real"))
			must(t, os.Symlink(path+".real", path))
			return dir
		}, "too many levels of symbolic links"},
		{"fifo", Shared, func(t *testing.T, obj *elfgen.Object) string {
			dir := t.TempDir()
			must(t, syscall.Mkfifo(filepath.Join(dir, SharedName("image", obj)), 0o644))
			return dir
		}, "not a regular file"},
		{"directory", Shared, func(t *testing.T, obj *elfgen.Object) string {
			dir := t.TempDir()
			must(t, os.Mkdir(filepath.Join(dir, SharedName("image", obj)), 0o755))
			return dir
		}, "not a regular file"},
		{"another user's", Shared, func(t *testing.T, obj *elfgen.Object) string {
			testutils.Root(t)
			dir := planted(0o644, nil)(t, obj)
			must(t, os.Chown(filepath.Join(dir, SharedName("image", obj)), 12345, 0))
			return dir
		}, "owned by user 12345"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			obj := build(t, "a")
			im := open(t, obj, Options{Kind: tt.kind, Dir: tt.dir(t, obj)})
			info := im.Info()
			if info.Kind != Memfd || info.Reason == nil || !strings.Contains(info.Reason.Error(), tt.reason) {
				t.Errorf("backed by %v, reason %q; want memfd and %q", info.Kind, info.Reason, tt.reason)
			}
			pristine(t, im, obj)
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// planted puts a shared file into a directory before the process under test
// looks for it.
func planted(mode os.FileMode, change func([]byte) []byte) func(*testing.T, *elfgen.Object) string {
	return func(t *testing.T, obj *elfgen.Object) string {
		dir := t.TempDir()
		path := filepath.Join(dir, SharedName("image", obj))
		b := bytes.Clone(obj.Image)
		if change != nil {
			b = change(b)
		}
		must(t, os.WriteFile(path, b, mode))
		must(t, os.Chmod(path, mode))
		return dir
	}
}

// noexecDir mounts a tmpfs that nothing can be executed from.
func noexecDir(t *testing.T, _ *elfgen.Object) string {
	testutils.Root(t)
	notEmulated(t)
	dir := t.TempDir()
	if err := syscall.Mount("nopfire", dir, "tmpfs", syscall.MS_NOEXEC, ""); err != nil {
		t.Skipf("skipped: mount a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Two images of one shared file share one mapping, which stays until both are
// closed; then the next one maps it anew.
func TestSharedMapsOnce(t *testing.T) {
	obj := build(t, "a")
	o := Options{Kind: Shared, Dir: t.TempDir()}
	first, second := open(t, obj, o), open(t, obj, o)
	if first.At(obj.Text.Off) != second.At(obj.Text.Off) {
		t.Fatal("one file is mapped twice")
	}
	must(t, first.Close())
	if text, _ := mappingsOf(t, second, obj); !strings.Contains(text, ".so") {
		t.Errorf("the close of one image took the mapping of the other: %s", text)
	}
	must(t, second.Close())
	if text, _ := mappingsOf(t, second, obj); strings.Contains(text, ".so") {
		t.Errorf("still mapped after both are closed: %s", text)
	}
	third := open(t, obj, o)
	if third.At(obj.Text.Off) == second.At(obj.Text.Off) {
		t.Error("an image has the addresses of a closed one that is still reachable")
	}
	if third.Info().Path != first.Info().Path {
		t.Errorf("another file: %s, %s", third.Info().Path, first.Info().Path)
	}
	runtime.KeepAlive(second)
}

// Many at once make one complete file.
func TestSharedRace(t *testing.T) {
	obj := build(t, "a")
	o := Options{Kind: Shared, Dir: t.TempDir(), Provider: "image"}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 20 {
				im, err := Open(obj, o)
				if err != nil {
					t.Error(err)
					return
				}
				if in := im.Info(); in.Kind != Shared {
					t.Error(in.Reason)
				}
				pristine(t, im, obj)
				if err := im.Close(); err != nil {
					t.Error(err)
				}
				if err := os.Remove(im.Info().Path); err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	entries, err := os.ReadDir(o.Dir)
	must(t, err)
	if len(entries) > 1 {
		t.Errorf("%d files are left: %v", len(entries), entries)
	}
}

// A named file is there and locked at once; the shared one has a way for
// filesystems without unnamed files.
func TestExclusiveCreation(t *testing.T) {
	dir := t.TempDir()
	content := []byte("content")
	path := filepath.Join(dir, "p-1-0123456789abcdef.nopfire.so")
	f, err := createLocked(path, content)
	must(t, err)
	if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, content) {
		t.Errorf("file holds %q, %v", b, err)
	}
	if _, err := createLocked(path, content); !errors.Is(err, syscall.EEXIST) {
		t.Errorf("second creation: %v, want EEXIST", err)
	}
	sweep(dir)
	if _, err := os.Stat(path); err != nil {
		t.Errorf("swept while in use: %v", err)
	}
	must(t, f.close())
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("still there after close: %v", err)
	}

	shared := filepath.Join(dir, "shared.so")
	must(t, publishExcl(shared, content, 0o444))
	if st, err := os.Stat(shared); err != nil || st.Mode() != 0o444 || st.Size() != int64(len(content)) {
		t.Errorf("published file: %v, %v", st, err)
	}
	if err := publishExcl(shared, content, 0o444); !errors.Is(err, syscall.EEXIST) {
		t.Errorf("second publication: %v, want EEXIST", err)
	}
	if left, err := filepath.Glob(shared + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestCloseLeavesOthersFile(t *testing.T) {
	obj := build(t, "a")
	im := open(t, obj, Options{Kind: File, Dir: t.TempDir()})
	path := im.Info().Path
	must(t, os.Remove(path))
	must(t, os.WriteFile(path, []byte("somebody else's"), 0o644))
	must(t, im.Close())
	if b, err := os.ReadFile(path); err != nil || string(b) != "somebody else's" {
		t.Errorf("Close removed a file that is not its own: %q, %v", b, err)
	}
}

func TestIsOurName(t *testing.T) {
	for _, tt := range []struct {
		name string
		ours bool
	}{
		{"myapp-123-0123456789abcdef.nopfire.so", true},
		{"my-app-1-2-123-0123456789abcdef.nopfire.so", true},
		{"myapp-123-0123456789abcdef.so", false},
		{"myapp-123-0123456789ABCDEF.nopfire.so", false},
		{"myapp-123-0123456789abcde.nopfire.so", false},
		{"myapp-0-0123456789abcdef.nopfire.so", false},
		{"myapp--1-0123456789abcdef.nopfire.so", true},
		{"myapp-x-0123456789abcdef.nopfire.so", false},
		{"-123-0123456789abcdef.nopfire.so", false},
		{"123-0123456789abcdef.nopfire.so", false},
		{".nopfire.so", false},
		{"", false},
	} {
		if got := isOurName(tt.name); got != tt.ours {
			t.Errorf("isOurName(%q) = %v", tt.name, got)
		}
	}
}

// A killed process leaves its file, and the next start in the directory takes it
// away; the files of living processes and of others stay.
func TestSweepAfterKill(t *testing.T) {
	dir := t.TempDir()
	dead, alive := runChild(t, "file", "DIR="+dir), runChild(t, "file", "DIR="+dir)
	deadPath, alivePath := dead.ReadLine(), alive.ReadLine()
	must(t, dead.Cmd.Process.Kill())
	_ = dead.Wait() // "signal: killed"
	if _, err := os.Stat(deadPath); err != nil {
		t.Fatalf("nothing is left behind: %v", err)
	}
	const suffix = "-1-0123456789abcdef.nopfire.so"
	link, fifo, subdir, foreign := dir+"/link"+suffix, dir+"/fifo"+suffix, dir+"/dir"+suffix, dir+"/foreign.so"
	must(t, os.Symlink(alivePath, link))
	must(t, syscall.Mkfifo(fifo, 0o644))
	must(t, os.Mkdir(subdir, 0o755))
	must(t, os.WriteFile(foreign, nil, 0o644))
	keep := []string{alivePath, link, fifo, subdir, foreign}
	if os.Geteuid() == 0 {
		others := dir + "/others" + suffix
		must(t, os.WriteFile(others, nil, 0o644))
		must(t, os.Chown(others, 12345, 12345))
		keep = append(keep, others)
	}

	start := time.Now()
	im := open(t, build(t, "a"), Options{Kind: File, Dir: dir})
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("start took %v: did it wait for the FIFO?", d)
	}
	if _, err := os.Stat(deadPath); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("leftover is still there: %v", err)
	}
	for _, path := range append(keep, im.Info().Path) {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("swept: %v", err)
		}
	}
}

// childFile opens a file-backed image, says where, and waits.
func childFile() {
	im, err := Open(childObject(), Options{Kind: File, Provider: "image", Dir: os.Getenv("DIR")})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(im.Info().Path)
	os.Stdin.Read(make([]byte, 1))
	runtime.KeepAlive(im)
}

// Where the policy refuses executable memfds there is another way.
func TestMemfdNoexecPolicy(t *testing.T) {
	testutils.Root(t)
	notEmulated(t)
	c := childCmd(t, "noexec")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	child := testutils.StartCmd(t, c)
	line := child.ReadLine()
	if reason, ok := strings.CutPrefix(line, "skip: "); ok {
		t.Skipf("skipped: %s", reason)
	}
	if line != "memfd <nil>" && !strings.HasPrefix(line, "unlinked file ") {
		t.Errorf("under vm.memfd_noexec=2: %s", line)
	}
	t.Log(line)
}

// childNoexec sets the policy in its own PID namespace and opens a memfd image.
func childNoexec() {
	if os.Getpid() != 1 {
		fmt.Println("skip: not in a PID namespace of my own")
		return
	}
	if err := os.WriteFile("/proc/sys/vm/memfd_noexec", []byte("2"), 0); err != nil {
		fmt.Println("skip: set vm.memfd_noexec:", err)
		return
	}
	if _, err := sys.MemfdCreate("x", sys.MFD_EXEC); err == nil {
		fmt.Println("skip: the policy does not hold")
		return
	}
	im, err := Open(childObject(), Options{Provider: "image"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(im.Info().Kind, im.Info().Reason)
	runtime.KeepAlive(im)
}

func TestUnlinked(t *testing.T) {
	obj := build(t, "a")
	m, err := openUnlinked(obj)
	must(t, err)
	if p := m.at(obj.Sites[0].Word); *(*uint64)(p) != obj.Sites[0].Pristine {
		t.Error("wrong bytes")
	}
	must(t, m.retire())
	m.unmap()
}

// Neither closed nor forgotten images leave anything.
func TestNothingIsLeft(t *testing.T) {
	cycles := 10000
	if testing.Short() {
		cycles = 200
	}
	obj := build(t, "a")
	dir := t.TempDir()
	collect()
	fds, maps := testutils.CountFDs(t), testutils.CountMaps(t, "")
	for i := range cycles {
		kind := Memfd
		if i%16 == 0 {
			kind = Kind(i / 16 % 3)
		}
		im, err := Open(obj, Options{Kind: kind, Dir: dir, Provider: "image"})
		must(t, err)
		if i%10 == 9 && kind != File {
			continue // forgotten
		}
		must(t, im.Close())
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		collect()
		f, m := testutils.CountFDs(t), testutils.CountMaps(t, "")
		// The Go heap itself may have grown by an arena or two.
		if f == fds && m <= maps+8 && retired.Load() == 0 && testutils.CountMaps(t, "nopfire:image") == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("descriptors %d → %d, mappings %d → %d, %d closed ones not given back", fds, f, maps, m, retired.Load())
		}
	}
}

// A program that makes no garbage does not run out of mappings.
func TestClosedMappingsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: thousands of images")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	obj := build(t, "a")
	for range 3 * maxRetired {
		im, err := Open(obj, Options{Provider: "image"})
		must(t, err)
		must(t, im.Close())
	}
	if n := retired.Load(); n >= 2*maxRetired {
		t.Errorf("%d closed mappings are kept", n)
	}
	collect()
}

// collect runs the garbage collector and gives the cleanups time.
func collect() {
	for range 3 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

func BenchmarkOpenClose(b *testing.B) {
	obj := build(b, "a")
	b.ReportAllocs()
	for b.Loop() {
		im, err := Open(obj, Options{Provider: "image"})
		if err != nil {
			b.Fatal(err)
		}
		if err := im.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
