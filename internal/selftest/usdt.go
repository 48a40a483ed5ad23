package selftest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/emit"
	"github.com/nopfire/nopfire/internal/procmaps"
	"github.com/nopfire/nopfire/urdt"
	"github.com/nopfire/nopfire/urdt/abi"
)

// usdtChecks are about finding probes and attaching programs to them: what libbpf's
// own test of USDT shows, and what it leaves to the tools.
var usdtChecks = []Check{
	{Name: "a probe is found in its file, its process, and among all", Needs: Fires | MapsFiles, run: usdtFind},
	{Name: "a name that is not there is told with what is near", Needs: Fires, run: usdtNear},
	{Name: "diagnose says what is fine and why not", Needs: Fires, run: usdtDiagnose},
	{Name: "operands of every kind are read", Needs: traces, run: usdtOperands},
	{Name: "operands of every kind are read without a map", Needs: traces, run: usdtLoadArg},
	{Name: "an operand that faults costs itself alone", Needs: traces, run: usdtFault},
	{Name: "an operand beyond the last is -ENOENT", Needs: traces, run: usdtBeyond},
	{Name: "a string is read where its address points", Needs: traces, run: usdtString},
	{Name: "the cookie of the attach reaches the program", Needs: traces, run: usdtCookie},
	{Name: "sixteen locations have sixteen cookies", Needs: traces, run: usdtLocations},
	{Name: "a location that cannot be traced is left out with its reason", Needs: traces, run: usdtLeftOut},
	{Name: "semaphore counts up and down", Needs: traces, run: usdtSemaphore},
	{Name: "semaphore of a killed tracer comes down", Needs: traces, run: usdtKilled},
	{Name: "tracers that disagree about a semaphore are told", Needs: traces, run: usdtConflict},
	{Name: "detach leaves every byte as it was", Needs: traces, run: usdtDetach},
	{Name: "two tracers see every hit", Needs: traces, run: usdtTwoTracers},
	{Name: "one process among those that map the file", Needs: traces | MapsFiles, run: usdtOneProcess},
	{Name: "every process that maps the file, later ones too", Needs: traces | MapsFiles, run: usdtEveryProcess},
	{Name: "a file that has changed is not attached to", Needs: Attaches, run: usdtChanged},
	{Name: "by uprobe_multi", Needs: traces, run: func(t *T) { usdtMethod(t, usdt.UprobeMulti) }},
	{Name: "by perf_event", Needs: traces, run: func(t *T) { usdtMethod(t, usdt.PerfEvent) }},
	{Name: "a process is followed from its start to its end", Needs: traces, run: usdtFollow},
}

// targetsOf finds probes of this process.
func targetsOf(t *T, pid int, pattern string) []*usdt.Target {
	res, err := usdt.ProcessTargets(pid, pattern)
	if err != nil {
		t.Fatalf("%v, problems: %v", err, res.Problems)
	}
	return res.Targets
}

// oneTarget finds a probe of a process that is there once.
func oneTarget(t *T, pid int, pattern string) *usdt.Target {
	targets := targetsOf(t, pid, pattern)
	if len(targets) != 1 {
		t.Fatalf("%s: %d targets, want 1", pattern, len(targets))
	}
	return targets[0]
}

func usdtFind(t *T) {
	dir := t.TempDir()
	p := newProvider(t, &emit.Options{Backing: emit.BackingFile, Dir: dir})
	define[*emit.Probe1[int]](t, p)(emit.NewProbe1[int](p, "somewhere", names("n")))
	info := p.Backing()
	describe := func(target *usdt.Target) string {
		loc := target.Locations[0]
		return fmt.Sprintf("%s %s at %#x, argument %q", target.Path, target, loc.Offset, loc.ArgString)
	}
	inFile, err := usdt.FileTargets(info.Path, "selftest:some*")
	t.Must(err)
	inProcess := targetsOf(t, os.Getpid(), "selftest:somewhere")
	everywhere, err := usdt.AllTargets("selftest:somewhere")
	t.Must(err)
	var all []*usdt.Target
	for _, target := range everywhere.Targets { // another selftest may be running
		if slices.Contains(target.PIDs, os.Getpid()) {
			all = append(all, target)
		}
	}
	if len(inFile.Targets) != 1 || len(inProcess) != 1 || len(all) != 1 {
		t.Fatalf("%d in the file, %d in the process, %d among all, want 1 each", len(inFile.Targets), len(inProcess), len(all))
	}
	want := describe(inFile.Targets[0])
	equal(t, "in the process", describe(inProcess[0]), want)
	equal(t, "among all", describe(all[0]), want)
}

