//go:build linux && (amd64 || arm64)

package selftests

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
	"github.com/nopfire/nopfire/urdt/abi"
)

// installURDT installs the library into a directory of the test with the
// command of users, and returns the directory.
func installURDT(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	nopfire := testutils.GoBuild(t, "../cmd/nopfire")
	if out, err := exec.Command(nopfire, "urdt", "install", "--dir", dir).CombinedOutput(); err != nil {
		t.Fatalf("nopfire urdt install: %v\n%s", err, out)
	}
	return dir
}

// urdtFlags asks pkg-config how to build a program with the library in dir.
func urdtFlags(t testing.TB, dir string) []string {
	t.Helper()
	cmd := exec.Command(testutils.Oracle(t, "pkg-config"), "--cflags", "--libs", "urdt")
	cmd.Env = append(os.Environ(), "PKG_CONFIG_PATH="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("pkg-config: %v\n%s", err, out)
	}
	return strings.Fields(string(out))
}

// buildURDTC compiles a program of testprogs/urdtc.
func buildURDTC(t testing.TB, file string, flags ...string) string {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("testprogs/urdtc", file))
	if err != nil {
		t.Fatal(err)
	}
	return testutils.BuildC(t, string(src), flags...)
}

// A urdtFirer is a program that fires app:request twice for each line.
type urdtFirer struct {
	name  string
	start func(t *testing.T) *testutils.Child
	line  string // format of a line, with the number
}

// urdtFirers are programs of all sorts that share the library in dir.
func urdtFirers(t *testing.T, dir string) []urdtFirer {
	t.Helper()
	lib := filepath.Join(dir, abi.Library)
	goProgram := testutils.GoBuild(t, "./testprogs/urdtgo")
	header := buildURDTC(t, "header.c", urdtFlags(t, dir)...)
	opener := buildURDTC(t, "dlopen.c", "-ldl")
	python := testutils.Oracle(t, "python3")
	return []urdtFirer{
		{"Go", func(t *testing.T) *testutils.Child {
			cmd := exec.Command(goProgram)
			cmd.Env = append(os.Environ(), "NOPFIRE_URDT="+lib)
			return testutils.StartCmd(t, cmd)
		}, "fire %d"},
		{"C with urdt.h", func(t *testing.T) *testutils.Child { return testutils.Start(t, header) }, "%d"},
		{"C with dlopen", func(t *testing.T) *testutils.Child { return testutils.Start(t, opener, lib) }, "%d"},
		{"Python", func(t *testing.T) *testutils.Child {
			return testutils.Start(t, python, "testprogs/urdtc/fire.py", lib)
		}, "%d"},
	}
}

// run starts the program and has it fire the numbers from..from+2.
func (f *urdtFirer) run(t *testing.T, from int) (pid int) {
	t.Helper()
	c := f.start(t)
	for c.ReadLine() != "ready" {
	}
	for i := from; i < from+3; i++ {
		c.WriteLine(fmt.Sprintf(f.line, i))
		if got := c.ReadLine(); got != "ok" {
			t.Fatalf("%s says %q", f.name, got)
		}
	}
	return c.PID
}

// wantURDT are the events of a run, as text.
func wantURDT(pid, from int) (want []string) {
	for i := from; i < from+3; i++ {
		for range 2 {
			want = append(want, fmt.Sprintf("%d %d %d %#x", pid, i, -i, abi.Hashes("app", "request")))
		}
	}
	return want
}

