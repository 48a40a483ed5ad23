package stapsdt

import (
	"bufio"
	"math"
	"os"
	"strings"
	"testing"
)

// Short forms for the rows below.
func c(v int64) Operand      { return Operand{Kind: Constant, Value: v} }
func r(name string) Operand  { return Operand{Kind: Register, Base: name} }
func ah(name string) Operand { return Operand{Kind: Register, Base: name, Shift: 8} }
func mem(v int64, regs ...string) Operand {
	o := Operand{Kind: Memory, Value: v, Scale: 1}
	if len(regs) > 0 {
		o.Base = regs[0]
	}
	if len(regs) > 1 {
		o.Index = regs[1]
	}
	return o
}
func scaled(o Operand, scale int) Operand { o.Scale = scale; return o }
func sym(o Operand, name string, base SymbolBase) Operand {
	o.Symbol, o.SymbolBase = name, base
	return o
}

// operands is the grammar of every machine, one spelling a row.
var operands = []struct {
	machine Machine
	text    string
	want    Operand
}{
	// x86-64: constants
	{X86_64, "$0", c(0)},
	{X86_64, "$-1", c(-1)},
	{X86_64, "$+7", c(7)},
	{X86_64, "$0x1f", c(31)},
	{X86_64, "$-0x10", c(-16)},
	{X86_64, "$9223372036854775807", c(math.MaxInt64)},
	{X86_64, "$-9223372036854775808", c(math.MinInt64)},
	{X86_64, "$18446744073709551615", c(-1)},
	{X86_64, "$0xffffffffffffffff", c(-1)},
	{X86_64, "$4+4", c(8)},
	{X86_64, "$counter", sym(c(0), "counter", Absolute)},
	{X86_64, "$.LC0+16", sym(c(16), ".LC0", Absolute)},
	// registers
	{X86_64, "%rax", r("rax")},
	{X86_64, "%eax", r("rax")},
	{X86_64, "%ax", r("rax")},
	{X86_64, "%al", r("rax")},
	{X86_64, "%ah", ah("rax")},
	{X86_64, "%bh", ah("rbx")},
	{X86_64, "%ch", ah("rcx")},
	{X86_64, "%dh", ah("rdx")},
	{X86_64, "%sil", r("rsi")},
	{X86_64, "%edi", r("rdi")},
	{X86_64, "%bpl", r("rbp")},
	{X86_64, "%spl", r("rsp")},
	{X86_64, "%rip", r("rip")},
	{X86_64, "%r8", r("r8")},
	{X86_64, "%r10d", r("r10")},
	{X86_64, "%r10w", r("r10")},
	{X86_64, "%r10b", r("r10")},
	{X86_64, "%r15l", r("r15")},
	{X86_64, "%xmm0", r("xmm0")},
	{X86_64, "%xmm31", r("xmm31")},
	// memory
	{X86_64, "(%rdx)", mem(0, "rdx")},
	{X86_64, "-4(%rbp)", mem(-4, "rbp")},
	{X86_64, "0x10(%rsp)", mem(16, "rsp")},
	{X86_64, "8+16-4(%rbp)", mem(20, "rbp")},
	{X86_64, "-8+4(%rbp)", mem(-4, "rbp")},
	{X86_64, "(%rax,%rbx)", mem(0, "rax", "rbx")},
	{X86_64, "24(%rax,%rbx,8)", scaled(mem(24, "rax", "rbx"), 8)},
	{X86_64, "(%rax, %rbx, 4)", scaled(mem(0, "rax", "rbx"), 4)},
	{X86_64, "(,%rax,8)", scaled(mem(0, "", "rax"), 8)},
	{X86_64, "table(,%rax,8)", sym(scaled(mem(0, "", "rax"), 8), "table", Absolute)},
	{X86_64, "1234", mem(1234)},
	{X86_64, "counter", sym(mem(0), "counter", Absolute)},
	{X86_64, "counter-8", sym(mem(-8), "counter", Absolute)},
	{X86_64, "NBuffers(%rip)", sym(mem(0), "NBuffers", RIP)},
	{X86_64, "64+CheckpointStats(%rip)", sym(mem(64), "CheckpointStats", RIP)},
	{X86_64, "CheckpointStats+64(%rip)", sym(mem(64), "CheckpointStats", RIP)},
	{X86_64, "4+x-8(%rip)", sym(mem(-4), "x", RIP)},
	{X86_64, "_ZN3foo3barE.123(%rip)", sym(mem(0), "_ZN3foo3barE.123", RIP)},
	// i386
	{I386, "$5", c(5)},
	{I386, "%eax", r("eax")},
	{I386, "%ah", ah("eax")},
	{I386, "%si", r("esi")},
	{I386, "%xmm7", r("xmm7")},
	{I386, "8(%ebp)", mem(8, "ebp")},
	{I386, "-4(%esp,%ecx,2)", scaled(mem(-4, "esp", "ecx"), 2)},
	{I386, "state@GOTOFF(%ebx)", sym(mem(0, "ebx"), "state", GOTOFF)},
	{I386, "4+state@GOTOFF(%ebx)", sym(mem(4, "ebx"), "state", GOTOFF)},
	{I386, "state@GOTOFF+4(%ebx,%eax,4)", sym(scaled(mem(4, "ebx", "eax"), 4), "state", GOTOFF)},
	{I386, "counter", sym(mem(0), "counter", Absolute)},
	// arm64
	{ARM64, "42", c(42)},
	{ARM64, "-1", c(-1)},
	{ARM64, "#7", c(7)},
	{ARM64, "xzr", c(0)},
	{ARM64, "wzr", c(0)},
	{ARM64, "x0", r("x0")},
	{ARM64, "w30", r("x30")},
	{ARM64, "sp", r("sp")},
	{ARM64, "v31", r("v31")},
	{ARM64, "d0", r("v0")},
	{ARM64, "s1", r("v1")},
	{ARM64, "[x1]", mem(0, "x1")},
	{ARM64, "[x29, 16]", mem(16, "x29")},
	{ARM64, "[x29,-8]", mem(-8, "x29")},
	{ARM64, "[sp, #60]", mem(60, "sp")},
	{ARM64, "[x0, x1]", mem(0, "x0", "x1")},
	{ARM64, "[x0, x1, lsl 3]", scaled(mem(0, "x0", "x1"), 8)},
	{ARM64, "[x0, x1, lsl #2]", scaled(mem(0, "x0", "x1"), 4)},
	{ARM64, "[x0, #:lo12:counter]", sym(mem(0, "x0"), "counter", Lo12)},
	{ARM64, "[x0, :lo12:counter+8]", sym(mem(8, "x0"), "counter", Lo12)},
	// arm
	{ARM, "#-3", c(-3)},
	{ARM, "r0", r("r0")},
	{ARM, "fp", r("r11")},
	{ARM, "ip", r("r12")},
	{ARM, "sp", r("sp")},
	{ARM, "r13", r("sp")},
	{ARM, "r14", r("lr")},
	{ARM, "pc", r("pc")},
	{ARM, "sl", r("r10")},
	{ARM, "d7", r("d7")},
	{ARM, "[r3]", mem(0, "r3")},
	{ARM, "[fp, #-16]", mem(-16, "r11")},
	{ARM, "[sp, #8]", mem(8, "sp")},
	{ARM, "[r1, r2]", mem(0, "r1", "r2")},
	{ARM, "[r1, r2, lsl #2]", scaled(mem(0, "r1", "r2"), 4)},
	{ARMBE, "[r1, #4]", mem(4, "r1")},
	// riscv64
	{RISCV64, "-7", c(-7)},
	{RISCV64, "zero", c(0)},
	{RISCV64, "a0", r("a0")},
	{RISCV64, "s11", r("s11")},
	{RISCV64, "fp", r("s0")},
	{RISCV64, "x10", r("a0")},
	{RISCV64, "fa0", r("fa0")},
	{RISCV64, "(a5)", mem(0, "a5")},
	{RISCV64, "-20(s0)", mem(-20, "s0")},
	{RISCV64, "8(zero)", mem(8)},
	// s390x
	{S390X, "100", c(100)},
	{S390X, "%r2", r("r2")},
	{S390X, "%f0", r("f0")},
	{S390X, "160(%r15)", mem(160, "r15")},
	{S390X, "(%r1)", mem(0, "r1")},
	{S390X, "8(%r1,%r2)", mem(8, "r1", "r2")},
	{S390X, "8(%r1,%r0)", mem(8, "r1")},
	{S390X, "8(%r0,%r1)", mem(8, "", "r1")},
	// ppc64
	{PPC64LE, "i0", c(0)},
	{PPC64LE, "i-5", c(-5)},
	{PPC64LE, "9", r("r9")},
	{PPC64LE, "%r31", r("r31")},
	{PPC64LE, "r3", r("r3")},
	{PPC64LE, "f1", r("f1")},
	{PPC64LE, "0", r("r0")},
	{PPC64LE, "96(31)", mem(96, "r31")},
	{PPC64LE, "-8(%r1)", mem(-8, "r1")},
	{PPC64LE, "3,9", mem(0, "r3", "r9")},
	{PPC64LE, "0,9", mem(0, "r9")},
	{PPC64LE, "0,0", mem(0, "r0")},
	{PPC64LE, "8(0)", mem(8)},
	{PPC64, "3,9", mem(0, "r3", "r9")},
	// mips64
	{MIPS64, "12", c(12)},
	{MIPS64, "$0", c(0)},
	{MIPS64, "$4", r("r4")},
	{MIPS64, "$sp", r("r29")},
	{MIPS64, "$f12", r("f12")},
	{MIPS64LE, "16($29)", mem(16, "r29")},
	{MIPS64LE, "-4($fp)", mem(-4, "r30")},
	{MIPS64LE, "-4($0)", mem(-4)},
}

