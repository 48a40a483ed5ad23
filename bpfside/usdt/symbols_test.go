package usdt

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

func TestResolve(t *testing.T) {
	type operand = stapsdt.Operand
	symbols := map[string]uint64{"v": 0x4012, gotSymbol: 0x4100}
	for _, tc := range []struct {
		m    stapsdt.Machine
		args string
		want operand
		text string
	}{
		{stapsdt.X86_64, "-4@v(%rip)", operand{Kind: stapsdt.Memory, Base: "rip", Value: 0x3012, Scale: 1}, "-4@v(%rip) (probe+0x3012)"},
		{stapsdt.X86_64, "4@8+v(%rip)", operand{Kind: stapsdt.Memory, Base: "rip", Value: 0x301a, Scale: 1}, "4@8+v(%rip) (probe+0x301a)"},
		{stapsdt.X86_64, "8@v(,%rax,8)", operand{Kind: stapsdt.Memory, Base: "rip", Index: "rax", Value: 0x3012, Scale: 8}, "8@v(,%rax,8) (probe+0x3012)"},
		{stapsdt.X86_64, "8@v(%rax)", operand{Kind: stapsdt.Memory, Base: "rip", Index: "rax", Value: 0x3012, Scale: 1}, "8@v(%rax) (probe+0x3012)"},
		{stapsdt.X86_64, "8@$v", operand{Kind: stapsdt.Constant, Base: "rip", Value: 0x3012}, "8@$v (probe+0x3012)"},
		{stapsdt.X86_64, "4@w(%rip)", operand{Kind: stapsdt.Memory, Symbol: "w", SymbolBase: stapsdt.RIP, Scale: 1}, "4@w(%rip)"},
		{stapsdt.X86_64, "8@v(%rax,%rbx,2)", operand{Kind: stapsdt.Memory, Base: "rax", Index: "rbx", Symbol: "v", Scale: 2}, "8@v(%rax,%rbx,2)"},
		{stapsdt.X86_64, "8@%rax", operand{Kind: stapsdt.Register, Base: "rax"}, "8@%rax"},
		{stapsdt.ARM64, "4@[x1, #:lo12:v]", operand{Kind: stapsdt.Memory, Base: "x1", Value: 0x12, Scale: 1}, "4@[x1, #:lo12:v] (+0x12)"},
		{stapsdt.I386, "-4@v@GOTOFF(%ebx)", operand{Kind: stapsdt.Memory, Base: "ebx", Value: -0xee, Scale: 1}, "-4@v@GOTOFF(%ebx) (got-0xee)"},
		{stapsdt.I386, "4@4+v@GOTOFF(%ebx,%eax,4)", operand{Kind: stapsdt.Memory, Base: "ebx", Index: "eax", Value: -0xea, Scale: 4}, "4@4+v@GOTOFF(%ebx,%eax,4) (got-0xee)"},
		{stapsdt.I386, "-4@v", operand{Kind: stapsdt.Memory, Base: "eip", Value: 0x3012, Scale: 1}, "-4@v (probe+0x3012)"},
	} {
		loc := Location{Machine: tc.m, Address: 0x1000, ArgString: tc.args, Symbols: symbols}
		args := loc.Args()
		if len(args) != 1 || args[0].Err != nil {
			t.Errorf("%s: %+v", tc.args, args)
			continue
		}
		got := args[0].Operand
		if got.Index == "" {
			got.Scale, tc.want.Scale = 0, 0 // means nothing
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.args, diff)
		}
		if args[0].Text != tc.text {
			t.Errorf("text %q, want %q", args[0].Text, tc.text)
		}
	}
}

func TestMayNameSymbol(t *testing.T) {
	for _, tc := range []struct {
		m    stapsdt.Machine
		args string
		want bool
	}{
		{stapsdt.X86_64, "-4@%eax 8@-16(%rbp) 1@$7 8@(%rax,%rbx,8) 4f@%xmm0", false},
		{stapsdt.X86_64, "", false},
		{stapsdt.X86_64, "4@%eax 4@v(%rip)", true},
		{stapsdt.X86_64, "4@8+v(%rip)", true},
		{stapsdt.X86_64, "8@_v(%rip)", true},
		{stapsdt.X86_64, "8@$-1 v(%rip)", true},
		{stapsdt.X86_64, "8@$v", true},
		{stapsdt.X86_64, "8@$0xff", false},
		{stapsdt.ARM64, "8@x1 4@[sp, 12]", false},
		{stapsdt.ARM64, "4@[x1, #:lo12:v]", true},
	} {
		if got := mayNameSymbol(tc.m, tc.args); got != tc.want {
			t.Errorf("mayNameSymbol(%s, %q) = %t", tc.m, tc.args, got)
		}
	}
}

// Static variables of one name in two files cannot be told apart; an exported
// one wins over them.
func TestSymbolValueMerge(t *testing.T) {
	type sym struct {
		addr   uint64
		global bool
	}
	for _, tc := range []struct {
		name string
		syms []sym
		addr uint64 // 0: ambiguous
	}{
		{"one", []sym{{1, false}}, 1},
		{"the same twice", []sym{{1, false}, {1, true}}, 1},
		{"two static", []sym{{1, false}, {2, false}}, 0},
		{"exported first", []sym{{1, true}, {2, false}}, 1},
		{"exported last", []sym{{2, false}, {3, false}, {1, true}}, 1},
		{"two exported", []sym{{1, true}, {2, true}}, 0},
	} {
		var v symbolValue
		for _, s := range tc.syms {
			v = v.merge(s.addr, s.global)
		}
		if v.ok != (tc.addr != 0) || v.ok && v.addr != tc.addr {
			t.Errorf("%s: %+v, want address %d", tc.name, v, tc.addr)
		}
	}
}