func usdtNear(t *T) {
	p := newProvider(t, nil)
	define[*emit.Probe0](t, p)(emit.NewProbe0(p, "request", nil))
	_, err := usdt.ProcessTargets(os.Getpid(), "selftest:reqest")
	wantError(t, "the misspelt name", err, usdt.ErrNoProbe)
	var none *usdt.NoProbeError
	if errors.As(err, &none) {
		equal(t, "what is near", slices.Contains(none.Near, "selftest:request"), true)
	}
}

func usdtDiagnose(t *T) {
	dir := t.TempDir()
	m := host(t)
	path := filepath.Join(dir, "object.so")
	t.Must(os.WriteFile(path, build(t, exampleSpec(), m, elfgen.FormNop1).Image, 0o755))
	text := filepath.Join(dir, "text.txt")
	t.Must(os.WriteFile(text, []byte("no program"), 0o644))
	reasons := func(path, pattern string) (fine bool, reasons []usdt.Reason) {
		all, err := usdt.Diagnose(path, &usdt.DiagnoseOptions{Pattern: pattern})
		t.Must(err)
		for _, d := range all {
			for _, c := range d.Checks {
				if c.Severity == usdt.Fault {
					reasons = append(reasons, c.Reason)
				}
			}
			fine = d.Fine()
		}
		return fine, reasons
	}
	for _, row := range []struct {
		path, pattern string
		fine          bool
		reasons       []usdt.Reason
	}{
		{path, "selftest:request", true, nil},
		{path, "selftest:reqest", false, []usdt.Reason{usdt.ReasonNoProbe}},
		{text, "", false, []usdt.Reason{usdt.ReasonNotELF}},
		{filepath.Join(dir, "nowhere"), "", false, []usdt.Reason{usdt.ReasonNoFile}},
	} {
		fine, got := reasons(row.path, row.pattern)
		what := filepath.Base(row.path) + " " + row.pattern
		equal(t, what+" is fine", fine, row.fine)
		equal(t, what+": reasons", got, row.reasons)
	}
}

// noteProgram notes all arguments of a probe, by libbpf's interface.
const noteProgram = `
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>
char LICENSE[] SEC("license") = "GPL";

__u64 hits, cookie;
__s64 count, code[12], arg[12];
char text[32];

SEC("usdt") int note(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&hits, 1);
	cookie = bpf_usdt_cookie(ctx);
	count = bpf_usdt_arg_cnt(ctx);
	for (int i = 0; i < 12; i++) {
		long x = 77;
		code[i] = bpf_usdt_arg(ctx, i, &x);
		arg[i] = x;
	}
	bpf_probe_read_user_str(text, sizeof(text), (void *)arg[0]);
	return 0;
}`

// noter is noteProgram, attached.
type noter struct {
	t *T
	c *usdt.Collection
}

// attachNote attaches noteProgram to a target until the check ends.
func attachNote(t *T, target *usdt.Target, o *usdt.Options) *noter {
	n := &noter{t, load(t, noteProgram)}
	l, err := n.c.AttachUSDT(n.c.Programs["note"], target, o)
	t.Must(err)
	closeLater(t, l)
	return n
}

func (n *noter) hits() uint64   { return variable[uint64](n.t, n.c, "hits") }
func (n *noter) cookie() uint64 { return variable[uint64](n.t, n.c, "cookie") }
func (n *noter) count() int64   { return variable[int64](n.t, n.c, "count") }