func TestOperands(t *testing.T) {
	for _, row := range operands {
		text := "-4@" + row.text
		got := ParseArgs(row.machine, text)
		if len(got) != 1 {
			t.Errorf("%s %q: %d arguments, want 1", row.machine, text, len(got))
			continue
		}
		want := Arg{Text: text, Size: 4, Signed: true, Operand: row.want}
		if got[0] != want {
			t.Errorf("%s %q:\n got %+v\nwant %+v", row.machine, text, got[0], want)
		}
	}
}

// Every operand has a spelling that parses to the same operand.
func TestFormatRoundTrip(t *testing.T) {
	for _, row := range operands {
		for _, a := range []Arg{
			{Size: 4, Signed: true, Operand: row.want},
			{Size: 8, Operand: row.want},
			{Size: 8, Float: true, Operand: row.want},
			{Size: 24, Operand: row.want},
		} {
			text, err := FormatArg(row.machine, a)
			if err != nil {
				t.Errorf("%s %q: %v", row.machine, row.text, err)
				continue
			}
			a.Text = text
			if got := ParseArgs(row.machine, text); len(got) != 1 || got[0] != a {
				t.Errorf("%s %q formatted as %q: got %+v", row.machine, row.text, text, got)
			}
		}
	}
}

func TestFormatSpelling(t *testing.T) {
	for _, row := range []struct {
		machine Machine
		arg     Arg
		want    string // "" for an error
	}{
		{X86_64, Arg{Size: 4, Signed: true, Operand: r("rax")}, "-4@%rax"},
		{X86_64, Arg{Size: 1, Operand: ah("rbx")}, "1@%bh"},
		{X86_64, Arg{Size: 8, Float: true, Operand: r("xmm0")}, "8f@%xmm0"},
		{X86_64, Arg{Size: 8, Operand: scaled(mem(-8, "rax", "rbx"), 4)}, "8@-8(%rax,%rbx,4)"},
		{X86_64, Arg{Size: 4, Operand: sym(mem(8), "x", RIP)}, "4@x+8(%rip)"},
		{X86_64, Arg{Size: 4, Operand: mem(0)}, "4@0"},
		{ARM64, Arg{Size: 8, Operand: mem(16, "sp")}, "8@[sp, 16]"},
		{ARM, Arg{Size: 4, Operand: mem(16, "sp")}, "4@[sp, #16]"},
		{PPC64LE, Arg{Size: 4, Operand: c(5)}, "4@i5"},
		{S390X, Arg{Size: 4, Operand: mem(8, "r1", "r2")}, "4@8(%r1,%r2)"},
		// What a machine cannot say is an error, not something else.
		{RISCV64, Arg{Size: 4, Operand: mem(8, "a0", "a1")}, ""},
		{ARM64, Arg{Size: 4, Operand: mem(8, "x0", "x1")}, ""},
		{ARM64, Arg{Size: 4, Operand: sym(c(0), "x", Absolute)}, ""},
		{X86_64, Arg{Size: 4, Operand: r("x0")}, ""},
		{X86_64, Arg{Size: 0, Operand: r("rax")}, ""},
		{X86_64, Arg{Size: 8}, ""},
		{Machine(0), Arg{Size: 4, Operand: r("rax")}, ""},
	} {
		got, err := FormatArg(row.machine, row.arg)
		if got != row.want || (err != nil) != (row.want == "") {
			t.Errorf("%s %+v: %q, %v; want %q", row.machine, row.arg, got, err, row.want)
		}
	}
}

