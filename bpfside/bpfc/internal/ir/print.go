package ir

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The textual form, which [Parse] reads back:
//
//	global @hits section ".bss" size 8 align 8 external
//	global @.str size 3 align 1 const data "hi\x00" section ".rodata.str1.1"
//
//	func @prog i32 section "xdp" external {
//	b1(v1 ptr "ctx"):
//		v2 i32 = load.4 v1+4
//		v3 i32 = const 7
//		v4 i32 = cmp.ugt v2, v3
//		if v4 b2, b3(v2) likely
//	b2:
//		v5 ptr = global @hits
//		v6 i64 = const 1
//		atomic.add.8 v5, v6
//		jump b3(v3)
//	b3(v7 i32):
//		ret v7
//	}
//
// What has its usual value is left out: an offset of 0, the alignment of an
// access if it is its size, of an alloca if it is 8, and of a copy if it is 1.
// Positions, BTF, and the lines of files are not part of it.

// String returns the textual form of m.
func (m *Module) String() string {
	var b strings.Builder
	m.Fprint(&b)
	return b.String()
}

// Fprint writes the textual form of m.
func (m *Module) Fprint(w io.Writer) {
	for _, g := range m.Globals {
		fmt.Fprintln(w, g)
	}
	for i, f := range m.Funcs {
		if i > 0 || len(m.Globals) > 0 {
			fmt.Fprintln(w)
		}
		f.Fprint(w)
	}
}

// String returns the textual form of g: a line, without its feed.
func (g *Global) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "global %s", symbolText(g.Name))
	if g.Section != "" {
		fmt.Fprintf(&b, " section %q", g.Section)
	}
	fmt.Fprintf(&b, " size %d align %d %s", g.Size, g.Align, g.Linkage)
	for _, flag := range []struct {
		on   bool
		word string
	}{{g.Used, " used"}, {g.Hidden, " hidden"}, {g.Extern, " extern"}, {g.Constant, " const"}} {
		if flag.on {
			b.WriteString(flag.word)
		}
	}
	if g.Data != nil {
		fmt.Fprintf(&b, " data %q", g.Data)
	}
	for _, r := range g.Relocs {
		fmt.Fprintf(&b, " reloc %d %s", r.Offset, symbolText(r.Sym.SymbolName()))
	}
	return b.String()
}

// String returns the textual form of f.
func (f *Func) String() string {
	var b strings.Builder
	f.Fprint(&b)
	return b.String()
}

// Fprint writes the textual form of f.
func (f *Func) Fprint(w io.Writer) {
	fmt.Fprintf(w, "func %s %s", symbolText(f.Name), f.Result)
	if f.Section != "" {
		fmt.Fprintf(w, " section %q", f.Section)
	}
	fmt.Fprintf(w, " %s", f.Linkage)
	for _, flag := range []struct {
		on   bool
		word string
	}{
		{f.Used, " used"},
		{f.Hidden, " hidden"},
		{f.Inline == InlineAlways, " inline"},
		{f.Inline == InlineNever, " noinline"},
		{f.AddrTaken, " callback"},
	} {
		if flag.on {
			io.WriteString(w, flag.word)
		}
	}
	if len(f.Blocks) == 0 {
		fmt.Fprintln(w)
		return
	}
	fmt.Fprintln(w, " {")
	for _, b := range f.Blocks {
		fmt.Fprint(w, b)
	}
	fmt.Fprintln(w, "}")
}

// String returns the textual form of b.
func (b *Block) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "b%d", b.ID)
	for i, p := range b.Params {
		s.WriteString(separator(i, "(", ", "))
		fmt.Fprintf(&s, "v%d %s", p.ID, p.Type)
		if p.Name != "" {
			fmt.Fprintf(&s, " %q", p.Name)
		}
	}
	if len(b.Params) > 0 {
		s.WriteByte(')')
	}
	if b.Unroll != 0 {
		fmt.Fprintf(&s, " unroll %d", b.Unroll)
	}
	s.WriteString(":\n")
	for _, v := range b.Values {
		fmt.Fprintf(&s, "\t%s\n", v)
	}
	if b.Term.Kind != TermNone {
		fmt.Fprintf(&s, "\t%s\n", &b.Term)
	}
	return s.String()
}