// args returns the arguments with the codes of reading them.
func (n *noter) args() (args, codes [12]int64) {
	return variable[[12]int64](n.t, n.c, "arg"), variable[[12]int64](n.t, n.c, "code")
}

// operandTable is what the operands in memory of usdtOperands read.
var operandTable = [4]uint64{0x1111111111111111, 0x2222222222222222, 0x3333333333333333, 0x8444444444444484}

// operandProbe has the address of operandTable, an index and a value in registers,
// whose names it returns as notes spell them.
func operandProbe(t *T) (h *emit.Probe3[unsafe.Pointer, int64, uint64], target *usdt.Target, regs []string) {
	p := newProvider(t, nil)
	h = define[*emit.Probe3[unsafe.Pointer, int64, uint64]](t, p)(emit.NewProbe3[unsafe.Pointer, int64, uint64](p, "operands", nil))
	target = oneTarget(t, os.Getpid(), "selftest:operands")
	for _, arg := range strings.Fields(target.Locations[0].ArgString) {
		_, reg, _ := strings.Cut(arg, "@")
		regs = append(regs, reg)
	}
	equal(t, "number of registers", len(regs), 3)
	return h, target, regs
}

// memory spells an operand in memory for this machine.
func memory(reg string, offset int) string {
	if runtime.GOARCH == "arm64" {
		return fmt.Sprintf("[%s, %d]", reg, offset)
	}
	return fmt.Sprintf("%d(%s)", offset, reg)
}

// constant spells a number for this machine.
func constant(n int) string {
	if runtime.GOARCH == "arm64" {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("$%d", n)
}

// An operandRow is an argument as a note spells it, and what it is read as.
type operandRow struct {
	arg  string
	want uint64
}

// operandRows returns operands of every kind, for a hit of fireOperands.
func operandRows(regs []string) []operandRow {
	table, index, value := regs[0], regs[1], regs[2]
	rows := []operandRow{
		{"8@" + value, 0x88776655c433f291},
		{"4@" + value, 0xc433f291},
		{"-4@" + value, 0xffffffffc433f291},
		{"2@" + value, 0xf291},
		{"-2@" + value, 0xfffffffffffff291},
		{"-1@" + value, 0xffffffffffffff91},
		{"1@" + value, 0x91},
		{"8@" + memory(table, 0), operandTable[0]},
		{"-1@" + memory(table, 24), 0xffffffffffffff84},
		{"4@" + memory(table, 20), 0x33333333},
		{"-4@" + constant(-7), ^uint64(6)},
	}
	if runtime.GOARCH == "amd64" {
		rows = append(rows, operandRow{"8@-8(" + table + "," + index + ",8)", operandTable[1]})
	}
	return rows
}

// fireOperands fires what operandRows are about.
func fireOperands(h *emit.Probe3[unsafe.Pointer, int64, uint64]) {
	h.Fire(unsafe.Pointer(&operandTable), 2, 0x88776655c433f291)
}

// argString returns the rows as the argument string of a note. A Target is a plain
// value: so its note can be given whatever a compiler might have written.
func argString(rows []operandRow) string {
	var texts []string
	for _, row := range rows {
		texts = append(texts, row.arg)
	}
	return strings.Join(texts, " ")
}

func usdtOperands(t *T) {
	h, target, regs := operandProbe(t)
	rows := operandRows(regs)
	target.Locations[0].ArgString = argString(rows)
	n := attachNote(t, target, nil)
	for hit := range 2 { // the second one may go another way
		fireOperands(h)
		args, codes := n.args()
		for i, row := range rows {
			what := fmt.Sprintf("hit %d, %s", hit+1, row.arg)
			equal(t, what, fmt.Sprintf("%#x", uint64(args[i])), fmt.Sprintf("%#x", row.want))
			equal(t, what+": code", codes[i], int64(0))
		}
	}
	equal(t, "number of arguments", n.count(), int64(len(rows)))
	equal(t, "hits", n.hits(), uint64(2))
}

// A program that is put together of instructions for the very operands, as those of
// package trace are.
func usdtLoadArg(t *T) {
	h, target, regs := operandProbe(t)
	rows := operandRows(regs)
	rows = append(rows, operandRow{"4@" + constant(-7), 0xfffffff9}, operandRow{"1@" + constant(0x141), 0x41})
	target.Locations[0].ArgString = argString(rows)

	values, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: uint32(len(rows))})
	t.Must(err)
	t.Cleanup(func() { values.Close() })
	const scratch, value, key = -8, -16, -24 // from R10
	insns := asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1)}
	for i, arg := range target.Locations[0].Args() {
		load, err := usdt.LoadArg(target.Locations[0].Machine, &arg, usdt.Frame{Ctx: asm.R6, Dst: asm.R7, Scratch: scratch})
		t.Must(err)
		insns = append(insns, load...)
		insns = append(insns,
			asm.StoreMem(asm.R10, value, asm.R7, asm.DWord),
			asm.StoreImm(asm.R10, key, int64(i), asm.Word),
			asm.LoadMapPtr(asm.R1, values.FD()),
			asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, key),
			asm.Mov.Reg(asm.R3, asm.R10), asm.Add.Imm(asm.R3, value),
			asm.Mov.Imm(asm.R4, 0),
			asm.FnMapUpdateElem.Call())
	}
	spec := &ebpf.ProgramSpec{Name: "load_args", License: "GPL", Instructions: append(insns, asm.Mov.Imm(asm.R0, 0), asm.Return())}
	t.Must(usdt.PrepareProgram(spec, usdt.Auto))
	prog, err := ebpf.NewProgram(spec)
	t.Must(err)
	t.Cleanup(func() { prog.Close() })
	l, err := usdt.AttachUSDT(prog, target, nil)
	t.Must(err)
	closeLater(t, l)
	fireOperands(h)
	for i, row := range rows {
		var got uint64
		t.Must(values.Lookup(uint32(i), &got))
		equal(t, row.arg, fmt.Sprintf("%#x", got), fmt.Sprintf("%#x", row.want))
	}
}