// badOperands are operands that cost their own argument, and only that.
var badOperands = []struct {
	machine Machine
	text    string
	reason  string // part of the error
}{
	{X86_64, "8@", "no operand"},
	{X86_64, "8@" + strings.Repeat("1+", 3000) + "1(%rax)", "longer than 4096 bytes"},
	{X86_64, "0@%rax", "size out of range"},
	{X86_64, "99999999@%rax", "size out of range"},
	{X86_64, "x@%rax", "malformed size"},
	{X86_64, "-@%rax", "malformed size"},
	{X86_64, "8@%rxx", `unknown register "rxx"`},
	{X86_64, "8@%", "unknown register"},
	{X86_64, "8@%r16", "unknown register"},
	{X86_64, "8@%r08", "unknown register"},
	{X86_64, "8@%st(1)", "unknown register"},
	{X86_64, "8@%fs:40", "relative to a segment"},
	{X86_64, "8@$", "no value"},
	{X86_64, "8@$18446744073709551616", "malformed value"},
	{X86_64, "8@$-9223372036854775809", "malformed value"},
	{X86_64, "8@(%rax", "malformed value"},
	{X86_64, "8@()", "no register"},
	{X86_64, "8@(%rax,%rbx,3)", `scale "3"`},
	{X86_64, "8@(%rax,%rbx,8,1)", "malformed address"},
	{X86_64, "8@(rax)", "address register"},
	{X86_64, "8@(%eax)", "address register"},
	{X86_64, "8@(%xmm0)", "address register"},
	{X86_64, "8@(,)", "address register"},
	{X86_64, "8@8(%rip)", "without a symbol"},
	{X86_64, "8@x@GOTPCREL(%rip)", "relocation"},
	{X86_64, "8@a+b(%rip)", "malformed value"},
	{X86_64, "8@a-b(%rip)", "malformed value"},
	{X86_64, "8@-a(%rip)", "malformed value"},
	{X86_64, "8@4+(%rax)", "malformed value"},
	{I386, "4@%rax", "unknown register"},
	{I386, "1@%sil", "unknown register"},
	{I386, "4@%r8", "unknown register"},
	{ARM64, "8@x31", "unknown register"},
	{ARM64, "8@[x0", "malformed operand"},
	{ARM64, "8@[x0]!", "malformed operand"},
	{ARM64, "8@[]", "address register"},
	{ARM64, "8@[w0]", "address register"},
	{ARM64, "8@[x0, w1, sxtw 3]", "offset"},
	{ARM64, "8@[x0, x1, lsl 9]", "index"},
	{ARM64, "8@[x0, 8, 8]", "offset"},
	{ARM64, "8@[x0, :lo12:]", "no value"},
	{ARM64, "8@[x0, :lo12:8]", "malformed symbol"},
	{ARM, "4@5", "unknown register"},
	{ARM, "4@#x", "malformed operand"},
	{RISCV64, "8@a8", "unknown register"},
	{RISCV64, "8@%lo(x)(a5)", "malformed operand"},
	{S390X, "8@r2", "unknown register"},
	{S390X, "8@8(r2)", "unknown register"},
	{PPC64LE, "8@-9", "unknown register"},
	{PPC64LE, "8@32", "unknown register"},
	{PPC64LE, "8@i", "malformed operand"},
	{PPC64LE, "8@3,", "malformed operand"},
	{MIPS64, "8@4($32)", "unknown register"},
	{MIPS64, "8@a0", "unknown register"},
	{Machine(0), "8@x", "unknown machine"},
}

