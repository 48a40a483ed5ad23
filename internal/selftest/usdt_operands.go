package selftest

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/emit"
)

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
