package difftest

import "fmt"

// expr makes an integer expression without side effects, at most depth deep.
func (f *fn) expr(depth int) *Node {
	if depth <= 0 || f.oneIn(6) {
		return f.leaf(depth)
	}
	x := func() *Node { return f.expr(depth - 1) }
	switch f.r.IntN(34) {
	case 0, 1, 2, 3, 4, 5:
		op := choose(f.gen, "+", "-", "*", "&", "|", "^")
		return expr("($0 "+op+" $1)", x(), x())
	case 6, 7, 8:
		op := choose(f.gen, "<", "<=", ">", ">=", "==", "!=")
		return expr("($0 "+op+" $1)", x(), x())
	case 9, 10:
		return f.shift(x(), x())
	case 11, 12:
		return f.divide(x(), x())
	case 13, 14:
		return expr("("+choose(f.gen, "-", "~", "!", "+")+"$0)", x())
	case 15, 16, 17:
		return expr("(("+f.intType().name+")$0)", x())
	case 18, 19:
		return expr("($0 "+choose(f.gen, "&&", "||")+" $1)", x(), x())
	case 20, 21:
		return expr("($0 ? $1 : $2)", x(), x(), x())
	case 22:
		return expr("($0 ?: $1)", x(), x())
	case 23:
		return expr("($0, $1)", x(), x())
	case 24:
		return f.statementExpr(x(), x())
	case 25:
		return f.builtin(x(), x())
	case 26:
		return f.typing(x(), x())
	case 27:
		return f.compoundLiteral(depth)
	case 28, 29, 30:
		if n := f.pureCall(depth); n != nil {
			return n
		}
	case 31:
		return f.memcmp()
	case 32:
		// What compilers turn into range checks, minima and masks.
		return choose(f.gen,
			expr("({ u32 x = $0; x >= 3 && x < 200 ? x : 7; })", x()),
			expr("({ s32 x = $0, y = $1; x < y ? x : y; })", x(), x()),
			expr("({ u64 x = $0, y = $1; x > y ? x : y; })", x(), x()),
			expr("({ s64 x = $0; x < 0 ? -x : x; })", x()),
			expr("({ u32 x = $0; (x << 7) | (x >> 25); })", x()),
			expr("(!!($0 & 0x10))", x()))
	}
	return f.leaf(depth)
}

// leaf makes a literal or reads a variable.
func (f *fn) leaf(depth int) *Node {
	if len(f.vars) > 0 && !f.oneIn(3) {
		n, _ := f.anyPlace(false, depth)
		return expr("$0", n)
	}
	if len(f.enums) > 0 && f.oneIn(8) {
		return expr(choose(f.gen, f.enums...))
	}
	return expr(f.literal())
}

// literal returns an integer constant of any type.
func (f *fn) literal() string {
	switch f.r.IntN(10) {
	case 0:
		return choose(f.gen, "0x7fffffff", "0x80000000", "0xffffffff", "0x100000000", "0x7fffffffffffffff", "0x8000000000000000", "0xffffffffffffffff")
	case 1:
		return choose(f.gen, "0x7f", "0x80", "0xff", "0x7fff", "0x8000", "0xffff", "0x10000")
	case 2:
		return fmt.Sprintf("%d%s", f.r.Uint32(), choose(f.gen, "", "u", "l", "ul", "ll", "ull"))
	case 3:
		return fmt.Sprintf("0x%xull", f.r.Uint64())
	case 4:
		return fmt.Sprintf("'%c'", 'a'+f.r.IntN(26))
	case 5:
		return fmt.Sprintf("(-%d)", 1+f.r.IntN(300))
	case 6:
		return fmt.Sprintf("%d", 1<<f.r.IntN(31))
	}
	return fmt.Sprintf("%d%s", f.r.IntN(100), choose(f.gen, "", "", "u", "ull"))
}

func (f *fn) shift(x, y *Node) *Node {
	op := choose(f.gen, "<<", ">>")
	if f.oneIn(2) {
		n := f.r.IntN(32)
		return choose(f.gen,
			expr(fmt.Sprintf("($0 %s %d)", op, n), x),
			expr(fmt.Sprintf("((u64)$0 %s %d)", op, 2*n+1), x),
			expr(fmt.Sprintf("((s64)$0 %s %d)", op, 2*n), x))
	}
	return choose(f.gen,
		expr("($0 "+op+" ($1 & 31))", x, y),
		expr("((s32)$0 "+op+" ($1 & 31))", x, y),
		expr("((u64)$0 "+op+" ($1 & 63))", x, y),
		expr("((s64)$0 "+op+" ($1 & 63))", x, y),
		expr("((s8)$0 "+op+" ($1 & 7))", x, y))
}