func TestBadOperandsKeepTheirPlace(t *testing.T) {
	for _, row := range badOperands {
		good := map[Machine]string{
			X86_64: "4@%rax", I386: "4@%eax", ARM64: "4@x1", ARM: "4@r1", RISCV64: "4@a1",
			S390X: "4@%r1", PPC64LE: "4@1", MIPS64: "4@$1",
		}[row.machine]
		text := strings.TrimSpace(good + " " + row.text + " " + good)
		args := ParseArgs(row.machine, text)
		if good == "" {
			args = append(append([]Arg{{}}, args...), Arg{})
		}
		if len(args) != 3 {
			t.Errorf("%s %q: %d arguments: %+v", row.machine, text, len(args), args)
			continue
		}
		if args[0].Err != nil || args[2].Err != nil {
			t.Errorf("%s %q: neighbours harmed: %v, %v", row.machine, text, args[0].Err, args[2].Err)
		}
		if bad := args[1]; bad.Err == nil || !strings.Contains(bad.Err.Error(), row.reason) ||
			bad.Text != row.text || bad.Operand != (Operand{}) {
			t.Errorf("%s %q: %+v, want an error with %q", row.machine, row.text, bad, row.reason)
		}
	}
}

func TestArgLists(t *testing.T) {
	for _, row := range []struct {
		machine Machine
		text    string
		want    []string // the texts of the arguments
	}{
		{X86_64, "", nil},
		{X86_64, "  ", nil},
		{X86_64, ":", nil},
		{X86_64, ": whatever", nil},
		{X86_64, "8@%rax", []string{"8@%rax"}},
		{X86_64, " 8@%rax  -4@$5 ", []string{"8@%rax", "-4@$5"}},
		{X86_64, "%rax %rbx", []string{"%rax", "%rbx"}},
		{X86_64, "8@(%rax, %rbx, 8) 4@%ecx", []string{"8@(%rax, %rbx, 8)", "4@%ecx"}},
		{ARM64, "8@[sp, 16] -4@x0 8@[x0, x1, lsl 3]", []string{"8@[sp, 16]", "-4@x0", "8@[x0, x1, lsl 3]"}},
		{ARM, "4@[r3, #4] -4@#1", []string{"4@[r3, #4]", "-4@#1"}},
	} {
		var got []string
		for _, a := range ParseArgs(row.machine, row.text) {
			got = append(got, a.Text)
			if a.Err != nil {
				t.Errorf("%q: %v", row.text, a.Err)
			}
		}
		if strings.Join(got, "|") != strings.Join(row.want, "|") {
			t.Errorf("%q: %q, want %q", row.text, got, row.want)
		}
	}
}

