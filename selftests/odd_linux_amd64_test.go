package selftests

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// buildOdd assembles a source of testprogs/odd and returns the path of the program.
func buildOdd(t *testing.T, source string, flags ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "odd")
	args := append([]string{"-nostdlib", "-static", "-o", path, "testprogs/odd/" + source}, flags...)
	if out, err := exec.Command(testutils.Oracle(t, "gcc"), args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return path
}

// oddEvents are the events of one round of testprogs/odd, in order. A value that
// cannot be read has its reason in its place, and costs nobody else.
var oddEvents = []string{
	// %ax = 0x1122, %bx = 0x80ff, %cx = 0x0302, %dx = 0xff00
	`odd:high arg1=17 arg2=-128 arg3=3 arg4=-1 arg5=34`,
	// %rbx = table, %rcx = 2, %r10d = -2; address 24 is not mapped
	`odd:sib arg1=3689348814741910323 arg2=572662306 arg3=2459565876494606882 arg4=!(read argument: bad address) arg5=-2 arg6=4294967294`,
	`odd:symbols arg1=-7 arg2=9 arg3=9 arg4=3689348814741910323 arg5=!(argument is not readable in bpf: "4@nosuch(%rip)": the address of symbol "nosuch" is not known)`,
	`odd:structs arg1=2 arg2=!(argument is not readable in bpf: "16@(%rbx)": a value of 16 bytes does not fit a register) ` +
		`arg3=!(argument is not readable in bpf: "24@8(%rbx)": a value of 24 bytes does not fit a register) ` +
		`arg4=!(argument is not readable in bpf: "3@(%rbx)": a value of 3 bytes does not fit a register) arg5=2`,
	`odd:vector arg1=-3 arg2=!(argument is not readable in bpf: "8f@%xmm0": register "xmm0" of x86-64 is not among those that the kernel shows to a program) ` +
		`arg3=!(argument is not readable in bpf: "4f@%xmm1": register "xmm1" of x86-64 is not among those that the kernel shows to a program) ` +
		`arg4=!(argument is not readable in bpf: "16@%xmm2": a value of 16 bytes does not fit a register) arg5=2`,
	`odd:bad arg1=2 arg2=!(argument is not readable in bpf: argument "8@%bogus": unknown register "bogus") ` +
		`arg3=!(argument is not readable in bpf: argument "0@%rcx": size out of range) ` +
		`arg4=!(argument is not readable in bpf: argument "8@(%rbx": malformed value "(%rbx") ` +
		`arg5=!(argument is not readable in bpf: argument "8@": no operand) ` +
		`arg6=!(argument is not readable in bpf: argument "8@%fs:40": memory relative to a segment) ` +
		`arg7=!(argument is not readable in bpf: argument "x@%rcx": malformed size) ` +
		`arg8=!(argument is not readable in bpf: argument "8@%st(1)": unknown register "st(1)") arg9=-2`,
	`odd:sixteen arg1=1 arg2=-2 arg3=3 arg4=-4 arg5=5 arg6=-6 arg7=7 arg8=-8 arg9=9 arg10=10 arg11=11 arg12=12 arg13=13 arg14=14 arg15=2 arg16=-2`,
	`odd:differs arg1=41`,
	`odd:differs arg1=42 arg2=41`,
	`odd:differs`,
	`odd:shares`,
	`o d d:na:me ünïcode arg1=41`,
	`: arg1=42`,
	`odd:baseless arg1=41`,
}

