package usdt_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// locationsProgram has COUNT locations of probe "app:many", or half of them of
// "app:more", all of which run once for each line that is read. SEMAPHORE is the
// address for the notes.
const locationsProgram = `
#include <stdio.h>

__asm__(
	".text\n .globl run\n .type run, @function\n"
	"run:\n"
	".set i, 0\n"
	".rept " COUNT "\n"
	"990: nop\n"
	".pushsection .note.stapsdt,\"\",\"note\"\n"
	".balign 4\n .4byte 8, 994f-993f, 3\n .asciz \"stapsdt\"\n"
	"993: .8byte 990b, 0, " SEMAPHORE "\n"
	".asciz \"app\"\n"
	".if i & 1\n .asciz \"" ODD "\"\n .else\n .asciz \"many\"\n .endif\n"
	".asciz \"8@$7\"\n"
	"994: .balign 4\n"
	".popsection\n"
	".set i, i + 1\n"
	".endr\n"
	"ret\n .size run, .-run\n"
);
void run(void);
unsigned short semaphore __attribute__((section(".probes")));

int main(void)
{
	char line[16];
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		int sem = semaphore;
		run();
		printf("%d\n", sem);
	}
	return 0;
}`

func buildMany(t testing.TB, count int, odd, semaphore string) string {
	t.Helper()
	return testutils.BuildC(t, locationsProgram, fmt.Sprintf("-DCOUNT=%q", fmt.Sprint(count)), fmt.Sprintf("-DODD=%q", odd), fmt.Sprintf("-DSEMAPHORE=%q", semaphore))
}