func TestSizes(t *testing.T) {
	for _, row := range []struct {
		machine       Machine
		text          string
		size          int
		signed, float bool
		opaque        bool
	}{
		{X86_64, "%rax", 8, false, false, false},
		{I386, "%eax", 4, false, false, false},
		{X86_64, "1@%al", 1, false, false, false},
		{X86_64, "-2@%ax", 2, true, false, false},
		{X86_64, "4f@%xmm0", 4, false, true, false},
		{X86_64, "-8f@%xmm0", 8, true, true, false},
		{X86_64, "16@(%rax)", 16, false, false, true},
		{X86_64, "24@(%rax)", 24, false, false, true},
		{X86_64, "3@(%rax)", 3, false, false, true},
		{I386, "state@GOTOFF(%ebx)", 4, false, false, false},
	} {
		a := ParseArgs(row.machine, row.text)
		if len(a) != 1 || a[0].Err != nil || a[0].Size != row.size || a[0].Signed != row.signed ||
			a[0].Float != row.float || a[0].Opaque() != row.opaque {
			t.Errorf("%s %q: %+v", row.machine, row.text, a)
		}
	}
}

func TestTooManyArgs(t *testing.T) {
	for _, row := range []struct{ n, want int }{{63, 63}, {64, 64}, {65, 64}, {100000, 64}} {
		args := ParseArgs(X86_64, strings.Repeat("8@%rax ", row.n))
		if len(args) != row.want {
			t.Errorf("%d arguments: %d", row.n, len(args))
		}
		if last := args[len(args)-1]; (last.Err != nil) != (row.n > 64) {
			t.Errorf("%d arguments: last is %+v", row.n, last)
		}
	}
}

