// Package irgen makes random modules that have one meaning and that the verifier
// takes: what the passes and lower make of one has to do the same.
//
// No function reads what nobody wrote, leaves its objects, or runs for long.
// Loops count, indexes are masked, and memory is written before anything reads
// it.
package irgen

import (
	"fmt"
	"math/rand/v2"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// ContextSize is how many bytes of the context a program reads and writes.
const ContextSize = 64

// Options of [Module]. The zero value has none of what is optional.
type Options struct {
	Values  int  // roughly how many a function has; 40 if it is 0
	Globals bool // variables of the section ".bss"
	Calls   bool // static functions, some of which may not be inlined
	Atomics bool // that return the old value, which CPU v3 has
	// Pointers has blocks and functions with parameters that point to objects,
	// and objects whose scope is a block.
	Pointers bool
	// Helpers has calls of the helper [Helper], which no kernel has.
	Helpers bool
}

// Helper is the number of a helper that may read and write the 16 bytes behind
// each pointer that it is given, and each global, and whose result depends on
// nothing else.
const Helper = 1 << 20

// Module returns a module whose last function is a program: of section
// "syscall", with a context of [ContextSize] bytes and an I32 result. All that
// the program finds out is in the result and in the globals.
func Module(r *rand.Rand, o Options) *ir.Module {
	if o.Values == 0 {
		o.Values = 40
	}
	m := &ir.Module{Name: "random"}
	if o.Globals {
		for i := range 1 + r.IntN(3) {
			m.Globals = append(m.Globals, &ir.Global{
				Name: fmt.Sprint("g", i), Section: ".bss", Linkage: ir.External,
				Size: objectSize, Align: 8,
			})
		}
	}
	if o.Calls {
		for i := range 1 + r.IntN(2) {
			f := &ir.Func{Name: fmt.Sprint("f", i), Linkage: ir.Static, Result: integer(r)}
			if r.IntN(2) == 0 {
				f.Inline = ir.InlineNever
			}
			build(r, o, m, f, o.Values/3)
		}
	}
	build(r, o, m, &ir.Func{Name: "prog", Section: "syscall", Linkage: ir.External, Result: ir.I32}, o.Values)
	return m
}

// objectSize is that of each object, in bytes: a power of two, so that a mask
// makes an index.
const objectSize = 16

func integer(r *rand.Rand) ir.Type {
	return []ir.Type{ir.I32, ir.I64}[r.IntN(2)]
}

// builder builds a function.
type builder struct {
	*rand.Rand
	o       Options
	m       *ir.Module
	f       *ir.Func
	b       *ir.Block // where the next value goes
	left    int       // how many values are wanted yet
	depth   int       // of blocks within each other
	loops   int       // of loops within each other
	scope   []*ir.Value
	objects []*ir.Value // pointers to objectSize bytes
	ctx     *ir.Value   // nil outside programs
}

func build(r *rand.Rand, o Options, m *ir.Module, f *ir.Func, values int) {
	g := &builder{Rand: r, o: o, m: m, f: f, left: values}
	g.b = f.NewBlock()
	if f.Section != "" {
		g.ctx = g.b.NewParam(ir.Ptr, "ctx")
	} else {
		for range 1 + r.IntN(3) {
			g.scope = append(g.scope, g.b.NewParam(integer(r), "x"))
		}
	}
	var frame []*ir.Value
	for range 1 + r.IntN(3) {
		frame = append(frame, g.b.Append(g.alloca()))
	}
	for _, p := range frame {
		g.initialize(p)
	}
	g.objects = append(g.objects, frame...)
	if g.ctx == nil && o.Pointers {
		for range r.IntN(3) {
			g.objects = append(g.objects, g.b.NewParam(ir.Ptr, "p"))
		}
	}
	for _, s := range m.Globals {
		v := f.NewValue(ir.OpGlobal, ir.Ptr)
		v.Sym = s
		g.objects = append(g.objects, g.b.Append(v))
	}
	if g.ctx != nil {
		for i := range 2 {
			v := g.value(ir.OpLoad, ir.I64, g.ctx)
			v.Size, v.Align, v.Imm = 8, 8, int64(8*i)
		}
	}
	for g.left > 0 {
		g.statement()
	}
	g.b.Term = ir.Term{Kind: ir.TermRet, Args: []*ir.Value{g.digest(f.Result)}}
	m.Funcs = append(m.Funcs, f)
}

func (g *builder) alloca() *ir.Value {
	p := g.f.NewValue(ir.OpAlloca, ir.Ptr)
	p.Size, p.Align = objectSize, 8
	return p
}

// object returns one of the objects.
func (g *builder) object() *ir.Value { return g.objects[g.IntN(len(g.objects))] }

// value appends a value to the block, which is in scope if it is a number.
func (g *builder) value(op ir.Op, t ir.Type, args ...*ir.Value) *ir.Value {
	v := g.b.Append(g.f.NewValue(op, t, args...))
	g.left--
	if t == ir.I32 || t == ir.I64 {
		g.scope = append(g.scope, v)
	}
	return v
}

// initialize writes each byte of the object p.
func (g *builder) initialize(p *ir.Value) {
	if g.IntN(2) == 0 {
		v := g.b.Append(g.f.NewValue(ir.OpSet, ir.Void, p, g.constant(ir.I32)))
		v.Size, v.Align = objectSize, 8
		return
	}
	for offset := int64(0); offset < objectSize; offset += 8 {
		v := g.b.Append(g.f.NewValue(ir.OpStore, ir.Void, p, g.constant(ir.I64)))
		v.Size, v.Align, v.Imm = 8, 8, offset
	}
}

// constant appends a constant, of those at which things tend to go wrong.
func (g *builder) constant(t ir.Type) *ir.Value {
	v := g.f.NewValue(ir.OpConst, t)
	switch g.IntN(4) {
	case 0:
		v.Imm = int64(g.IntN(16))
	case 1:
		v.Imm = -int64(g.IntN(16))
	case 2:
		v.Imm = int64(1)<<g.IntN(64) - int64(g.IntN(2))
	case 3:
		v.Imm = int64(g.Uint64())
	}
	if t == ir.I32 {
		v.Imm = int64(int32(v.Imm))
	}
	return g.b.Append(v)
}

// number returns a value of type t: one in scope if there is one.
func (g *builder) number(t ir.Type) *ir.Value {
	if g.IntN(5) > 0 {
		for range 8 {
			if len(g.scope) == 0 {
				break
			}
			// The latest are the likeliest, so that there are long chains.
			i := len(g.scope) - 1 - min(g.IntN(len(g.scope)), g.IntN(len(g.scope)))
			if g.scope[i].Type == t {
				return g.scope[i]
			}
		}
	}
	return g.constant(t)
}

// condition returns an I32 that is 0 or not.
func (g *builder) condition() *ir.Value {
	if g.IntN(6) == 0 {
		return g.number(ir.I32)
	}
	return g.compare()
}

func (g *builder) compare() *ir.Value {
	t := integer(g.Rand)
	v := g.value(ir.OpCmp, ir.I32, g.number(t), g.number(t))
	v.Cond = ir.EQ + ir.Cond(g.IntN(int(ir.SGE-ir.EQ)+1))
	return v
}

// statement appends something.
func (g *builder) statement() {
	switch n := g.IntN(20); {
	case n < 8:
		g.arithmetic()
	case n < 10:
		g.cast()
	case n < 11:
		g.compare()
	case n < 15:
		g.memory()
	case n < 16:
		g.call()
	case n < 18 && g.depth < 3:
		g.branch()
	case n < 19 && g.depth < 3:
		g.choose()
	case g.loops < 2:
		g.loop()
	}
}

func (g *builder) arithmetic() {
	t := integer(g.Rand)
	op := ir.OpAdd + ir.Op(g.IntN(int(ir.OpAShr-ir.OpAdd)+1))
	g.value(op, t, g.number(t), g.number(t))
}

func (g *builder) cast() {
	switch g.IntN(5) {
	case 0:
		g.value(ir.OpZext, ir.I64, g.number(ir.I32))
	case 1:
		g.value(ir.OpSext, ir.I64, g.number(ir.I32))
	case 2:
		g.value(ir.OpTrunc, ir.I32, g.number(ir.I64))
	case 3:
		t := integer(g.Rand)
		g.value(ir.OpSextIn, t, g.number(t)).Size = 1 + g.IntN(2)
	case 4:
		t := integer(g.Rand)
		g.value(ir.OpBswap, t, g.number(t)).Size = []int{2, 4, t.Size()}[g.IntN(3)]
	}
}

// place returns where an access of size bytes is: a pointer and an offset.
func (g *builder) place(size int) (*ir.Value, int64) {
	p := g.object()
	if g.IntN(4) > 0 {
		return p, int64(g.IntN(objectSize/size) * size)
	}
	// The verifier takes an index if it sees its bounds, which the and says.
	mask := g.f.NewValue(ir.OpConst, ir.I64)
	mask.Imm = int64(objectSize - size)
	g.b.Append(mask)
	i := g.b.Append(g.f.NewValue(ir.OpAnd, ir.I64, g.number(ir.I64), mask))
	return g.b.Append(g.f.NewValue(ir.OpAdd, ir.Ptr, p, i)), 0
}

func (g *builder) memory() {
	t := integer(g.Rand)
	size := 1 << g.IntN(3)
	if t == ir.I64 {
		size = 1 << g.IntN(4)
	}
	switch n := g.IntN(12); {
	case n < 4:
		p, offset := g.place(size)
		v := g.value(ir.OpLoad, t, p)
		v.Size, v.Align, v.Imm = size, size, offset
		v.Signed, v.Volatile = g.IntN(3) == 0, g.IntN(8) == 0
	case n < 8:
		p, offset := g.place(size)
		v := g.value(ir.OpStore, ir.Void, p, g.number(t))
		v.Size, v.Align, v.Imm = size, size, offset
		v.Volatile = g.IntN(8) == 0
	case n < 9:
		v := g.value(ir.OpMove, ir.Void, g.object(), g.object())
		v.Size, v.Align = 1+g.IntN(objectSize), 8
		if v.Args[0] != v.Args[1] && !g.o.Pointers {
			v.Op = ir.OpCopy // two pointers may be to one object, but not here
		}
	case n < 10:
		v := g.value(ir.OpSet, ir.Void, g.object(), g.constant(ir.I32))
		v.Size, v.Align = 1+g.IntN(objectSize), 8
	default:
		// The verifier takes atomics of the frame and of map values.
		v := g.f.NewValue(ir.OpAtomic, ir.Void, g.object(), g.number(t))
		v.Atomic = ir.AtomicAdd
		v.Size, v.Align = t.Size(), t.Size()
		v.Imm = int64(g.IntN(objectSize/v.Size) * v.Size)
		if g.o.Atomics {
			v.Atomic += ir.AtomicOp(g.IntN(int(ir.AtomicCmpXchg)))
			if v.Atomic == ir.AtomicCmpXchg {
				v.Args = append(v.Args, g.number(t))
			}
			if v.Atomic >= ir.AtomicXchg || g.IntN(2) == 0 {
				v.Type = t
				g.scope = append(g.scope, v)
			}
		}
		g.b.Append(v)
		g.left--
	}
}

func (g *builder) call() {
	if g.o.Helpers && g.IntN(2) == 0 {
		g.helper()
		return
	}
	if len(g.m.Funcs) == 0 || g.loops > 1 {
		g.arithmetic()
		return
	}
	f := g.m.Funcs[g.IntN(len(g.m.Funcs))]
	var args []*ir.Value
	for _, p := range f.Params() {
		args = append(args, g.argument(p.Type))
	}
	g.value(ir.OpCall, f.Result, args...).Sym = f
}

func (g *builder) helper() {
	var args []*ir.Value
	for range g.IntN(6) {
		if g.IntN(2) == 0 {
			args = append(args, g.object())
		} else {
			args = append(args, g.number(ir.I64))
		}
	}
	g.value(ir.OpHelper, ir.I64, args...).Imm = Helper
}

// argument returns a value of type t.
func (g *builder) argument(t ir.Type) *ir.Value {
	if t == ir.Ptr {
		return g.object()
	}
	return g.number(t)
}

// block fills a new block with a few statements, runs end, which ends it, and
// forgets the values that were made in it.
func (g *builder) block(b *ir.Block, end func()) {
	known, objects := len(g.scope), len(g.objects)
	g.b = b
	g.depth++
	if g.o.Pointers && g.IntN(3) == 0 {
		p := g.f.Entry().InsertBefore(0, g.alloca())
		g.b.Append(g.f.NewValue(ir.OpLife, ir.Void, p))
		g.initialize(p)
		g.objects = append(g.objects, p)
	}
	for range 1 + g.IntN(4) {
		g.statement()
	}
	g.depth--
	// What the next block is given does not point to what ends here.
	g.objects = g.objects[:objects]
	end()
	g.scope = g.scope[:known]
}

// to returns an edge to b with a value in scope for each parameter.
func (g *builder) to(b *ir.Block) ir.Edge {
	e := ir.Edge{To: b}
	for _, p := range b.Params {
		e.Args = append(e.Args, g.argument(p.Type))
	}
	return e
}

func (g *builder) jump(b *ir.Block) {
	g.b.Term = ir.Term{Kind: ir.TermJump, Succs: []ir.Edge{g.to(b)}}
}

// join returns a new block with up to two parameters, and maybe a pointer.
func (g *builder) join() *ir.Block {
	b := g.f.NewBlock()
	for range g.IntN(3) {
		b.NewParam(integer(g.Rand), "")
	}
	if g.o.Pointers && g.IntN(3) == 0 {
		b.NewParam(ir.Ptr, "")
	}
	return b
}

// enter goes on in b.
func (g *builder) enter(b *ir.Block) {
	g.b = b
	for _, p := range b.Params {
		if p.Type == ir.Ptr {
			g.objects = append(g.objects, p)
		} else {
			g.scope = append(g.scope, p)
		}
	}
}

// branch is an if, with or without an else.
func (g *builder) branch() {
	cond := g.condition()
	from, yes, after := g.b, g.f.NewBlock(), g.join()
	var no ir.Edge
	if g.IntN(2) == 0 {
		no = ir.Edge{To: g.f.NewBlock()}
	} else {
		no = g.to(after)
	}
	from.Term = ir.Term{
		Kind: ir.TermIf, Args: []*ir.Value{cond}, Succs: []ir.Edge{{To: yes}, no},
		Likely: int8(g.IntN(3) - 1),
	}
	g.block(yes, func() { g.jump(after) })
	if no.To != after {
		g.block(no.To, func() { g.jump(after) })
	}
	g.enter(after)
}

// choose is a switch.
func (g *builder) choose() {
	t := integer(g.Rand)
	x := g.number(t)
	from, after := g.b, g.join()
	term := ir.Term{Kind: ir.TermSwitch, Args: []*ir.Value{x}, Succs: []ir.Edge{g.to(after)}}
	n := int64(g.IntN(6)) - 3
	for range 1 + g.IntN(8) {
		term.Cases = append(term.Cases, n)
		n += 1 + int64(g.IntN(2)*g.IntN(3))
	}
	var last *ir.Block
	var blocks []*ir.Block
	for i := range term.Cases {
		if i == 0 || g.IntN(2) == 0 {
			last = g.f.NewBlock()
			blocks = append(blocks, last)
		}
		term.Succs = append(term.Succs, ir.Edge{To: last})
	}
	from.Term = term
	for i, b := range blocks {
		g.block(b, func() {
			if i+1 < len(blocks) && g.IntN(3) == 0 {
				g.jump(blocks[i+1]) // falls through
			} else {
				g.jump(after)
			}
		})
	}
	g.enter(after)
}

// loop runs a few times, unless it is left before.
func (g *builder) loop() {
	head, body, after := g.join(), g.f.NewBlock(), g.join()
	i := head.NewParam(ir.I32, "i")
	e := g.to(head)
	zero := g.f.NewValue(ir.OpConst, ir.I32)
	e.Args[len(e.Args)-1] = g.b.Append(zero)
	g.b.Term = ir.Term{Kind: ir.TermJump, Succs: []ir.Edge{e}}
	known, objects := len(g.scope), len(g.objects)
	g.enter(head)
	limit := g.f.NewValue(ir.OpConst, ir.I32)
	limit.Imm = int64(1 + g.IntN(5))
	g.b.Append(limit)
	more := g.value(ir.OpCmp, ir.I32, i, limit)
	more.Cond = ir.ULT
	g.b.Term = ir.Term{Kind: ir.TermIf, Args: []*ir.Value{more}, Succs: []ir.Edge{{To: body}, g.to(after)}}
	if g.IntN(4) == 0 {
		head.Unroll = []int{1, 4, ir.UnrollFull}[g.IntN(3)]
	}
	g.loops++
	g.block(body, func() {
		one := g.f.NewValue(ir.OpConst, ir.I32)
		one.Imm = 1
		g.b.Append(one)
		next := g.value(ir.OpAdd, ir.I32, i, one)
		back := g.to(head)
		back.Args[len(back.Args)-1] = next
		if g.IntN(3) > 0 {
			g.b.Term = ir.Term{Kind: ir.TermJump, Succs: []ir.Edge{back}}
			return
		}
		stop := g.condition()
		g.b.Term = ir.Term{Kind: ir.TermIf, Args: []*ir.Value{stop}, Succs: []ir.Edge{g.to(after), back}}
	})
	g.loops--
	g.scope, g.objects = g.scope[:known], g.objects[:objects]
	g.enter(after)
}

// digest makes one number of all that is in scope and in the frame.
func (g *builder) digest(t ir.Type) *ir.Value {
	sum := g.b.Append(g.f.NewValue(ir.OpConst, ir.I64))
	prime := g.b.Append(g.f.NewValue(ir.OpConst, ir.I64))
	prime.Imm = 0x100000001b3 // of FNV-1a
	add := func(v *ir.Value) {
		if v.Type == ir.I32 {
			v = g.b.Append(g.f.NewValue(ir.OpZext, ir.I64, v))
		}
		sum = g.b.Append(g.f.NewValue(ir.OpXor, ir.I64, sum, v))
		sum = g.b.Append(g.f.NewValue(ir.OpMul, ir.I64, sum, prime))
	}
	for _, v := range g.scope {
		add(v)
	}
	for _, p := range g.objects {
		for offset := int64(0); offset < objectSize; offset += 8 {
			v := g.f.NewValue(ir.OpLoad, ir.I64, p)
			v.Size, v.Align, v.Imm = 8, 8, offset
			add(g.b.Append(v))
		}
	}
	if t == ir.I64 {
		return sum
	}
	half := g.b.Append(g.f.NewValue(ir.OpConst, ir.I64))
	half.Imm = 32
	high := g.b.Append(g.f.NewValue(ir.OpLShr, ir.I64, sum, half))
	sum = g.b.Append(g.f.NewValue(ir.OpXor, ir.I64, sum, high))
	return g.b.Append(g.f.NewValue(ir.OpTrunc, ir.I32, sum))
}