// Programs in Go, C and Python fire one name. One attach, made before any of them
// has started, sees them all, each event once: by nopfire's own session, which
// takes the object for one with plain USDT probes.
func TestURDTSeenBySession(t *testing.T) {
	testutils.NeedBPF(t)
	dir := installURDT(t)
	programs := urdtFirers(t, dir)
	found, err := usdt.FileTargets(filepath.Join(dir, abi.Library), "urdt:probe2")
	if err != nil || len(found.Targets) != 1 {
		t.Fatalf("%d targets, %v", len(found.Targets), err)
	}
	if n := len(found.Targets[0].Locations); n != abi.Shards {
		t.Errorf("%d locations", n)
	}
	s, err := trace.Start(trace.Query{Clauses: []trace.Clause{{Path: filepath.Join(dir, abi.Library), Pattern: "urdt:probe2"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var want []string
	for i, f := range programs {
		want = append(want, wantURDT(f.run(t, 100*i), 100*i)...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []string
	for ev, err := range s.Events(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if h, _ := ev.Args[2].Value.(uint64); h != abi.Hashes("app", "request") {
			continue // all shards are traced, so other names are seen too
		}
		line := fmt.Sprint(ev.PID)
		for i, a := range ev.Args {
			if i == 2 {
				line += fmt.Sprintf(" %#x", a.Value)
				continue
			}
			line += fmt.Sprintf(" %v", a.Value)
		}
		if got = append(got, line); len(got) == len(want) {
			break
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The same, by bpftrace, which attaches to all shards by the name of the probe.
func TestURDTSeenByBpftrace(t *testing.T) {
	testutils.NeedBPF(t)
	dir := installURDT(t)
	programs := urdtFirers(t, dir)
	// The last argument has the second hash in its high half.
	script := fmt.Sprintf(`usdt:%s/%s:urdt:probe2 /(arg2 & 0xffffffff) == %d/ { printf("%%d %%d %%d 0x%%lx\n", pid, arg0, arg1, arg2); }`,
		dir, abi.Library, abi.Hash("app", "request"))
	tracer := testutils.StartCmd(t, exec.Command(testutils.Oracle(t, "bpftrace"), "-B", "line", "-e", script))
	if line := tracer.ReadLine(); line != "Attaching 16 probes..." && line != "Attaching 1 probe..." {
		t.Fatalf("bpftrace says %q\n%s", line, tracer.Stderr())
	}
	// It says so before it attaches. A program that fires until it is seen
	// tells when.
	first := programs[0].start(t)
	first.ReadLine()
	for deadline := time.Now().Add(time.Minute); ; {
		if time.Now().After(deadline) {
			t.Fatalf("bpftrace sees nothing\n%s", tracer.Stderr())
		}
		first.WriteLine("fire 1")
		first.ReadLine()
		if _, err := tracer.TryReadLine(100 * time.Millisecond); err == nil {
			break
		}
	}
	for { // what else it has seen of that
		if _, err := tracer.TryReadLine(500 * time.Millisecond); err != nil {
			break
		}
	}
	for i, f := range programs {
		from := 1000 + 100*i
		want := wantURDT(f.run(t, from), from)
		for _, w := range want {
			if got := tracer.ReadLine(); got != w {
				t.Errorf("%s: %q, want %q", f.name, got, w)
			}
		}
	}
	tracer.Interrupt()
}

// The header computes the hashes when it is compiled, leaves no code of that
// behind, and evaluates no argument while nobody traces. Every compiler and
// language agrees.
func TestURDTHeader(t *testing.T) {
	dir := installURDT(t)
	flags := urdtFlags(t, dir)
	for _, tt := range []struct {
		compiler string
		flags    []string
		folded   bool
	}{
		{"gcc", []string{"-O2", "-std=c99", "-Wall", "-Wextra", "-Werror"}, true},
		{"gcc", []string{"-O0"}, false},
		{"gcc", []string{"-O2", "-x", "c++", "-Wall", "-Werror"}, true},
		{"clang-14", []string{"-O2", "-Wall", "-Wextra", "-Werror"}, true},
		{"clang-14", []string{"-O0"}, false},
	} {
		name := tt.compiler + " " + strings.Join(tt.flags, " ")
		prog := filepath.Join(t.TempDir(), "prog")
		args := slices.Concat(tt.flags, []string{"-o", prog, "testprogs/urdtc/header.c", "-x", "none"}, flags)
		if out, err := exec.Command(testutils.Oracle(t, tt.compiler), args...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
			continue
		}
		long := "0123456789012345678901234567890123456789012345678901234567890123456789"
		want := []string{
			fmt.Sprintf("%016x 1", abi.Hashes("app", "request")),
			fmt.Sprintf("%016x 0", abi.Hashes("p\xff", long)),
			"evaluated 0", "ready", "",
		}
		var lines []string
		// Another test may just be attaching to every object that it finds
		// mapped on this machine, and this is one.
		for range 5 {
			out, err := exec.Command(prog).Output()
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			lines = strings.Split(string(out), "\n")
			if !tt.folded { // without optimization it may be code
				lines[0] = strings.Replace(lines[0], " 0", " 1", 1)
			}
			if slices.Equal(lines, want) {
				break
			}
			time.Sleep(time.Second)
		}
		if !slices.Equal(lines, want) {
			t.Errorf("%s:\n got %q\nwant %q", name, lines, want)
		}
	}
}

// A process takes the file that all share, and says so.
func TestURDTScopes(t *testing.T) {
	dir := installURDT(t)
	program := testutils.GoBuild(t, "./testprogs/urdtgo")
	scope := func(env ...string) string {
		cmd := exec.Command(program)
		cmd.Env = env
		c := testutils.StartCmd(t, cmd)
		c.ReadLine()
		c.WriteLine("scope")
		return c.ReadLine()
	}
	lib := filepath.Join(dir, abi.Library)
	owner := "user "
	if os.Geteuid() == 0 {
		owner = "system "
	}
	if got := scope("NOPFIRE_URDT=" + lib); got != owner+lib {
		t.Errorf("scope %q", got)
	}
	if _, err := os.Stat(abi.SystemDir); err == nil {
		t.Skip("skipped the rest: a system-wide library is installed")
	}
	if got := scope(); !strings.HasPrefix(got, "process /proc/") {
		t.Errorf("scope %q", got)
	}
	run := t.TempDir()
	if err := os.Chmod(run, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := scope("XDG_RUNTIME_DIR=" + run); got != "user "+run+"/nopfire/liburdt.so.1" {
		t.Errorf("scope %q", got)
	}
}

// Texts arrive, from a handle and by name.
func TestURDTTexts(t *testing.T) {
	testutils.NeedBPF(t)
	lib := filepath.Join(installURDT(t), abi.Library)
	cmd := exec.Command(testutils.GoBuild(t, "./testprogs/urdtgo"))
	cmd.Env = append(os.Environ(), "NOPFIRE_URDT="+lib)
	c := testutils.StartCmd(t, cmd)
	c.ReadLine()
	script := fmt.Sprintf(`usdt:%s:urdt:probe2 /(arg2 & 0xffffffff) == %d/ { printf("%%d %%s\n", arg0, str(arg1)); }`,
		lib, abi.Hash("app", "texts"))
	tracer := testutils.StartCmd(t, exec.Command(testutils.Oracle(t, "bpftrace"), "-B", "line", "-e", script))
	tracer.ReadLine() // Attaching …
	var first string
	n := 0
	for deadline := time.Now().Add(time.Minute); first == ""; n++ {
		if time.Now().After(deadline) {
			t.Fatalf("bpftrace sees nothing\n%s", tracer.Stderr())
		}
		c.WriteLine(fmt.Sprint("texts ", n))
		c.ReadLine()
		first, _ = tracer.TryReadLine(100 * time.Millisecond)
	}
	if want := fmt.Sprintf("%d text %d", n-1, n-1); first != want {
		t.Errorf("%q, want %q", first, want)
	}
	c.WriteLine("texts 1000")
	c.ReadLine()
	for range 3 {
		line := tracer.ReadLine()
		if line != first && line != "1000 text 1000" {
			t.Errorf("%q", line)
		}
	}
	tracer.Interrupt()
}

// A program that runs with privileges that its user lacks does not use what the
// user's environment names.
func TestURDTRaisedPrivileges(t *testing.T) {
	testutils.Root(t)
	if _, err := os.Stat(abi.SystemDir); err == nil {
		t.Skip("skipped: a system-wide library is installed")
	}
	const nobody = 65534
	lib := filepath.Join(installURDT(t), abi.Library)
	program := testutils.GoBuild(t, "./testprogs/urdtgo")
	for _, path := range []string{lib, program} { // the directories of tests are private
		for dir := filepath.Dir(path); strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		name string
		mode os.FileMode
		want string
	}{
		{"plain", 0o755, "system " + lib},
		{"set-user-ID", 0o755 | os.ModeSetuid, "process /proc/"},
		{"set-group-ID", 0o755 | os.ModeSetgid, "process /proc/"},
	} {
		if err := os.Chmod(program, tt.mode); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program)
		cmd.Env = []string{"NOPFIRE_URDT=" + lib, "XDG_RUNTIME_DIR=" + t.TempDir()}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		c := testutils.StartCmd(t, cmd)
		c.ReadLine()
		c.WriteLine("scope")
		if got := c.ReadLine(); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