// The notes of real programs: every argument is understood, and what is
// formatted from it means the same.
func TestRealNotes(t *testing.T) {
	f, err := os.Open("testdata/notes-amd64.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	notes, count := 0, 0
	for in := bufio.NewScanner(f); in.Scan(); {
		cols := strings.Split(in.Text(), "\t")
		if strings.HasPrefix(in.Text(), "#") {
			continue
		}
		notes++
		args := ParseArgs(X86_64, cols[11])
		if want := len(strings.Fields(cols[11])); len(args) != want {
			t.Errorf("%s: %d arguments, want %d", cols[11], len(args), want)
		}
		for _, a := range args {
			count++
			if a.Err != nil {
				t.Errorf("%s:%s: %v", cols[6], cols[7], a.Err)
				continue
			}
			text, err := FormatArg(X86_64, a)
			if err != nil {
				t.Errorf("%s:%s: %v", cols[6], cols[7], err)
				continue
			}
			back := ParseArgs(X86_64, text)[0]
			back.Text = a.Text
			if back != a {
				t.Errorf("%q became %q: %+v", a.Text, text, back)
			}
			// Constants, whole registers and memory at one of them have
			// only one spelling, but for a zero.
			if strings.Replace(a.Text, "@0(", "@(", 1) != text && !hasPartialRegister(a) && a.Operand.Symbol == "" {
				t.Errorf("%q became %q", a.Text, text)
			}
		}
	}
	if notes != 653 || count != 1407 {
		t.Errorf("%d notes and %d arguments, want 653 and 1407", notes, count)
	}
}

func hasPartialRegister(a Arg) bool {
	return a.Operand.Kind == Register && !strings.HasSuffix(a.Text, "%"+a.Operand.Base)
}

func FuzzParseArgs(f *testing.F) {
	for _, row := range operands {
		f.Add(uint8(row.machine), "-4@"+row.text+" 8@"+row.text)
	}
	for _, row := range badOperands {
		f.Add(uint8(row.machine), row.text)
	}
	f.Fuzz(func(t *testing.T, machine uint8, s string) {
		m := Machine(machine)
		args := ParseArgs(m, s)
		if len(args) > maxParsed {
			t.Fatalf("%d arguments", len(args))
		}
		rest := s
		for _, a := range args {
			i := strings.Index(rest, a.Text)
			if a.Text == "" || i < 0 {
				t.Fatalf("argument %q is no part of what remains, %q", a.Text, rest)
			}
			rest = rest[i+len(a.Text):]
			if a.Err != nil {
				if a.Operand != (Operand{}) {
					t.Fatalf("bad argument with operand %+v", a.Operand)
				}
				continue
			}
			if a.Operand.Kind == 0 || a.Size < 1 {
				t.Fatalf("good argument without meaning: %+v", a)
			}
			text, err := FormatArg(m, a)
			if err != nil {
				t.Fatalf("%q: %v", a.Text, err)
			}
			if len(text) > maxOperand {
				continue // the canonical spelling can be a little longer
			}
			back := ParseArgs(m, text)
			a.Text = text
			if len(back) != 1 || back[0] != a {
				t.Fatalf("%+v formatted as %q is %+v", a, text, back)
			}
		}
	})
}