// countProgram counts hits, and adds up cookies.
func countProgram(t testing.TB) (prog *ebpf.Program, counts func() (hits, cookies uint64)) {
	t.Helper()
	m, err := ebpf.NewMap(&ebpf.MapSpec{Name: "counts", Type: ebpf.Array, KeySize: 4, ValueSize: 16, MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	spec := &ebpf.ProgramSpec{Name: "count", License: "Dual MIT/GPL", Instructions: asm.Instructions{
		asm.FnGetAttachCookie.Call(),
		asm.Mov.Reg(asm.R6, asm.R0),
		asm.StoreImm(asm.R10, -4, 0, asm.Word),
		asm.LoadMapPtr(asm.R1, m.FD()),
		asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"),
		asm.Mov.Imm(asm.R1, 1),
		asm.StoreXAdd(asm.R0, asm.R1, asm.DWord),
		asm.Add.Imm(asm.R0, 8),
		asm.StoreXAdd(asm.R0, asm.R6, asm.DWord),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
		asm.Return(),
	}}
	if err := usdt.PrepareProgram(spec, usdt.UprobeMulti); err != nil {
		t.Fatal(err)
	}
	if prog, err = ebpf.NewProgram(spec); err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(func() { prog.Close(); m.Close() })
	return prog, func() (hits, cookies uint64) {
		var v [2]uint64
		if err := m.Lookup(uint32(0), &v); err != nil {
			t.Fatal(err)
		}
		return v[0], v[1]
	}
}

// 50,000 locations are attached to by one call, and each is seen.
func TestAttachFiftyThousand(t *testing.T) {
	needMethod(t, usdt.UprobeMulti)
	const n = 50_000
	child := testutils.Start(t, buildMany(t, n, "many", "0"))
	child.ReadLine()
	start := time.Now()
	res, err := usdt.ProcessTargets(child.PID, "app:*")
	if err != nil {
		t.Fatal(err)
	}
	found := time.Since(start)
	prog, counts := countProgram(t)
	start = time.Now()
	l, err := usdt.AttachUSDT(prog, res.Targets[0], &usdt.Options{Cookie: 3})
	if err != nil {
		t.Fatal(err)
	}
	attached := time.Since(start)
	child.WriteLine("")
	child.ReadLine()
	if hits, cookies := counts(); hits != n || cookies != 3*n {
		t.Errorf("%d hits, cookies %d, want %d and %d", hits, cookies, n, 3*n)
	}
	start = time.Now()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d locations: found in %v, attached in %v, detached in %v", n, found, attached, time.Since(start))
	child.WriteLine("")
	child.ReadLine()
	if hits, _ := counts(); hits != n {
		t.Errorf("%d hits after close", hits-n)
	}
}

// As many locations on one semaphore as a counter of 16 bits holds, and one more:
// refused before anything has changed, also when they are of different probes.
func TestAttachSemaphoreLimit(t *testing.T) {
	needMethod(t, usdt.UprobeMulti)
	child := testutils.Start(t, buildMany(t, usdt.MaxSharedSemaphore+1, "more", "semaphore"))
	child.ReadLine()
	res, err := usdt.ProcessTargets(child.PID, "app:*")
	if err != nil {
		t.Fatal(err)
	}
	many, more := find(t, res, "app:many"), find(t, res, "app:more")
	prog, counts := countProgram(t)
	sem := func() string {
		child.WriteLine("")
		return child.ReadLine()
	}
	_, err = usdt.AttachAll(prog, []*usdt.Target{many, more}, nil)
	var ae *usdt.AttachError
	if !errors.As(err, &ae) || ae.Others != 1 || !strings.Contains(err.Error(), "attach to app:many and 1 other probes") ||
		!strings.Contains(err.Error(), "more than 32767 locations share the semaphore") {
		t.Errorf("one too many: %v", err)
	}
	if got := sem(); got != "0" {
		t.Errorf("semaphore %s after it was refused", got)
	}
	more.Locations = more.Locations[1:]
	links, err := usdt.AttachAll(prog, []*usdt.Target{many, more}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(links) != 1 {
		t.Errorf("%d links for one file and process", len(links))
	}
	if got := sem(); got != fmt.Sprint(usdt.MaxSharedSemaphore) {
		t.Errorf("semaphore %s while attached", got)
	}
	if hits, _ := counts(); hits != usdt.MaxSharedSemaphore {
		t.Errorf("%d hits", hits)
	}
	if err := links[0].Close(); err != nil {
		t.Fatal(err)
	}
	if got := sem(); got != "0" {
		t.Errorf("semaphore %s after close", got)
	}
}

// Several processes, files and probes at once: a link for each process and file,
// the cookies in the order of the targets; and all or none.
func TestAttachAll(t *testing.T) {
	needMethod(t, usdt.UprobeMulti)
	first, second := buildMany(t, 4, "more", "semaphore"), buildMany(t, 2, "more", "semaphore")
	a, b, c := testutils.Start(t, first), testutils.Start(t, first), testutils.Start(t, second)
	var targets []*usdt.Target
	var cookies []uint64
	for i, child := range []*testutils.Child{a, b, c} {
		child.ReadLine()
		res, err := usdt.ProcessTargets(child.PID, "app:many", "app:more")
		if err != nil {
			t.Fatal(err)
		}
		for j, target := range res.Targets {
			for range target.Locations {
				cookies = append(cookies, 1<<(8*i+4*j)) // 4 bits for the hits of each target
			}
		}
		targets = append(targets, res.Targets...)
	}
	prog, counts := countProgram(t)
	fds := testutils.CountFDs(t)
	links, err := usdt.AttachAll(prog, targets, &usdt.Options{Cookies: cookies})
	if err != nil {
		t.Fatal(err)
	}
	if len(links) != 3 {
		t.Errorf("%d links, want 3", len(links))
	}
	sems := func() (s string) {
		for _, child := range []*testutils.Child{a, b, c} {
			child.WriteLine("")
			s += child.ReadLine() + " "
		}
		return s
	}
	if got := sems(); got != "4 4 2 " {
		t.Errorf("semaphores %s", got)
	}
	if hits, cookies := counts(); hits != 10 || cookies != 0x11_22_22 {
		t.Errorf("%d hits, cookies %#x", hits, cookies)
	}
	for _, l := range links {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}

	// In all processes the file that a and b share counts once.
	before, _ := counts()
	if links, err = usdt.AttachAll(prog, targets, &usdt.Options{PID: usdt.AllProcesses}); err != nil {
		t.Fatal(err)
	}
	if len(links) != 2 {
		t.Errorf("%d links for two files", len(links))
	}
	if got := sems(); got != "4 4 2 " {
		t.Errorf("semaphores %s", got)
	}
	if hits, _ := counts(); hits != before+10 {
		t.Errorf("%d hits, want 10", hits-before)
	}
	for _, l := range links {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}

	// One file has changed: nothing is attached to, and the error says which.
	if err := os.Chtimes(second, time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := usdt.AttachAll(prog, targets, nil); !errors.Is(err, usdt.ErrChanged) || !strings.Contains(err.Error(), second) {
		t.Errorf("error %v", err)
	}
	if got := sems(); got != "0 0 0 " {
		t.Errorf("semaphores %s after a refused attach", got)
	}
	for _, tc := range []struct {
		name    string
		targets []*usdt.Target
		opts    usdt.Options
		want    string
	}{
		{"none", nil, usdt.Options{}, "attach: no target"},
		{"too few cookies", targets, usdt.Options{Cookies: cookies[:5]}, "5 cookies for more locations"},
		{"too many cookies", targets[:1], usdt.Options{Cookies: cookies}, "10 cookies for 2 locations"},
	} {
		if _, err := usdt.AttachAll(prog, tc.targets, &tc.opts); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	if got := testutils.CountFDs(t); got != fds {
		t.Errorf("%d descriptors, %d before", got, fds)
	}
}

// Attach to 50,000 locations of a running process, and detach.
func BenchmarkAttachFiftyThousand(b *testing.B) {
	testutils.NeedBPF(b)
	child := testutils.Start(b, buildMany(b, 50_000, "many", "0"))
	child.ReadLine()
	res, err := usdt.ProcessTargets(child.PID, "app:many")
	if err != nil {
		b.Fatal(err)
	}
	prog, _ := countProgram(b)
	for b.Loop() {
		l, err := usdt.AttachUSDT(prog, res.Targets[0], nil)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		l.Close()
		b.StartTimer()
	}
}