// String returns the textual form of v, such as "v7 i32 = add v4, v6".
func (v *Value) String() string {
	var s strings.Builder
	if v.Type != Void {
		fmt.Fprintf(&s, "v%d %s = ", v.ID, v.Type)
	}
	if v.Op == OpLoad && v.Signed {
		s.WriteByte('s')
	}
	s.WriteString(v.Op.String())
	align := 0 // the usual one; 0 where there is none to tell
	switch v.Op {
	case OpConst:
		fmt.Fprintf(&s, " %d", v.Imm)
	case OpAlloca:
		fmt.Fprintf(&s, " %d", v.Size)
		align = 8
	case OpGlobal, OpFunc:
		fmt.Fprintf(&s, " %s%s", symbolText(v.symbolName()), offsetText(v.Imm))
	case OpCmp:
		fmt.Fprintf(&s, ".%s", v.Cond)
		writeArgs(&s, " ", v.Args, "")
	case OpSextIn, OpBswap:
		fmt.Fprintf(&s, ".%d", v.Size)
		writeArgs(&s, " ", v.Args, "")
	case OpLoad, OpStore, OpAtomic:
		if v.Op == OpAtomic {
			fmt.Fprintf(&s, ".%s", v.Atomic)
		}
		fmt.Fprintf(&s, ".%d", v.Size)
		if len(v.Args) > 0 {
			writeArgs(&s, " ", v.Args[:1], offsetText(v.Imm))
			writeArgs(&s, ", ", v.Args[1:], "")
		}
		align = v.Size
	case OpCopy, OpMove, OpSet:
		fmt.Fprintf(&s, ".%d", v.Size)
		writeArgs(&s, " ", v.Args, "")
		align = 1
	case OpCall:
		fmt.Fprintf(&s, " %s(", symbolText(v.symbolName()))
		writeArgs(&s, "", v.Args, ")")
	case OpHelper:
		fmt.Fprintf(&s, " %d(", v.Imm)
		writeArgs(&s, "", v.Args, ")")
	default:
		writeArgs(&s, " ", v.Args, "")
	}
	if align != 0 && v.Align != align {
		fmt.Fprintf(&s, " align %d", v.Align)
	}
	if v.Volatile {
		s.WriteString(" volatile")
	}
	if v.Name != "" {
		fmt.Fprintf(&s, " %q", v.Name)
	}
	return s.String()
}

// symbolName is the name of v.Sym, "?" where it is missing.
func (v *Value) symbolName() string {
	if v.Sym == nil {
		return "?"
	}
	return v.Sym.SymbolName()
}

// String returns the textual form of t.
func (t *Term) String() string {
	var s strings.Builder
	s.WriteString(t.Kind.String())
	writeArgs(&s, " ", t.Args, "")
	for i, e := range t.Succs {
		if t.Kind != TermSwitch || i == 0 {
			s.WriteString(separator(i, " ", ", "))
		} else {
			s.WriteString(separator(i-1, " [", ", "))
			if i-1 < len(t.Cases) {
				fmt.Fprintf(&s, "%d: ", t.Cases[i-1])
			}
		}
		s.WriteString(e.String())
	}
	if t.Kind == TermSwitch && len(t.Succs) > 1 {
		s.WriteByte(']')
	}
	switch {
	case t.Likely > 0:
		s.WriteString(" likely")
	case t.Likely < 0:
		s.WriteString(" unlikely")
	}
	return s.String()
}

// String returns the textual form of e, such as "b3(v1, v2)".
func (e Edge) String() string {
	if e.To == nil {
		return "b?"
	}
	var s strings.Builder
	fmt.Fprintf(&s, "b%d", e.To.ID)
	if len(e.Args) > 0 {
		writeArgs(&s, "(", e.Args, ")")
	}
	return s.String()
}

// writeArgs writes before, the numbers of args, and after; of none only after.
func writeArgs(s *strings.Builder, before string, args []*Value, after string) {
	for i, a := range args {
		s.WriteString(separator(i, before, ", "))
		if a == nil {
			s.WriteString("v?")
			continue
		}
		s.WriteByte('v')
		s.WriteString(strconv.Itoa(a.ID))
	}
	s.WriteString(after)
}

// separator is what stands before item i of a list.
func separator(i int, first, other string) string {
	if i == 0 {
		return first
	}
	return other
}

// offsetText is "+8" or "-8", nothing for 0.
func offsetText(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%+d", n)
}

// symbolText is "@name", with the name in quotes if it is not of letters.
func symbolText(name string) string {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !isNameRune(r) }) {
		return "@" + strconv.Quote(name)
	}
	return "@" + name
}

// isNameRune says which letters a name has outside quotes.
func isNameRune(r rune) bool {
	return r == '_' || r == '.' || r == '$' || r == '?' ||
		'0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}
