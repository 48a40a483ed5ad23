package lower

import (
	"math/rand/v2"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// The context of a random program: it reads the first half and writes the other.
const (
	ctxIn   = 64
	ctxSize = 256
)

// randomModule makes a module of a program of type syscall and a function that
// it calls. The program has no undefined behaviour, and ends.
func randomModule(seed uint64, levels int) *ir.Module {
	g := &generator{r: rand.New(rand.NewPCG(seed, 1)), cpu: levels}
	callee := &ir.Func{Name: "callee", Result: ir.I32, Linkage: ir.Static}
	b := callee.NewBlock()
	g.f, g.b = callee, b
	x, y := b.NewParam(ir.I64, "x"), b.NewParam(ir.I32, "y")
	g.vals = []*ir.Value{x, y}
	for range 5 {
		g.arith()
	}
	b.Term = ir.Term{Kind: ir.TermRet, Args: []*ir.Value{g.pick(ir.I32)}}

	f := &ir.Func{Name: "prog", Section: "syscall", Result: ir.I32, Linkage: ir.External}
	g.f, g.b, g.callee = f, f.NewBlock(), callee
	g.ctx = g.b.NewParam(ir.Ptr, "ctx")
	g.vals = nil
	for range 3 {
		size := []int{4, 8, 12, 24, 40}[g.r.IntN(5)]
		a := g.f.NewValue(ir.OpAlloca, ir.Ptr)
		a.Size, a.Align = size, min(8, size&-size)
		g.b.Append(a)
		g.allocas = append(g.allocas, a)
	}
	zero := g.constant(ir.I32, 0)
	for _, a := range g.allocas {
		set := g.f.NewValue(ir.OpSet, ir.Void, a, zero)
		set.Size, set.Align = a.Size, a.Align
		g.b.Append(set)
	}
	for i := range 2 + g.r.IntN(10) {
		t := []ir.Type{ir.I32, ir.I64}[i%2]
		g.vals = append(g.vals, g.load(g.ctx, int64(8*i%ctxIn), t))
	}
	g.body(2 + g.r.IntN(2))
	// What is alive goes to the context.
	for i, v := range g.vals {
		if off := ctxIn + 8*i; off+8 <= ctxSize-48 {
			g.store(g.ctx, int64(off), v, v.Type.Size())
		}
	}
	a := g.allocas[0]
	c := g.f.NewValue(ir.OpCopy, ir.Void, g.add(g.ctx, ctxSize-48), a)
	c.Size, c.Align = a.Size, a.Align
	g.b.Append(c)
	g.b.Term = ir.Term{Kind: ir.TermRet, Args: []*ir.Value{g.pick(ir.I32)}}
	return &ir.Module{Name: "random.c", Funcs: []*ir.Func{callee, f}}
}

type generator struct {
	r       *rand.Rand
	cpu     int
	f       *ir.Func
	b       *ir.Block
	ctx     *ir.Value
	callee  *ir.Func
	vals    []*ir.Value // that can be read in b
	allocas []*ir.Value
}

func (g *generator) constant(t ir.Type, n int64) *ir.Value {
	v := g.f.NewValue(ir.OpConst, t)
	v.Imm = n
	if t == ir.I32 {
		v.Imm = int64(int32(n))
	}
	return g.b.Append(v)
}

func (g *generator) add(p *ir.Value, off int64) *ir.Value {
	return g.b.Append(g.f.NewValue(ir.OpAdd, ir.Ptr, p, g.constant(ir.I64, off)))
}

func (g *generator) load(p *ir.Value, off int64, t ir.Type) *ir.Value {
	v := g.f.NewValue(ir.OpLoad, t, p)
	v.Imm, v.Size = off, 1<<g.r.IntN(3)
	if t == ir.I64 {
		v.Size = 1 << g.r.IntN(4)
	}
	v.Align, v.Signed = v.Size, g.r.IntN(2) == 0
	return g.b.Append(v)
}

func (g *generator) store(p *ir.Value, off int64, x *ir.Value, size int) {
	v := g.f.NewValue(ir.OpStore, ir.Void, p, x)
	v.Imm, v.Size, v.Align = off, size, size
	g.b.Append(v)
}

var odd = []int64{0, 1, -1, 2, 3, 7, 8, 255, 256, -256, 1 << 15, 1 << 31, -1 << 31, 1<<31 - 1,
	1<<32 - 1, 1 << 32, 1<<63 - 1, -1 << 63, 0x123456789abcdef}

// pick returns a value of the type, often one of those that were made last.
func (g *generator) pick(t ir.Type) *ir.Value {
	for range 8 {
		if len(g.vals) == 0 {
			break
		}
		v := g.vals[len(g.vals)-1-min(g.r.IntN(len(g.vals)), g.r.IntN(len(g.vals)))]
		if v.Type == t {
			return v
		}
	}
	n := odd[g.r.IntN(len(odd))]
	if g.r.IntN(3) == 0 {
		n = int64(g.r.Uint64())
	}
	return g.constant(t, n)
}

// arith appends an operation.
func (g *generator) arith() {
	t := []ir.Type{ir.I32, ir.I64}[g.r.IntN(2)]
	other := ir.I32 + ir.I64 - t
	var v *ir.Value
	switch n := g.r.IntN(24); {
	case n < 13:
		op := ir.OpAdd + ir.Op(g.r.IntN(int(ir.OpAShr-ir.OpAdd)+1))
		v = g.f.NewValue(op, t, g.pick(t), g.pick(t))
	case n < 16:
		v = g.f.NewValue(ir.OpCmp, ir.I32, g.pick(t), g.pick(t))
		v.Cond = ir.EQ + ir.Cond(g.r.IntN(10))
	case n < 18 && other == ir.I32:
		v = g.f.NewValue([]ir.Op{ir.OpZext, ir.OpSext}[g.r.IntN(2)], ir.I64, g.pick(ir.I32))
	case n < 18:
		v = g.f.NewValue(ir.OpTrunc, ir.I32, g.pick(ir.I64))
	case n < 19:
		v = g.f.NewValue(ir.OpSextIn, t, g.pick(t))
		v.Size = 1 + g.r.IntN(2)
	case n < 20:
		v = g.f.NewValue(ir.OpBswap, t, g.pick(t))
		v.Size = []int{2, 4, 8}[g.r.IntN(t.Size()/4+1)]
	case n < 21:
		v = g.f.NewValue(ir.OpBarrier, t, g.pick(t))
	case n < 22 && len(g.allocas) > 0:
		a := g.allocas[g.r.IntN(len(g.allocas))]
		if g.r.IntN(2) == 0 {
			g.store(a, int64(4*g.r.IntN(a.Size/4)), g.pick(t), 1<<g.r.IntN(3))
			return
		}
		g.vals = append(g.vals, g.load(a, 0, ir.I32))
		return
	case len(g.allocas) > 0:
		g.memory()
		return
	default:
		v = g.f.NewValue(ir.OpMul, t, g.pick(t), g.pick(t))
	}
	g.vals = append(g.vals, g.b.Append(v))
}

// memory appends an atomic, a call, or an access with a variable index.
func (g *generator) memory() {
	a := g.allocas[g.r.IntN(len(g.allocas))]
	switch n := g.r.IntN(6); {
	case n < 2:
		t, size := ir.I32, 4
		if a.Size%8 == 0 && g.r.IntN(2) == 0 {
			t, size = ir.I64, 8
		}
		op := ir.AtomicAdd + ir.AtomicOp(g.r.IntN(6))
		if g.cpu < 3 {
			op = ir.AtomicAdd
		}
		args := []*ir.Value{a, g.pick(t)}
		if op == ir.AtomicCmpXchg {
			args = append(args, g.pick(t))
		}
		result := t
		if g.cpu < 3 || op < ir.AtomicXchg && g.r.IntN(2) == 0 {
			result = ir.Void
		}
		v := g.f.NewValue(ir.OpAtomic, result, args...)
		v.Atomic, v.Size, v.Align = op, size, size
		v.Imm = int64(size * g.r.IntN(a.Size/size))
		g.b.Append(v)
		if result != ir.Void {
			g.vals = append(g.vals, v)
		}
	case n < 4:
		v := g.f.NewValue(ir.OpCall, ir.I32, g.pick(ir.I64), g.pick(ir.I32))
		v.Sym = g.callee
		g.vals = append(g.vals, g.b.Append(v))
	case n < 5:
		// Within the object for each index.
		index := g.f.NewValue(ir.OpAnd, ir.I64, g.pick(ir.I64), g.constant(ir.I64, 3))
		g.b.Append(index)
		p := g.b.Append(g.f.NewValue(ir.OpAdd, ir.Ptr, a, index))
		v := g.f.NewValue(ir.OpLoad, ir.I32, p)
		v.Size, v.Align = 1, 1
		g.vals = append(g.vals, g.b.Append(v))
	default:
		from := g.allocas[g.r.IntN(len(g.allocas))]
		if from == a {
			return
		}
		v := g.f.NewValue([]ir.Op{ir.OpCopy, ir.OpMove}[g.r.IntN(2)], ir.Void, a, from)
		v.Size, v.Align = min(a.Size, from.Size), 4
		g.b.Append(v)
	}
}

// body appends code with branches and loops within each other.
func (g *generator) body(depth int) {
	for range 3 + g.r.IntN(12) {
		g.arith()
	}
	if depth == 0 {
		return
	}
	for range 1 + g.r.IntN(2) {
		if g.r.IntN(3) == 0 {
			g.loop(depth - 1)
		} else {
			g.branch(depth - 1)
		}
		for range g.r.IntN(4) {
			g.arith()
		}
	}
}

func (g *generator) condition() *ir.Value {
	t := []ir.Type{ir.I32, ir.I64}[g.r.IntN(2)]
	if g.r.IntN(4) == 0 {
		return g.pick(t)
	}
	x := g.pick(t)
	if g.r.IntN(4) == 0 {
		x = g.b.Append(g.f.NewValue(ir.OpAnd, t, x, g.pick(t)))
	}
	v := g.f.NewValue(ir.OpCmp, ir.I32, x, g.pick(t))
	v.Cond = ir.EQ + ir.Cond(g.r.IntN(10))
	if g.r.IntN(3) == 0 {
		v.Args[1] = g.constant(t, 0)
	}
	return g.b.Append(v)
}

// branch appends an if with an else, and a value for what each of them made.
func (g *generator) branch(depth int) {
	cond := g.condition()
	yes, no, after := g.f.NewBlock(), g.f.NewBlock(), g.f.NewBlock()
	g.b.Term = ir.Term{Kind: ir.TermIf, Args: []*ir.Value{cond}, Succs: []ir.Edge{{To: yes}, {To: no}}}
	types := []ir.Type{ir.I32, ir.I64, ir.I64}[:1+g.r.IntN(3)]
	outer := g.vals
	for _, b := range []*ir.Block{yes, no} {
		g.b, g.vals = b, append([]*ir.Value(nil), outer...)
		g.body(depth)
		g.jump(after, types)
	}
	g.b, g.vals = after, outer
	for _, t := range types {
		g.vals = append(g.vals, after.NewParam(t, ""))
	}
}

// jump ends the block with a jump that passes values of the types.
func (g *generator) jump(to *ir.Block, types []ir.Type, first ...*ir.Value) {
	args := first
	for _, t := range types {
		args = append(args, g.pick(t))
	}
	g.b.Term = ir.Term{Kind: ir.TermJump, Succs: []ir.Edge{{To: to, Args: args}}}
}

// loop appends a loop that runs a few times and passes values around, some of
// them to each other.
func (g *generator) loop(depth int) {
	types := []ir.Type{ir.I32, ir.I64, ir.I64, ir.I64}[:1+g.r.IntN(4)]
	head, body, after := g.f.NewBlock(), g.f.NewBlock(), g.f.NewBlock()
	g.jump(head, types, g.constant(ir.I32, 0))
	count := head.NewParam(ir.I32, "i")
	params := []*ir.Value{}
	for _, t := range types {
		params = append(params, head.NewParam(t, ""))
	}
	g.b = head
	outer := append(g.vals, params...)
	cmp := g.f.NewValue(ir.OpCmp, ir.I32, count, g.constant(ir.I32, int64(1+g.r.IntN(3))))
	cmp.Cond = ir.ULT
	head.Append(cmp)
	head.Term = ir.Term{Kind: ir.TermIf, Args: []*ir.Value{cmp}, Succs: []ir.Edge{{To: body}, {To: after}}}
	g.b, g.vals = body, append([]*ir.Value(nil), outer...)
	g.body(depth)
	next := g.b.Append(g.f.NewValue(ir.OpAdd, ir.I32, count, g.constant(ir.I32, 1)))
	if g.r.IntN(2) == 0 && len(params) > 2 {
		// The parameters change places.
		args := []*ir.Value{next, g.pick(ir.I32), params[2], params[1]}
		if len(params) == 4 {
			args = []*ir.Value{next, params[0], params[3], params[1], params[2]}
		}
		g.b.Term = ir.Term{Kind: ir.TermJump, Succs: []ir.Edge{{To: head, Args: args[:1+len(params)]}}}
	} else {
		g.jump(head, types, next)
	}
	g.b, g.vals = after, outer
}