func usdtFault(t *T) {
	h, target, regs := operandProbe(t)
	target.Locations[0].ArgString = strings.Join([]string{"8@" + regs[2], "8@" + memory(regs[1], 0), "8@" + memory(regs[0], 8)}, " ")
	n := attachNote(t, target, nil)
	h.Fire(unsafe.Pointer(&operandTable), 16, 5) // nothing is mapped at 16
	args, codes := n.args()
	equal(t, "values", args[:3], []int64{5, 0, 0x2222222222222222})
	equal(t, "codes", codes[:3], []int64{0, -int64(syscall.EFAULT), 0})
}

func usdtBeyond(t *T) {
	h, target, _ := operandProbe(t)
	n := attachNote(t, target, nil)
	h.Fire(nil, -1, 1<<63)
	args, codes := n.args()
	equal(t, "number of arguments", n.count(), int64(3))
	equal(t, "values", args[:4], []int64{0, -1, -1 << 63, 0})
	equal(t, "codes", codes[:4], []int64{0, 0, 0, -int64(syscall.ENOENT)})
}

func usdtString(t *T) {
	p := newProvider(t, nil)
	h := define[*emit.Probe1[string]](t, p)(emit.NewProbe1[string](p, "text", nil))
	n := attachNote(t, oneTarget(t, os.Getpid(), "selftest:text"), nil)
	h.Fire("from C's point of view")
	text := variable[[32]byte](t, n.c, "text")
	got, _, _ := bytes.Cut(text[:], []byte{0})
	equal(t, "text", string(got), "from C's point of view")
}

func usdtCookie(t *T) {
	p := newProvider(t, nil)
	h := define[*emit.Probe0](t, p)(emit.NewProbe0(p, "cookie", nil))
	target := oneTarget(t, os.Getpid(), "selftest:cookie")
	a := attachNote(t, target, &usdt.Options{Cookie: 0xcafedeadbeeffeed})
	b := attachNote(t, target, nil)
	h.Fire()
	equal(t, "cookie", a.cookie(), uint64(0xcafedeadbeeffeed))
	equal(t, "cookie of an attach without one", b.cookie(), uint64(0))
}

