//go:build linux && (amd64 || arm64)

package selftests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nopfire/nopfire/internal/procmaps"
	"github.com/nopfire/nopfire/internal/testutils"
)

// backings are the ways in which the emitter backs its object.
var backings = []string{"memfd", "file", "shared"}

func startBacked(t *testing.T, backing string, flags ...string) *emitter {
	t.Helper()
	return startEmitter(t, append([]string{"-backing", backing, "-dir", t.TempDir()}, flags...)...)
}

// bpftrace runs a script that prints a line for each hit of probe, and compares
// the lines of three fires in a row with what want says of the numbers of the
// fires. The fires before bpftrace's first line may have come before its program
// was attached: the breakpoint, which Enabled sees, is there a little earlier.
func bpftrace(t *testing.T, e *emitter, probe, script string, want func(i int) string) {
	t.Helper()
	cmd := exec.Command(testutils.Oracle(t, "bpftrace"), "-p", fmt.Sprint(e.PID), "-B", "line", "-e", script)
	tracer := testutils.StartCmd(t, cmd)
	if line := tracer.ReadLine(); !strings.HasPrefix(line, "Attaching ") {
		t.Fatalf("bpftrace says %q\n%s", line, tracer.Stderr())
	}
	waitEnabled(t, e, probe, tracer)
	var first string
	for deadline := time.Now().Add(time.Minute); first == ""; {
		if time.Now().After(deadline) {
			t.Fatalf("bpftrace prints nothing\n%s", tracer.Stderr())
		}
		e.fire(t, 1)
		first, _ = tracer.TryReadLine(200 * time.Millisecond)
	}
	e.fire(t, 2)
	for i, got := range []string{first, tracer.ReadLine(), tracer.ReadLine()} {
		if want := want(e.Fired - 3 + i); got != want {
			t.Errorf("%s: got %q, want %q", probe, got, want)
		}
	}
	tracer.Interrupt()
	if got := e.command("enabled"); got != "enabled " {
		t.Errorf("after the tracer has gone: %q", got)
	}
}

// waitEnabled waits until the emitter itself says that a probe is traced: the
// sites' own bytes show every tracer.
func waitEnabled(t *testing.T, e *emitter, probe string, tracer *testutils.Child) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if strings.Contains(e.command("enabled")+" ", " "+probe+" ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no tracer on %s after a minute; it says:\n%s", probe, tracer.Stderr())
		}
	}
}

func TestBpftraceSeesValuesAndStrings(t *testing.T) {
	testutils.NeedBPF(t)
	for _, backing := range backings {
		for _, flags := range [][]string{nil, {"-semaphore"}, {"-form", "nop1"}} {
			t.Run(backing+strings.Join(flags, ""), func(t *testing.T) {
				e := startBacked(t, backing, flags...)
				bpftrace(t, e, "text", `usdt:`+e.Path+`:selftest:text { printf("%d %s\n", arg0, str(arg1)); }`,
					func(i int) string { return fmt.Sprintf("%d message %d", i, i) })
				bpftrace(t, e, "ints", `usdt:*:selftest:ints { printf("%d %d %d %d %d %lu\n", arg0, arg1, arg2, arg3, arg4, arg5); }`,
					func(i int) string {
						return fmt.Sprintf("%d %d %d %d %d %d", int8(-i), uint8(200+i), int16(-300*i), uint16(60000+i), -70000*i, uint32(4000000000+i))
					})
			})
		}
	}
}

// libbpfTracer builds the C program of testprogs/libbpf and its BPF object.
func libbpfTracer(t *testing.T) (program, object string) {
	t.Helper()
	clang, gcc := testutils.Oracle(t, "clang-14", "clang"), testutils.Oracle(t, "gcc")
	if _, err := os.Stat("/usr/include/bpf/usdt.bpf.h"); err != nil {
		testutils.Oracle(t, "/usr/include/bpf/usdt.bpf.h of libbpf-dev")
	}
	target, triplet := "x86", "x86_64-linux-gnu"
	if runtime.GOARCH == "arm64" {
		target, triplet = "arm64", "aarch64-linux-gnu"
	}
	dir := t.TempDir()
	program, object = filepath.Join(dir, "attach"), filepath.Join(dir, "usdt.bpf.o")
	for _, cmd := range [][]string{
		{clang, "-O2", "-g", "-target", "bpf", "-D__TARGET_ARCH_" + target, "-I/usr/include/" + triplet, "-c", "testprogs/libbpf/usdt.bpf.c", "-o", object},
		{gcc, "-O1", "testprogs/libbpf/attach.c", "-o", program, "-lbpf", "-lelf", "-lz"},
	} {
		if out, err := exec.Command(cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(cmd, " "), err, out)
		}
	}
	return program, object
}

