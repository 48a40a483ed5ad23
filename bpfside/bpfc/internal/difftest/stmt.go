package difftest

import (
	"fmt"
	"slices"
)

// fn is the state of the function that is made.
type fn struct {
	*gen
	vars    []variable // visible, the innermost last
	decls   []*Node    // of locals that live as long as the function
	result  *ctype
	budget  int  // statements still to come
	pure    bool // writes nothing but its locals
	entry   bool // is the program itself
	context Context
	loops   int // that are around the statement
	work    int // how often the statement is run, at most
	labels  []string
	jumps   []string // "break;" and "continue;" where they are allowed
}

// body makes what stands before the last return of a function.
func (f *fn) body() *Node {
	f.work = max(f.work, 1)
	for range 2 + f.r.IntN(4) {
		f.local()
	}
	statements := f.statements(f.budget)
	return list(list(f.decls...), statements)
}

// local declares a variable that lives as long as the function.
func (f *fn) local() {
	v := variable{name: f.name("l"), typ: f.objectType(), local: true}
	qualifier := ""
	switch {
	case f.oneIn(10):
		v.volatile, qualifier = true, "volatile "
	case f.oneIn(10) && !f.pure:
		f.decls = append(f.decls, named(v.name, "static "+v.typ.decl(v.name)+" = $0;", f.constInit(v.typ)))
		f.vars = append(f.vars, v)
		return
	}
	f.decls = append(f.decls, named(v.name, qualifier+v.typ.decl(v.name)+" = $0;", f.init(v.typ, 1)))
	f.vars = append(f.vars, v)
}

// statements makes a list of at most n statements, in a scope of its own.
func (f *fn) statements(n int) *Node {
	visible := len(f.vars)
	l := list()
	for range n {
		if f.budget <= 0 {
			break
		}
		f.budget--
		l.Kids = append(l.Kids, f.statement())
	}
	f.vars = f.vars[:visible]
	return l
}

// block makes the statements within another statement.
func (f *fn) block() *Node { return f.statements(1 + f.r.IntN(4)) }

func (f *fn) statement() *Node {
	for {
		if n := f.tryStatement(); n != nil {
			return n
		}
	}
}

// tryStatement makes a statement, or returns nil if that kind is not possible
// here.
func (f *fn) tryStatement() *Node {
	switch f.r.IntN(46) {
	case 0, 1, 2, 3, 4, 5:
		place, _ := f.anyPlace(true, 2)
		return stmt("$0 = $1;", place, f.expr(3))
	case 6, 7, 8, 9:
		return f.compoundAssign()
	case 10, 11:
		place, _ := f.anyPlace(true, 2)
		return stmt(choose(f.gen, "$0++;", "++$0;", "$0--;", "--$0;"), place)
	case 12:
		return f.sideEffects()
	case 13, 14, 15, 16:
		return f.ifStatement()
	case 17, 18:
		return f.switchStatement()
	case 19, 20, 21, 22:
		return f.loop()
	case 23:
		return f.gotoStatement()
	case 24:
		return f.jump()
	case 25, 26:
		return f.scope()
	case 27, 28, 29:
		return f.callStatement()
	case 30, 31:
		return f.copyObject()
	case 32:
		return f.memoryBuiltin()
	case 33, 34, 35, 36:
		return f.mapStatement()
	case 37:
		return f.atomic()
	case 38:
		return f.callback()
	case 39, 40, 41:
		return f.pointer()
	case 42:
		return f.packet()
	case 43:
		return f.earlyReturn()
	}
	return nil
}