// libraryTarget returns urdt:probe1 of the object of URDT of this process, which has
// sixteen locations.
func libraryTarget(t *T) *usdt.Target {
	urdt.Scope()
	for _, target := range targetsOf(t, os.Getpid(), abi.Provider+":"+abi.SiteName(1)) {
		if target.Shards == abi.Shards {
			return target
		}
	}
	t.Fatalf("this process has no object of URDT: %v", urdt.Scope().Reason)
	return nil
}

// nameAt returns a name of URDT that fires at a shard.
func nameAt(shard int) string {
	for i := 0; ; i++ {
		if name := fmt.Sprintf("at%d", i); abi.Shard(abi.Hash(provider, name), abi.Shards) == shard {
			return name
		}
	}
}

func usdtLocations(t *T) {
	target := libraryTarget(t)
	equal(t, "locations", len(target.Locations), abi.Shards)
	var cookies []uint64
	for i := range target.Locations {
		cookies = append(cookies, uint64(100+i))
	}
	n := attachNote(t, target, &usdt.Options{PID: os.Getpid(), Cookies: cookies})
	for i := range abi.Shards {
		urdt.Probe1(provider, nameAt(i), i)
		equal(t, fmt.Sprintf("cookie at location %d", i), n.cookie(), uint64(100+i))
		args, _ := n.args()
		equal(t, fmt.Sprintf("argument at location %d", i), args[0], int64(i))
	}
	equal(t, "hits", n.hits(), uint64(abi.Shards))
}

func usdtLeftOut(t *T) {
	target := libraryTarget(t)
	target.Locations = slices.Clone(target.Locations)
	bad := errors.New("said to be bad")
	target.Locations[3].Err = bad
	var reasons []error
	n := attachNote(t, target, &usdt.Options{PID: os.Getpid(), LeftOut: func(_ *usdt.Target, _ *usdt.Location, reason error) {
		reasons = append(reasons, reason)
	}})
	equal(t, "number of locations that are left out", len(reasons), 1)
	wantError(t, "the reason", errors.Join(reasons...), bad)
	urdt.Probe1(provider, nameAt(3), 3)
	equal(t, "hits of the bad one", n.hits(), uint64(0))
	urdt.Probe1(provider, nameAt(4), 4)
	equal(t, "hits of its neighbour", n.hits(), uint64(1))
}

// semaphore reads the semaphore of a target in the memory of a process.
func semaphore(t *T, pid int, target *usdt.Target) uint16 {
	at := target.Locations[0].RefCtrOffset
	if at == 0 {
		t.Fatalf("%s has no semaphore", target)
	}
	for m, err := range procmaps.Of(pid) {
		t.Must(err)
		if m.Inode != target.ID.Inode || m.Perms&procmaps.Write == 0 || at < m.Off || at-m.Off >= m.End-m.Start {
			continue
		}
		var b [2]byte
		mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
		t.Must(err)
		_, err = mem.ReadAt(b[:], int64(m.Start+at-m.Off))
		mem.Close()
		t.Must(err)
		return binary.NativeEndian.Uint16(b[:])
	}
	t.Fatalf("process %d has not mapped the semaphore of %s", pid, target)
	return 0
}

// semaphoreProbe defines a probe with a semaphore in this process.
func semaphoreProbe(t *T) (*emit.Probe0, *usdt.Target) {
	p := newProvider(t, nil)
	h := define[*emit.Probe0](t, p)(emit.NewProbe0(p, "counted", &emit.ProbeOptions{Semaphore: true}))
	return h, oneTarget(t, os.Getpid(), "selftest:counted")
}