func TestLibbpfSeesTwelveArguments(t *testing.T) {
	testutils.NeedBPF(t)
	program, object := libbpfTracer(t)
	for _, backing := range backings {
		e := startBacked(t, backing)
		for _, tt := range []struct {
			probe, stringArg string
			want             []string
		}{
			{"args12", "-1", []string{
				"argc=12 cookie=0xcafef00d 0 -2 3 -4 5 -6 7 -8 9 -10 11 -12",
				"argc=12 cookie=0xcafef00d 1 -2 3 -4 5 -6 7 -8 9 -10 11 -12"}},
			{"mixed12", "-1", []string{
				"argc=12 cookie=0xcafef00d -1 255 2 128 -2 65534 -3 4294967293 -4 -5 -32768 -128",
				"argc=12 cookie=0xcafef00d -1 255 3 128 -2 65534 -3 4294967293 -4 -5 -32768 -128"}},
			{"zero", "-1", []string{"argc=0 cookie=0xcafef00d", "argc=0 cookie=0xcafef00d"}},
			{"text", "1", []string{"argc=2 cookie=0xcafef00d 6 PTR str=message 6", "argc=2 cookie=0xcafef00d 7 PTR str=message 7"}},
		} {
			t.Run(backing+"/"+tt.probe, func(t *testing.T) {
				tracer := testutils.Start(t, program, object, fmt.Sprint(e.PID), e.Path, "selftest", tt.probe, "0xcafef00d", tt.stringArg, "2")
				if line := tracer.ReadLine(); line != "attached" {
					t.Fatalf("tracer says %q\n%s", line, tracer.Stderr())
				}
				e.fire(t, 2)
				for _, want := range tt.want {
					want = regexp.QuoteMeta(want)
					want = strings.Replace(want, "PTR", `\d+`, 1)
					if got := tracer.ReadLine(); !regexp.MustCompile("^" + want + "$").MatchString(got) {
						t.Errorf("got  %s\nwant %s", got, want)
					}
				}
				if err := tracer.Wait(); err != nil {
					t.Error(err, tracer.Stderr())
				}
			})
		}
	}
}

// TestPerfRecordsFileBacked walks the way of perf's SDT events: add the file to a
// build-id cache, make events of its probes, record, and print.
func TestPerfRecordsFileBacked(t *testing.T) {
	testutils.NeedBPF(t)
	testutils.Root(t)
	perf := testutils.Oracle(t, "perf")
	for _, backing := range []string{"file", "shared"} {
		t.Run(backing, func(t *testing.T) {
			// The events live in the kernel, and perf names them after the
			// provider: one that no other run uses.
			provider := fmt.Sprintf("perf%d", os.Getpid())
			e := startBacked(t, backing, "-provider", provider)
			cache := t.TempDir()
			// perf looks for tracefs at its place: where it is not mounted,
			// mount it in a namespace of our own.
			in := func(script string) *exec.Cmd {
				return exec.Command("unshare", "-m", "sh", "-c", `test -e /sys/kernel/tracing/uprobe_events || mount -t tracefs tracefs /sys/kernel/tracing && `+script,
					"sh", perf, cache, e.Path, provider, fmt.Sprint(e.PID))
			}
			run := func(script string) string {
				out, err := in(script).CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v\n%s", script, err, out)
				}
				return string(out)
			}
			run(`"$1" --buildid-dir "$2" buildid-cache --add "$3"`)
			if out := run(`"$1" --buildid-dir "$2" list sdt`); !strings.Contains(out, "sdt_"+provider+":text") {
				t.Fatalf("perf list sdt:\n%s", out)
			}
			run(`"$1" --buildid-dir "$2" probe "sdt_$4:text" && "$1" --buildid-dir "$2" probe "sdt_$4:ints"`)
			t.Cleanup(func() { run(`"$1" --buildid-dir "$2" probe -d "sdt_$4:*"`) })
			record := in(`exec "$1" --buildid-dir "$2" record -q -o "$2/perf.data" -e "sdt_$4:text" -e "sdt_$4:ints" -p "$5"`)
			tracer := testutils.StartCmd(t, record)
			waitEnabled(t, e, "text", tracer)
			waitEnabled(t, e, "ints", tracer)
			// perf starts its events a little after it has made them.
			for range 50 {
				e.fire(t, 1)
				time.Sleep(10 * time.Millisecond)
			}
			tracer.Interrupt()
			out := run(`"$1" --buildid-dir "$2" script -i "$2/perf.data"`)
			// perf prints small negative values as their bits.
			for i := 48; i < 50; i++ {
				for _, want := range []string{
					fmt.Sprintf(`:text: \([0-9a-f]+\) arg1=%d arg2=\d+\n`, i),
					fmt.Sprintf(`:ints: \([0-9a-f]+\) arg1=(%d|%d) arg2=%d arg3=(%d|%d) arg4=%d arg5=%d arg6=%d arg7=%d arg8=%d\n`,
						int8(-i), uint8(-i), 200+i, int16(-300*i), uint16(-300*i), 60000+i, -70000*i, 4000000000+i, -5000000000*i, 1<<63+uint64(i)),
				} {
					if n := len(regexp.MustCompile("sdt_"+provider+want).FindAllString(out, -1)); n != 1 {
						t.Errorf("perf script has %s %d times:\n%s", want, n, out)
					}
				}
			}
		})
	}
}