func (f *fn) divide(x, y *Node) *Node {
	op := choose(f.gen, "/", "%")
	signed := choose(f.gen, "SDIV", "SMOD") + choose(f.gen, "(s32, ", "(s64, ")
	switch f.r.IntN(8) {
	case 0:
		return expr("((u32)$0 "+op+" ((u32)$1 | 1))", x, y)
	case 1:
		return expr("((u64)$0 "+op+" ((u64)$1 | 1))", x, y)
	case 2, 3:
		return expr(fmt.Sprintf("((u32)$0 %s %du)", op, choose[int64](f.gen, 1, 2, 3, 7, 10, 16, 1000, 1<<31)), x)
	case 4:
		return expr(fmt.Sprintf("((u64)$0 %s %dull)", op, choose[int64](f.gen, 1, 2, 3, 10, 64, 1000000, 1<<40)), x)
	case 5:
		return expr(fmt.Sprintf("%s$0, %d)", signed, choose(f.gen, 1, 2, 3, 8, 10, -2, -7, 1024)), x)
	case 6:
		return expr(signed+"$0, (s64)((u32)$1 & 255) + 2)", x, y)
	}
	return expr(signed+"$0, -(s64)((u32)$1 & 255) - 2)", x, y)
}

// statementExpr is GNU C's ({ … }), with effects on its own variables alone.
func (f *fn) statementExpr(x, y *Node) *Node {
	t, name := f.intType(), f.name("t")
	decl := "({ " + t.name + " " + name + " = $0; "
	return choose(f.gen,
		expr(decl+"if ($1) "+name+" += 3; "+name+"; })", x, y),
		expr(decl+name+" ^= $1; "+name+"; })", x, y),
		expr(decl+"typeof("+name+" + 0) u_"+name+" = $1; u_"+name+" - "+name+"; })", x, y),
		expr(decl+name+"++; (u32)$1 + "+name+"--; })", x, y))
}

// builtin calls one of the compiler's own functions.
func (f *fn) builtin(x, y *Node) *Node {
	t, name := choose(f.gen, intTypes...), f.name("t")
	operands := choose(f.gen, intTypes[:6]...)
	overflow := choose(f.gen, "add", "sub", "mul")
	switch {
	case overflow == "mul":
		t, operands = choose(f.gen, u8, u32, s32), choose(f.gen, u32, s16) // no more than 64 bits on the way
	case f.oneIn(3):
		t = choose(f.gen, u64, s64)
		operands = t
	}
	return choose(f.gen,
		expr("__builtin_bswap16($0)", x),
		expr("__builtin_bswap32($0)", x),
		expr("__builtin_bswap64($0)", x),
		expr("POPCOUNT($0)", x),
		expr("__builtin_popcountll((u64)$0)", x),
		expr("CLZ((u32)$0 | 1)", x),
		expr("CLZLL((u64)$0 | 1)", x),
		expr("CTZ((u32)$0 | 0x80000000)", x),
		expr("CTZLL((u64)$0 | 1ull << 63)", x),
		expr("FFS($0)", x),
		expr("(__builtin_expect(!!$0, 1) ? $1 : 3)", x, y),
		expr("__builtin_choose_expr(sizeof(u64) == 8, $0, $1)", x, y),
		expr("({ "+t.name+" "+name+"; _Bool o = __builtin_"+overflow+"_overflow(("+operands.name+")$0, ("+operands.name+")$1, &"+name+"); "+name+" + o; })", x, y))
}

// typing asks what type an expression has.
func (f *fn) typing(x, y *Node) *Node {
	op := choose(f.gen, "+", "-", "*", "&", "|", "^")
	return choose(f.gen,
		expr("sizeof($0 "+op+" $1)", x, y),
		expr("_Generic($0 "+op+" $1, int: 1, unsigned: 2, long: 3, unsigned long: 4, long long: 5, unsigned long long: 6, default: 7)", x, y),
		expr("_Generic($0 ? $1 : $0, int: 1, unsigned: 2, long: 3, unsigned long: 4, long long: 5, unsigned long long: 6, default: 7)", x, y),
		expr("_Generic($0 << 1, int: 1, unsigned: 2, long: 3, unsigned long: 4, long long: 5, unsigned long long: 6, default: 7)", x),
		expr("((typeof($0 "+op+" $1))-1 > 0)", x, y),
		expr("__builtin_types_compatible_p(typeof($0 + 0), typeof($1 + 0))", x, y))
}

