package site

import (
	"encoding/binary"
	"strings"
	"testing"

	"golang.org/x/arch/arm64/arm64asm"
	"golang.org/x/arch/ppc64/ppc64asm"
	"golang.org/x/arch/riscv64/riscv64asm"
	"golang.org/x/arch/s390x/s390xasm"
	"golang.org/x/arch/x86/x86asm"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// sites are all sites there are, as a disassembler reads them from the entry
// to the return.
var sites = []struct {
	machine stapsdt.Machine
	form    Form
	insns   []string
}{
	{stapsdt.X86_64, Nop1, []string{"nop", "ret"}},
	{stapsdt.X86_64, Nop5, []string{"nop dword ptr [rax+rax], eax", "ret"}},
	{stapsdt.X86_64, Nop10, []string{"nop", "nop word ptr [rax+rax], ax", "ret"}},
	{stapsdt.ARM64, Nop1, []string{"nop", "ret"}},
	{stapsdt.RISCV64, Nop1, []string{"nop", "ret"}},
	// x/arch spells the 4-byte nop like the 2-byte one.
	{stapsdt.S390X, Nop1, []string{"nopr 0", "br %r14"}},
	{stapsdt.PPC64LE, Nop1, []string{"nop", "blr"}},
}

// disassemble returns the first instruction of code and its length.
func disassemble(t *testing.T, m stapsdt.Machine, code []byte) (string, int) {
	t.Helper()
	var text string
	var size int
	var err error
	switch m {
	case stapsdt.X86_64:
		var i x86asm.Inst
		i, err = x86asm.Decode(code, 64)
		text, size = x86asm.IntelSyntax(i, 0, nil), i.Len
	case stapsdt.ARM64:
		var i arm64asm.Inst
		i, err = arm64asm.Decode(code)
		text, size = arm64asm.GNUSyntax(i), 4
	case stapsdt.RISCV64:
		var i riscv64asm.Inst
		i, err = riscv64asm.Decode(code)
		text, size = riscv64asm.GNUSyntax(i), i.Len
	case stapsdt.S390X:
		var i s390xasm.Inst
		i, err = s390xasm.Decode(code)
		text, size = s390xasm.GNUSyntax(i, 0), i.Len
	case stapsdt.PPC64LE:
		var i ppc64asm.Inst
		i, err = ppc64asm.Decode(code, binary.LittleEndian)
		text, size = ppc64asm.GNUSyntax(i, 0), i.Len
	}
	if err != nil {
		t.Fatalf("%s: % x: %v", m, code, err)
	}
	return strings.TrimSpace(text), size
}

func TestSites(t *testing.T) {
	for _, row := range sites {
		c := Lookup(row.machine, row.form)
		if c == nil {
			t.Errorf("%s form %d: none", row.machine, row.form)
			continue
		}
		at := c.Entry
		starts := map[int]bool{}
		for _, want := range row.insns {
			starts[at] = true
			got, size := disassemble(t, row.machine, []byte(c.Bytes[at:]))
			if got != want {
				t.Errorf("%s form %d at %d: %q, want %q", row.machine, row.form, at, got, want)
			}
			at += size
		}
		if at != c.End {
			t.Errorf("%s form %d: return ends at %d, End is %d", row.machine, row.form, at, c.End)
		}
		if !starts[c.Location] {
			t.Errorf("%s form %d: no instruction at Location %d", row.machine, row.form, c.Location)
		}
		if c.Patches[0].From != c.Location {
			t.Errorf("%s form %d: tracers patch at %d first, not at Location", row.machine, row.form, c.Patches[0].From)
		}
		for _, p := range c.Patches {
			if !starts[p.From] || !starts[p.To] {
				t.Errorf("%s form %d: patch %v is no whole instruction", row.machine, row.form, p)
			}
		}
	}
}

// A site is a whole stride, so no instruction crosses a page, and its word
// tells of every patch.
func TestSiteLayout(t *testing.T) {
	for _, row := range sites {
		c := Lookup(row.machine, row.form)
		if len(c.Bytes) != Stride || 4096%Stride != 0 {
			t.Errorf("%s form %d: %d bytes in a stride of %d", row.machine, row.form, len(c.Bytes), Stride)
		}
		if c.Word%8 != 0 || c.Word+8 > Stride {
			t.Errorf("%s form %d: word at %d", row.machine, row.form, c.Word)
		}
		residue := func(i int) bool { return c.Residue.From <= i && i < c.Residue.To }
		for _, p := range c.Patches {
			for i := p.From; i < p.To; i++ {
				inWord := c.Word <= i && i < c.Word+8
				if inWord == residue(i) {
					t.Errorf("%s form %d: byte %d: in word %v, residue %v", row.machine, row.form, i, inWord, residue(i))
				}
			}
			if residue(p.From) {
				t.Errorf("%s form %d: the patch %v does not show in the word", row.machine, row.form, p)
			}
		}
	}
}

// Whoever jumps beside the code is stopped by the first byte.
func TestFill(t *testing.T) {
	trap := map[stapsdt.Machine]string{
		stapsdt.X86_64:  "\xcc",             // int3
		stapsdt.ARM64:   "\x00\x00\x00\x00", // udf #0
		stapsdt.RISCV64: "\x00\x00\x00\x00",
		stapsdt.S390X:   "\x00\x00",
		stapsdt.PPC64LE: "\x08\x00\xe0\x7f", // trap
	}
	for _, row := range sites {
		c := Lookup(row.machine, row.form)
		fill := c.Bytes[:c.Entry] + c.Bytes[c.End:]
		one := trap[row.machine]
		if fill != strings.Repeat(one, len(fill)/len(one)) {
			t.Errorf("%s form %d: filled with % x", row.machine, row.form, fill)
		}
	}
}

func TestPristine(t *testing.T) {
	for _, row := range []struct {
		machine stapsdt.Machine
		form    Form
		want    uint64
	}{
		{stapsdt.X86_64, Nop1, 0xcccccccccccc_c3_90},
		{stapsdt.X86_64, Nop5, 0xcccc_c3_0000441f0f},
		{stapsdt.X86_64, Nop10, 0x841f0f2e66_90_cccc},
		{stapsdt.ARM64, Nop1, 0xd65f03c0_d503201f},
		{stapsdt.S390X, Nop1, 0x47000000_07fe_0000},
	} {
		got := Lookup(row.machine, row.form).Pristine(row.machine.ByteOrder())
		if got != row.want {
			t.Errorf("%s form %d: %#x, want %#x", row.machine, row.form, got, row.want)
		}
	}
}

func TestLookupUnknown(t *testing.T) {
	known := map[stapsdt.Machine]map[Form]bool{}
	for _, row := range sites {
		if known[row.machine] == nil {
			known[row.machine] = map[Form]bool{}
		}
		known[row.machine][row.form] = true
	}
	for m := range stapsdt.Machine(20) {
		for f := range Form(10) {
			if got := Lookup(m, f) != nil; got != known[m][f] {
				t.Errorf("%s form %d: %v", m, f, got)
			}
		}
	}
}

func TestAppendArg(t *testing.T) {
	for _, row := range []struct {
		machine     stapsdt.Machine
		place, size int
		signed      bool
		want        string
	}{
		{stapsdt.X86_64, 0, 8, true, "-8@%rax"},
		{stapsdt.X86_64, 4, 1, false, "1@%rsi"},
		{stapsdt.X86_64, 11, 4, true, "-4@%r13"},
		{stapsdt.ARM64, 11, 2, false, "2@x11"},
		{stapsdt.RISCV64, 8, 8, false, "8@t0"},
		{stapsdt.S390X, 0, 4, true, "-4@%r2"},
		{stapsdt.PPC64LE, 0, 8, false, "8@3"},
		{stapsdt.I386, 0, 8, false, ""},
		{stapsdt.Machine(200), 0, 8, false, ""},
	} {
		if got := string(AppendArg([]byte("x"), row.machine, row.place, row.size, row.signed)); got != "x"+row.want {
			t.Errorf("%s %d: %q, want %q", row.machine, row.place, got, "x"+row.want)
		}
	}
}

// Every argument register is one that the parser knows, none occurs twice, and
// none is needed to enter a site or to come back.
func TestArgRegisters(t *testing.T) {
	reserved := map[stapsdt.Machine]string{
		stapsdt.X86_64:  "rsp rbp r14 r15",
		stapsdt.ARM64:   "sp x18 x27 x28 x29 x30",
		stapsdt.RISCV64: "ra sp gp tp s0 t4 t5 t6",
		stapsdt.S390X:   "r1 r13 r14 r15",
		stapsdt.PPC64LE: "r0 r1 r2 r13",
	}
	for m, list := range reserved {
		taken := map[string]bool{}
		for _, r := range strings.Fields(list) {
			taken[r] = true
		}
		for place := range MaxArgs {
			text := string(AppendArg(nil, m, place, 8, false))
			a := stapsdt.ParseArgs(m, text)[0]
			if a.Err != nil || a.Operand.Kind != stapsdt.Register || taken[a.Operand.Base] {
				t.Errorf("%s place %d: %q is %+v", m, place, text, a)
			}
			taken[a.Operand.Base] = true
		}
	}
}