// A program whose notes are as odd as they come is traced: what is there to be
// read is read, in every location, and the rest says why not.
func TestOddNotes(t *testing.T) {
	testutils.NeedBPF(t)
	odd := testutils.Start(t, buildOdd(t, "odd.s"))
	res, err := usdt.ProcessTargets(odd.PID)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		probe string
		is    error
	}{
		{"odd:tombstone", usdt.ErrTombstone},
		{"odd:outside", usdt.ErrNotExecutable},
		{"odd:indata", usdt.ErrNotExecutable},
		{"odd:unaligned", usdt.ErrSemaphoreOdd},
		{"odd:incode", usdt.ErrSemaphoreNotWritable},
	} {
		if !slices.ContainsFunc(res.Problems, func(p error) bool {
			var fe *usdt.FileError
			return errors.As(p, &fe) && fe.Probe == tc.probe && fe.Off > 0 && errors.Is(p, tc.is)
		}) {
			t.Errorf("no problem of %s that is %v with an offset: %v", tc.probe, tc.is, res.Problems)
		}
	}
	if len(res.Problems) != 5 {
		t.Errorf("%d problems, want 5: %v", len(res.Problems), res.Problems)
	}
	var targets []*usdt.Target
	for _, target := range res.Targets {
		if target.Locations[0].Err == nil {
			targets = append(targets, target)
		}
	}
	s, err := trace.Start(trace.Query{PID: odd.PID, Clauses: []trace.Clause{{Pattern: "*:*"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if p := s.Problems(); len(p) != 5 {
		t.Errorf("problems of the session: %v", p)
	}
	i := slices.IndexFunc(targets, func(target *usdt.Target) bool { return target.Name == "shares" })
	// Three locations of one probe and one of another count in it.
	if n := semaphoreOf(t, odd.PID, targets[i]); n != 4 {
		t.Errorf("the shared semaphore is %d, want 4", n)
	}
	checkOdd(t, odd, s, oddEvents)
}

// checkOdd lets a program go two rounds, and compares the events of the session.
func checkOdd(t *testing.T, odd *testutils.Child, s *trace.Session, round []string) {
	t.Helper()
	const rounds = 2
	for range rounds {
		odd.WriteLine("")
		if line := odd.ReadLine(); line != "fired" {
			t.Fatalf("the program says %q", line)
		}
	}
	var got []string
	for ev, err := range s.Events(deadlineContext(t, 10*time.Second)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ev.String())
		if len(got) == rounds*len(round) {
			break
		}
	}
	if diff := cmp.Diff(strings.Join(slices.Repeat(round, rounds), "\n"), strings.Join(got, "\n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A program of 32 bits is traced by one of 64: registers, stack, and variables
// relative to the global offset table; addresses wrap around at 32 bits.
func TestOddNotesOf32Bits(t *testing.T) {
	testutils.NeedBPF(t)
	path := buildOdd(t, "odd32.s", "-m32")
	if err := exec.Command(path).Run(); errors.Is(err, syscall.ENOEXEC) {
		t.Skipf("skipped: the kernel runs no programs of 32 bits: %v", err)
	}
	program := testutils.Start(t, path)
	res, err := usdt.ProcessTargets(program.PID)
	if err != nil || len(res.Problems) > 0 {
		t.Fatal(err, res.Problems)
	}
	s, err := trace.Start(trace.Query{
		PID:     program.PID,
		Clauses: []trace.Clause{{Pattern: "*:*"}},
		Options: &trace.Options{Strings: []string{"text.arg1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n := semaphoreOf(t, program.PID, res.Targets[0]); n != 1 {
		t.Errorf("the semaphore is %d, want 1", n)
	}
	checkOdd(t, program, s, []string{
		// %ax = 0x1122, %bx = 0x80ff, %ecx = -2, %dx = 0x0302
		`odd32:registers arg1=4386 arg2=-32513 arg3=17 arg4=-1 arg5=-2 arg6=4294967294 arg7=3`,
		// table[2], counter, counter+4, table[2], counter, address 0, table[0]
		`odd32:memory arg1=-3 arg2=2201170739 arg3=-7 arg4=9 arg5=-2093796557 arg6=-7 arg7=!(read argument: bad address) arg8=286331153`,
		`odd32:text arg1="text of 32 bits" arg2=7`,
	})
}

// What strangers make of the same program: readelf reads the same notes.
func TestOddNotesAgreeWithReadelf(t *testing.T) {
	path := buildOdd(t, "odd.s")
	f, err := usdt.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, p := range f.Probes {
		for _, loc := range p.Locations {
			got = append(got, testutils.ReadelfNote{Provider: p.Provider, Name: p.Name,
				Location: loc.Address, Semaphore: loc.Semaphore, Args: strings.TrimSpace(loc.ArgString)}.String())
		}
	}
	for _, n := range testutils.ReadelfNotes(t, path) {
		if n.Name != "tombstone" {
			n.Base = 0
			want = append(want, n.String())
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-readelf +usdt:\n%s", diff)
	}
}