// The kernel counts breakpoints, not tracers: a second one at the same instruction
// changes nothing (uprobe_write_opcode in kernel/events/uprobes.c).
func usdtSemaphore(t *T) {
	h, target := semaphoreProbe(t)
	value := func(when string, up bool) {
		equal(t, "semaphore is above 0 "+when, semaphore(t, os.Getpid(), target) > 0, up)
		equal(t, "enabled "+when, h.Enabled(), up)
	}
	c := load(t, noteProgram)
	value("before", false)
	a, err := c.AttachUSDT(c.Programs["note"], target, nil)
	t.Must(err)
	value("with a tracer", true)
	b, err := c.AttachUSDT(c.Programs["note"], target, nil)
	t.Must(err)
	value("with two tracers", true)
	h.Fire()
	equal(t, "hits of both", variable[uint64](t, c, "hits"), uint64(2))
	t.Must(a.Close())
	value("with the second one alone", true)
	t.Must(b.Close())
	t.WaitFor("the semaphore is 0", func() bool { return semaphore(t, os.Getpid(), target) == 0 && !h.Enabled() })
}

func usdtKilled(t *T) {
	p := startPeer(t, "")
	p.tell("define counted semaphore")
	target := oneTarget(t, p.pid(), "selftest:counted")
	tracer := start(t, "", "trace", "-p", fmt.Sprint(p.pid()), "selftest:counted")
	tracer.waitLinks(1)
	equal(t, "semaphore with a tracer", semaphore(t, p.pid(), target), uint16(1))
	tracer.signal(syscall.SIGKILL)
	tracer.wait()
	t.WaitFor("the semaphore is 0", func() bool { return semaphore(t, p.pid(), target) == 0 })
	p.tell("fire 1") // and the process is well
}

func usdtConflict(t *T) {
	_, target := semaphoreProbe(t)
	without := *target
	without.Locations = slices.Clone(target.Locations)
	without.Locations[0].Semaphore, without.Locations[0].RefCtrOffset = 0, 0
	attachNote(t, target, nil)
	c := load(t, noteProgram)
	l, err := c.AttachUSDT(c.Programs["note"], &without, nil)
	if err == nil {
		l.Close()
	}
	wantErrorAs[*usdt.ConflictError](t, "attach without the semaphore", err)
	equal(t, "semaphore", semaphore(t, os.Getpid(), target), uint16(1))
}

func usdtDetach(t *T) {
	forms := []elfgen.NopForm{elfgen.FormNop1}
	if runtime.GOARCH == "amd64" {
		forms = append(forms, elfgen.FormNop5)
	}
	for _, form := range forms {
		p := newProvider(t, &emit.Options{NopForm: form})
		h := define[*emit.Probe0](t, p)(emit.NewProbe0(p, "site", nil))
		target := oneTarget(t, os.Getpid(), "selftest:site")
		before := code(t, target)
		c := load(t, noteProgram)
		l, err := c.AttachUSDT(c.Programs["note"], target, nil)
		t.Must(err)
		h.Fire()
		h.Fire()
		if during := code(t, target); bytes.Equal(during, before) {
			t.Errorf("%v: the code is % x, traced or not", form, during)
		}
		t.Must(l.Close())
		t.WaitFor(fmt.Sprintf("%v: the code is what it was, % x", form, before), func() bool { return bytes.Equal(code(t, target), before) })
		h.Fire()
		equal(t, fmt.Sprintf("%v: hits", form), variable[uint64](t, c, "hits"), uint64(2))
		t.Must(p.Close())
	}
}

// code reads the 8 bytes at the location of a target in this process.
func code(t *T, target *usdt.Target) []byte {
	at := target.Locations[0].Offset
	for m, err := range procmaps.Of(os.Getpid()) {
		t.Must(err)
		if m.Inode != target.ID.Inode || m.Perms&procmaps.Exec == 0 || at < m.Off || at-m.Off >= m.End-m.Start {
			continue
		}
		b := make([]byte, 8)
		mem, err := os.Open("/proc/self/mem")
		t.Must(err)
		_, err = mem.ReadAt(b, int64(m.Start+at-m.Off))
		mem.Close()
		t.Must(err)
		return b
	}
	t.Fatalf("the site of %s is not mapped", target)
	return nil
}