// compoundLiteral takes a member of an aggregate that is made for it.
func (f *fn) compoundLiteral(depth int) *Node {
	t := choose(f.gen, f.structs...)
	init := f.init(t, depth-1)
	member, _ := f.walk(node(""), t, true, 0)
	return expr("(("+t.name+")$0)$1", init, member)
}

// pureCall calls a function that has no side effects, or returns nil if there
// is none.
func (f *fn) pureCall(depth int) *Node {
	for range 3 {
		if len(f.callees) == 0 {
			return nil
		}
		c := choose(f.gen, f.callees...)
		if c.pure {
			if n := f.call(c, depth-1); n != nil {
				return expr("$0", n)
			}
		}
	}
	return nil
}

// call calls c, or returns nil if there is nothing to point at.
func (f *fn) call(c callee, depth int) *Node {
	call := &Node{Text: c.name + "("}
	add := func(n *Node) {
		if len(call.Kids) > 0 {
			call.Text += ", "
		}
		call.Text += fmt.Sprintf("$%d", len(call.Kids))
		call.Kids = append(call.Kids, n)
	}
	for _, t := range c.params {
		if t.scalar() {
			add(f.expr(depth))
			continue
		}
		n := f.object(t, false, false)
		if n == nil {
			return nil
		}
		add(n)
	}
	if c.pointer != nil {
		n := f.object(c.pointer, !c.pure, true)
		if n == nil {
			return nil
		}
		add(node("&$0", n))
	}
	call.Text += ")"
	return call
}

// memcmp compares two aggregates of one type, or part of them, for equality:
// clang expands nothing else.
func (f *fn) memcmp() *Node {
	for range 3 {
		a, b := choose(f.gen, f.vars...), choose(f.gen, f.vars...)
		// Arrays of integers have no padding, whose bytes nobody knows.
		if a.typ.kind == cArray && a.typ.elem.kind == cInt && b.typ.kind == cArray && b.typ.elem.kind == cInt && !a.volatile && !b.volatile && !a.constIndex && !b.constIndex {
			size := min(a.typ.size(), b.typ.size(), 16)
			return expr(fmt.Sprintf("(__builtin_memcmp(%s, %s, %d) %s 0)", a.object(), b.object(), size, choose(f.gen, "==", "!=")))
		}
	}
	return expr(f.literal())
}

// init makes an initializer of t, whose values are expressions at most depth
// deep.
func (f *fn) init(t *ctype, depth int) *Node {
	return f.initWith(t, func() *Node { return f.expr(depth) })
}

// constInit makes an initializer of constants.
func (g *gen) constInit(t *ctype) *Node {
	f := &fn{gen: g}
	return f.initWith(t, func() *Node {
		switch g.r.IntN(6) {
		case 0:
			return expr("(" + f.literal() + " " + choose(g, "+", "-", "*", "|") + " " + f.literal() + ")")
		case 1:
			return expr("sizeof(" + choose(g, g.structs...).name + ")")
		}
		return expr(f.literal())
	})
}

func (f *fn) initWith(t *ctype, value func() *Node) *Node {
	if t.scalar() {
		return value()
	}
	init := &Node{Text: "{ "}
	add := func(label string, t *ctype) {
		init.Text += fmt.Sprintf("%s$%d, ", label, len(init.Kids))
		init.Kids = append(init.Kids, f.initWith(t, value))
	}
	switch {
	case t.kind == cArray && t.elem == u8 && t.n == 8 && f.oneIn(2):
		return node("\"bytes\"")
	case t.kind == cArray && f.oneIn(3):
		add(fmt.Sprintf("[%d] = ", f.r.IntN(t.n)), t.elem)
	case t.kind == cArray:
		for range 1 + f.r.IntN(t.n) {
			add("", t.elem)
		}
	case t.kind == cUnion:
		// The widest member: of the bytes beside a narrower one nothing is known.
		widest := t.fields[0]
		for _, m := range t.fields {
			if m.typ.size() > widest.typ.size() {
				widest = m
			}
		}
		add("."+widest.name+" = ", widest.typ)
	case f.oneIn(3):
		for _, i := range f.r.Perm(len(t.fields))[:1+f.r.IntN(len(t.fields))] {
			add("."+t.fields[i].name+" = ", t.fields[i].typ)
		}
	default:
		for _, m := range t.fields[:1+f.r.IntN(len(t.fields))] {
			add("", m.typ)
		}
	}
	init.Text += "}"
	return init
}