// objectBase returns the address at which the emitter's object would start if it
// were mapped whole.
func objectBase(t *testing.T, e *emitter) uint64 {
	t.Helper()
	for m, err := range procmaps.Of(e.PID) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Path == e.Path && m.Perms&procmaps.Exec != 0 {
			return m.Start - m.Off
		}
	}
	t.Fatalf("no mapping of %s", e.Path)
	return 0
}

func TestGdbReadsProbes(t *testing.T) {
	gdb := testutils.Oracle(t, "gdb")
	e := startBacked(t, "file", "-semaphore")

	out, err := exec.Command(gdb, "-nx", "-batch", "-ex", "info probes stap", e.Path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, probe := range []string{"zero", "ints", "args12", "mixed12", "text", "floats", "other", "bytes"} {
		if !regexp.MustCompile(`stap\s+selftest\s+` + probe + `\s+0x[0-9a-f]+\s+0x[0-9a-f]+`).Match(out) {
			t.Errorf("info probes stap lacks %s:\n%s", probe, out)
		}
	}

	// In the running process: gdb has to be told where the object is, as it
	// follows the loader's list and not the mappings.
	script := filepath.Join(t.TempDir(), "script")
	commands := fmt.Sprintf(`set language c
set confirm off
set pagination off
set auto-load no
add-symbol-file %s -o %#x
break -probe-stap selftest:ints
commands
silent
printf "ints %%d %%u %%d %%u %%d %%u %%ld %%lu\n", $_probe_arg0, $_probe_arg1, $_probe_arg2, $_probe_arg3, $_probe_arg4, $_probe_arg5, $_probe_arg6, $_probe_arg7
end
echo attached\n
continue
detach
`, e.Path, objectBase(t, e))
	if err := os.WriteFile(script, []byte(commands), 0o644); err != nil {
		t.Fatal(err)
	}
	debugger := testutils.Start(t, gdb, "-nx", "-batch", "-p", fmt.Sprint(e.PID), "-x", script)
	for debugger.ReadLine() != "attached" {
	}
	e.WriteLine("fire 2")
	got := debugger.ReadLine()
	for !strings.HasPrefix(got, "ints ") { // gdb also tells of threads
		got = debugger.ReadLine()
	}
	if want := "ints 0 200 0 60000 0 4000000000 0 9223372036854775808"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if err := debugger.Wait(); err != nil {
		t.Error(err)
	}
	if got := e.ReadLine(); got != "fired 2" {
		t.Errorf("after gdb has gone the emitter says %q", got)
	}
}

func TestTplistLists(t *testing.T) {
	tplist := testutils.Oracle(t, "tplist-bpfcc", "tplist")
	for _, backing := range backings {
		e := startBacked(t, backing)
		out, err := exec.Command(tplist, "-p", fmt.Sprint(e.PID)).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", backing, err, out)
		}
		for _, probe := range []string{"zero", "ints", "args12", "mixed12", "text", "floats", "other", "bytes"} {
			if !strings.Contains(string(out), " selftest:"+probe+"\n") {
				t.Errorf("%s: tplist lacks %s:\n%s", backing, probe, out)
			}
		}
	}
}