func usdtTwoTracers(t *T) {
	p := newProvider(t, nil)
	h := define[*emit.Probe1[int]](t, p)(emit.NewProbe1[int](p, "both", nil))
	a, b := traceSelf(t, "selftest:both"), traceSelf(t, "selftest:both")
	h.Fire(1)
	a.expect("selftest:both arg1=1")
	h.Fire(2)
	b.expect("selftest:both arg1=1", "selftest:both arg1=2")
}

// sharedPeer starts a process with selftest:shared in the file that all of them have.
func sharedPeer(t *T, dir string) *peer {
	p := startPeer(t, "")
	equal(t, "directory of the object", filepath.Dir(p.tell("define shared shared=%s", dir)), dir)
	return p
}

func usdtOneProcess(t *T) {
	dir := t.TempDir()
	a, b := sharedPeer(t, dir), sharedPeer(t, dir)
	n := attachNote(t, oneTarget(t, a.pid(), "selftest:shared"), nil)
	b.tell("fire 2")
	equal(t, "hits of the other process", n.hits(), uint64(0))
	a.tell("fire 3")
	equal(t, "hits", n.hits(), uint64(3))
}

func usdtEveryProcess(t *T) {
	dir := t.TempDir()
	a := sharedPeer(t, dir)
	n := attachNote(t, oneTarget(t, a.pid(), "selftest:shared"), &usdt.Options{PID: usdt.AllProcesses})
	a.tell("fire 1")
	b := sharedPeer(t, dir)
	b.tell("fire 2")
	equal(t, "hits", n.hits(), uint64(3))
}

func usdtChanged(t *T) {
	m := host(t)
	path := writeObject(t, build(t, exampleSpec(), m, elfgen.FormNop1).Image)
	res, err := usdt.FileTargets(path, "selftest:plain")
	t.Must(err)
	other := exampleSpec()
	other.Probes = other.Probes[:2]
	t.Must(os.WriteFile(path, build(t, other, m, elfgen.FormNop1).Image, 0o755))
	c := load(t, nothing)
	l, err := c.AttachUSDT(c.Programs["nothing"], res.Targets[0], &usdt.Options{PID: usdt.AllProcesses})
	if err == nil {
		l.Close()
	}
	wantError(t, "attach by the notes of before", err, usdt.ErrChanged)
}

func usdtMethod(t *T, m usdt.Method) {
	needMethod(t, m)
	p := newProvider(t, nil)
	h := define[*emit.Probe2[int, int8]](t, p)(emit.NewProbe2[int, int8](p, "method", nil))
	c, err := usdt.NewCollection(compile(t, noteProgram), &usdt.CollectionOptions{Method: m})
	t.Must(err)
	t.Cleanup(c.Close)
	l, err := c.AttachUSDT(c.Programs["note"], oneTarget(t, os.Getpid(), "selftest:method"), &usdt.Options{Cookie: 9})
	t.Must(err)
	h.Fire(1, -1)
	h.Fire(2, -2)
	n := &noter{t, c}
	args, _ := n.args()
	equal(t, "hits", n.hits(), uint64(2))
	equal(t, "arguments", args[:2], []int64{2, -2})
	equal(t, "cookie", n.cookie(), uint64(9))
	t.Must(l.Close())
	h.Fire(3, -3)
	equal(t, "hits after detach", n.hits(), uint64(2))
}

func usdtFollow(t *T) {
	f, err := usdt.NewFollower(nil, "selftest:followed")
	t.Must(err)
	defer f.Close()
	var p *peer
	added := false
	for change := range f.Changes(t.ctx) {
		if p == nil { // the first change is what was there
			p = startPeer(t, "")
			p.tell("define followed")
			continue
		}
		of := func(targets []*usdt.Target) bool {
			return slices.ContainsFunc(targets, func(target *usdt.Target) bool { return slices.Contains(target.PIDs, p.pid()) })
		}
		if !added && of(change.Added) {
			added = true
			p.stop()
		}
		if added && len(change.Removed) > 0 && of(change.Removed) {
			return
		}
	}
	t.Fatalf("the process that came and went: added %t, removed false", added)
}