func (f *fn) compoundAssign() *Node {
	place, t := f.anyPlace(true, 2)
	switch op := choose(f.gen, "+=", "-=", "*=", "&=", "|=", "^=", "<<=", ">>=", "/=", "%="); op {
	case "<<=", ">>=":
		return stmt("$0 "+op+" ($1 & 7);", place, f.expr(2))
	case "/=", "%=":
		// Without sign, whatever the place is: an s64 wins over a u32.
		divisor := "((u64)$1 | 1);"
		if t.bits < 64 && f.oneIn(2) {
			divisor = "((u32)$1 | 1);"
		}
		return stmt("$0 "+op+" "+divisor, place, f.expr(2))
	default:
		return stmt("$0 "+op+" $1;", place, f.expr(3))
	}
}

// localInt returns an integer local that can be written, or "".
func (f *fn) localInt() string {
	var names []string
	for _, v := range f.vars {
		if v.local && !v.readOnly && !v.volatile && !v.deref && v.typ.scalar() {
			names = append(names, v.name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return choose(f.gen, names...)
}

// sideEffects assigns to two variables in one statement, where C fixes the order.
func (f *fn) sideEffects() *Node {
	a, b := f.localInt(), f.localInt()
	if a == b {
		return nil
	}
	x, y := f.expr(2), f.expr(2)
	return choose(f.gen,
		stmt(a+" = "+b+" = $0;", x),
		stmt(a+" = "+b+"++;"),
		stmt(a+" = --"+b+";"),
		stmt(a+" = ("+b+" = $0, $1);", x, y),
		stmt(a+" = ("+b+" += $0);", x),
		stmt("if ($0 && ("+b+" = $1))\n"+a+"++;", x, y),
		stmt("if (!("+b+"++ & 1) || ("+a+" = $0) > 5)\n"+b+" ^= $1;", x, y),
		stmt("$0 ? ("+a+" = $1) : ("+b+" = $1);", x, y))
}

func (f *fn) ifStatement() *Node {
	cond := f.expr(2)
	switch f.r.IntN(4) {
	case 0:
		return stmt("if ($0) {\n$1\n} else {\n$2\n}", cond, f.block(), f.block())
	case 1:
		return stmt("if ($0) {\n$1\n} else if ($2) {\n$3\n} else {\n$4\n}", cond, f.block(), f.expr(2), f.block(), f.block())
	}
	return stmt("if ($0) {\n$1\n}", cond, f.block())
}

// within runs make where break, continue or both are allowed.
func (f *fn) within(jumps []string, make func()) {
	outer := f.jumps
	f.jumps = jumps
	make()
	f.jumps = outer
}

func (f *fn) switchStatement() *Node {
	jumps := slices.DeleteFunc(slices.Clone(f.jumps), func(s string) bool { return s == "break;" })
	jumps = append(jumps, "break;")
	var n *Node
	f.within(jumps, func() {
		switch f.r.IntN(4) {
		case 0:
			n = stmt("switch ($0 & 7) {\ncase 0:;\n$1\nbreak;\ncase 1:;\n$2\ncase 2:;\n$3\nbreak;\ncase 3 ... 5:;\n$4\nbreak;\ndefault:;\n$5\n}",
				f.expr(2), f.block(), f.block(), f.block(), f.block(), f.block())
		case 1:
			n = stmt("switch ("+choose(f.gen, "(u64)", "(s64)", "(u8)", "(s32)", "")+"$0) {\ncase 0:;\ncase 100:;\n$1\nbreak;\ncase -1:;\n$2\nbreak;\ncase 0x7f:;\n$3\n}",
				f.expr(2), f.block(), f.block(), f.block())
		case 2:
			n = stmt("switch ((u32)$0 % 5u) {\ndefault:;\n$1\nbreak;\ncase 4:;\n$2\ncase 1:;\n$3\nbreak;\n}",
				f.expr(2), f.block(), f.block(), f.block())
		case 3:
			place, _ := f.anyPlace(true, 1)
			n = stmt("switch ((u32)$0 >> 28) {\ncase 0: $1 = 5; break;\ncase 1: $1 = 17; break;\ncase 2: $1 = 3; break;\ncase 3: $1 = 99; break;\ncase 8 ... 12: $1 += 2; break;\ncase 15: $1 = 1; break;\n}",
				f.expr(2), place)
		}
	})
	return n
}

// loop makes a loop that ends after a few rounds whatever its body does.
func (f *fn) loop() *Node {
	if f.loops >= 2 || f.work > 16 {
		return nil
	}
	n := choose(f.gen, 2, 3, 4, 5, 8)
	f.loops, f.work = f.loops+1, f.work*n
	i := variable{name: f.name("i"), typ: choose(f.gen, u32, s32, u8, u64, s64), readOnly: true, local: true}
	visible := len(f.vars)
	f.vars = append(f.vars, i)
	var made *Node
	f.within([]string{"break;", "continue;", "continue;"}, func() {
		head := ""
		switch f.r.IntN(9) {
		case 0:
			head = fmt.Sprintf("for (%s = %d; %s > 0; %s--) {\n$0\n}", i.typ.decl(i.name), n, i.name, i.name)
		case 1:
			made = stmt(fmt.Sprintf("for (%s = 0; %s < (u32)($0 & 7); %s += 2) {\n$1\n}", i.typ.decl(i.name), i.name, i.name), f.expr(1), f.block())
		case 2:
			made = stmt(fmt.Sprintf("{\n%s = 0;\nwhile (%s++ < %d && $0) {\n$1\n}\n}", i.typ.decl(i.name), i.name, n), f.expr(2), f.block())
		case 3:
			made = stmt(fmt.Sprintf("{\n%s = 0;\ndo {\n$0\n} while (++%s < %d && $1);\n}", i.typ.decl(i.name), i.name, n), f.block(), f.expr(2))
		case 4:
			f.jumps = nil
			again := f.name("again")
			made = stmt(fmt.Sprintf("{\n%s = 0;\n%s:;\n$0\nif (%s++ < %d && $1)\ngoto %s;\n}", i.typ.decl(i.name), again, i.name, n, again), f.block(), f.expr(2))
		case 5:
			head = fmt.Sprintf("#pragma unroll\nfor (%s = 0; %s < %d; %s++) {\n$0\n}", i.typ.decl(i.name), i.name, n, i.name)
		default:
			head = fmt.Sprintf("for (%s = 0; %s < %d; %s++) {\n$0\n}", i.typ.decl(i.name), i.name, n, i.name)
		}
		if made == nil {
			made = stmt(head, f.block())
		}
	})
	f.vars = f.vars[:visible]
	f.loops, f.work = f.loops-1, f.work/n
	return made
}

// gotoStatement jumps out of a block, maybe from deep within it.
func (f *fn) gotoStatement() *Node {
	label := f.name("out")
	f.labels = append(f.labels, label)
	head, cond, tail := f.block(), f.expr(2), f.block()
	f.labels = f.labels[:len(f.labels)-1]
	return stmt("{\n$0\nif ($1)\ngoto "+label+";\n$2\n"+label+":;\n}", head, cond, tail)
}

// jump leaves a loop, a switch or a block.
func (f *fn) jump() *Node {
	targets := slices.Clone(f.jumps)
	for _, l := range f.labels {
		targets = append(targets, "goto "+l+";")
	}
	if len(targets) == 0 {
		return nil
	}
	return stmt("if ($0)\n"+choose(f.gen, targets...), f.expr(2))
}

// scope declares variables in a block.
func (f *fn) scope() *Node {
	v := variable{name: f.name("b"), typ: f.objectType(), local: true}
	decl := named(v.name, v.typ.decl(v.name)+" = $0;", f.init(v.typ, 2))
	visible := len(f.vars)
	f.vars = append(f.vars, v)
	body := f.block()
	place, _ := f.anyPlace(true, 1)
	read, _ := f.place(v, 1)
	f.vars = f.vars[:visible]
	// What it wrote must not be named outside.
	return stmt("{\n$0\n$1\n$2\n}", decl, body, stmt("$0 += $1;", place, read))
}

// callStatement calls a function for its effects.
func (f *fn) callStatement() *Node {
	var callees []callee
	for _, c := range f.callees {
		if !f.pure || c.pure {
			callees = append(callees, c)
		}
	}
	if len(callees) == 0 || f.work > 32 {
		return nil
	}
	c := choose(f.gen, callees...)
	if f.pure && c.pointer != nil {
		return nil
	}
	call := f.call(c, 2)
	if call == nil {
		return nil
	}
	if !c.result.scalar() {
		to := f.object(c.result, true, false)
		if to == nil {
			return nil
		}
		return stmt("$0 = $1;", to, call)
	}
	if to := f.localInt(); to != "" && !f.oneIn(4) {
		return stmt(to+choose(f.gen, " = ", " += ", " ^= ")+"$0;", call)
	}
	return stmt("$0;", call)
}

// copyObject assigns an aggregate.
func (f *fn) copyObject() *Node {
	t := choose(f.gen, f.structs...)
	to := f.object(t, true, false)
	if to == nil {
		return nil
	}
	if f.oneIn(4) {
		return stmt("$0 = ("+t.name+")$1;", to, f.init(t, 2))
	}
	return stmt("$0 = $1;", to, f.object(t, false, false))
}

// memoryBuiltin copies or fills arrays of integers.
func (f *fn) memoryBuiltin() *Node {
	var arrays, writable []variable
	for _, v := range f.vars {
		if v.typ.kind != cArray || v.typ.elem.kind != cInt || v.volatile || v.constIndex {
			continue
		}
		arrays = append(arrays, v)
		if !v.readOnly {
			writable = append(writable, v)
		}
	}
	if len(writable) == 0 {
		return nil
	}
	to, from := choose(f.gen, writable...), choose(f.gen, arrays...)
	size := min(to.typ.size(), from.typ.size())
	switch {
	case f.oneIn(3):
		return stmt(fmt.Sprintf("__builtin_memset(%s, %d, %d);", to.object(), choose(f.gen, 0, 0xff, 0x5a), 1+f.r.IntN(to.typ.size())))
	case f.oneIn(4):
		return stmt(fmt.Sprintf("__builtin_memset(%s, $0, sizeof(%s));", to.object(), to.object()), f.expr(1))
	case to.name == from.name:
		if n := to.typ.elem.bits / 8; f.oneIn(2) {
			return stmt(fmt.Sprintf("__builtin_memmove(&%s[1], %s, %d);", to.object(), to.object(), to.typ.size()-n))
		}
		return stmt(fmt.Sprintf("__builtin_memmove(%s, &%s[1], %d);", to.object(), to.object(), to.typ.size()-to.typ.elem.bits/8))
	}
	return stmt(fmt.Sprintf("__builtin_memcpy(%s, %s, %d);", to.object(), from.object(), 1+f.r.IntN(size)))
}

// atomic changes an integer at once.
func (f *fn) atomic() *Node {
	if f.pure {
		return nil
	}
	var words []variable
	for _, v := range f.vars {
		t := v.typ
		if t.kind == cArray {
			t = t.elem
		}
		if t.kind == cInt && t.bits >= 32 && !v.readOnly && !v.constIndex && !v.local {
			words = append(words, v)
		}
	}
	to := f.localInt()
	if len(words) == 0 || to == "" {
		return nil
	}
	v := choose(f.gen, words...)
	place, t := f.place(v, 0)
	if f.NoFetch || f.oneIn(3) {
		return stmt("__sync_fetch_and_add(&$0, $1);", place, f.expr(2))
	}
	switch f.r.IntN(3) {
	case 0:
		op := choose(f.gen, "__sync_fetch_and_add", "__sync_fetch_and_and", "__sync_fetch_and_or", "__sync_fetch_and_xor", "__sync_lock_test_and_set")
		return stmt(to+" = "+op+"(&$0, ("+t.name+")$1);", place, f.expr(2))
	case 1:
		return stmt(to+" = __sync_val_compare_and_swap(&$0, ("+t.name+")$1, ("+t.name+")$2);", place, f.expr(1), f.expr(2))
	}
	return stmt(to+" = __sync_add_and_fetch(&$0, ("+t.name+")$1);", place, f.expr(2))
}

// pointer makes a pointer to something, and uses it.
func (f *fn) pointer() *Node {
	var targets []variable
	for _, v := range f.vars {
		if !v.readOnly && !v.volatile && !v.constIndex && !(f.pure && !v.local) {
			targets = append(targets, v)
		}
	}
	if len(targets) == 0 {
		return nil
	}
	v := choose(f.gen, targets...)
	p := variable{name: f.name("p"), typ: v.typ, deref: true, local: false}
	visible := len(f.vars)
	var decl *Node
	switch {
	case v.typ.kind == cArray:
		// A pointer to an element, which steps.
		p.typ = v.typ.elem
		decl = named(p.name, p.typ.name+" *"+p.name+" = &$0;", f.index(node(v.object()), v.typ, false, 1))
		if f.oneIn(2) {
			n := f.r.IntN(v.typ.n)
			decl = named(p.name, fmt.Sprintf("%s *%s = %s + %d;\n%s -= %d;", p.typ.name, p.name, v.object(), n, p.name, f.r.IntN(n+1)))
		}
	default:
		decl = named(p.name, v.typ.name+" *"+p.name+" = &"+v.object()+";")
		// Another object, by a condition: both in memory of one kind.
		for _, w := range targets {
			if w.typ == v.typ && w.name != v.name && !w.deref && !v.deref && w.local == v.local && f.oneIn(2) {
				decl = named(p.name, v.typ.name+" *"+p.name+" = $0 ? &"+v.name+" : &"+w.name+";", f.expr(2))
				break
			}
		}
	}
	f.vars = append(f.vars, p)
	place, _ := f.place(p, 1)
	body := list(stmt("$0 = $1;", place, f.expr(2)))
	body.Kids = append(body.Kids, f.block().Kids...)
	f.vars = f.vars[:visible]
	return stmt("{\n$0\n$1\n}", decl, body)
}

// packet reads, and of XDP writes, the packet.
func (f *fn) packet() *Node {
	if !f.entry {
		return nil
	}
	switch f.context {
	case Socket:
		v := variable{name: f.name("b"), typ: &ctype{kind: cArray, name: "u8", elem: u8, n: 8}, local: true}
		visible := len(f.vars)
		f.vars = append(f.vars, v)
		body := f.block()
		f.vars = f.vars[:visible]
		return stmt(fmt.Sprintf("{\nu8 %s[8] = {};\nif (bpf_skb_load_bytes(ctx, $0 & 15, %s, 8) == 0) {\n$1\n}\n}", v.name, v.name), f.expr(1), body)
	case XDP:
		v := variable{name: f.name("b"), typ: choose(f.gen, append([]*ctype{u8, u16, u32, u64}, f.structs...)...), deref: true, constIndex: true}
		if v.typ.hasBool() {
			v.typ = u32
		}
		visible := len(f.vars)
		f.vars = append(f.vars, v)
		body := f.block()
		f.vars = f.vars[:visible]
		return stmt(fmt.Sprintf("{\nvoid *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;\n%s *%s = data + %d;\nif ((void *)(%s + 1) <= end) {\n$0\n}\n}",
			v.typ.name, v.name, choose(f.gen, 0, 8, 14, 20), v.name), body)
	}
	return nil
}

func (f *fn) earlyReturn() *Node {
	if !f.result.scalar() || f.entry && !f.oneIn(3) {
		return nil
	}
	return stmt("if ($0)\nreturn $1;", f.expr(2), f.expr(2))
}
