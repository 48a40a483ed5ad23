package pass

import "github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"

// maxRewrites bounds how often one value is rewritten in one sweep. Every rule
// makes its value simpler, so that the bound only guards against two rules that
// undo each other.
const maxRewrites = 16

// combine computes constants and rewrites values to simpler ones that compute
// the same. Its rules look at a value and at what it reads, a few steps deep.
//
// What is compared stays what is used: no rule makes the check of a bound and
// the use of what was checked read different values, because the verifier only
// learns about the one that is compared.
func combine(f *ir.Func) bool {
	c := combiner{f: f, replaced: ir.NewReplacement(f)}
	changed := false
	for range 4 {
		c.uses = f.Uses()
		c.changed = false
		for _, b := range f.Blocks {
			c.sweep(b)
		}
		if !c.changed {
			break
		}
		c.replaced.Apply(f) // values that stand before what replaces an argument
		changed = true
	}
	return changed
}

type combiner struct {
	f        *ir.Func
	replaced *ir.Replacement
	uses     []int // by ID: readers before the sweep, and those that it has added
	block    *ir.Block
	out      []*ir.Value // of the block
	pos      ir.Pos      // of the value that is rewritten
	changed  bool
}

func (c *combiner) sweep(b *ir.Block) {
	c.block = b
	c.out = make([]*ir.Value, 0, len(b.Values))
	for _, v := range b.Values {
		resolve(c.replaced, v.Args)
		if w := c.simplify(v); w != v {
			c.replaced.Set(v, w)
			c.use([]*ir.Value{w}, c.readers(v))
			c.changed = true
			if isPure(v) || v.Op == ir.OpLoad { // which rules do not replace if volatile
				continue
			}
		}
		c.out = append(c.out, v)
	}
	resolve(c.replaced, b.Term.Args)
	for _, e := range b.Term.Succs {
		resolve(c.replaced, e.Args)
	}
	c.term(&b.Term)
	b.Values = c.out
}

// resolve puts into args what stands for them.
func resolve(r *ir.Replacement, args []*ir.Value) {
	for i, a := range args {
		args[i] = r.Get(a)
	}
}

// simplify rewrites v until no rule holds, and returns the value to read in its
// place: itself or another one.
func (c *combiner) simplify(v *ir.Value) *ir.Value {
	c.pos = v.Pos
	for range maxRewrites {
		w := c.rule(v)
		switch {
		case w == nil:
			return v
		case w != v:
			return w
		}
		c.changed = true
	}
	return v
}

// rule applies the first rule that holds of v. It returns nil if none does, v if
// it has changed v in place, and otherwise what stands for v.
func (c *combiner) rule(v *ir.Value) *ir.Value {
	switch v.Op {
	case ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpUDiv, ir.OpSDiv, ir.OpUMod, ir.OpSMod,
		ir.OpAnd, ir.OpOr, ir.OpXor, ir.OpShl, ir.OpLShr, ir.OpAShr:
		return c.binary(v)
	case ir.OpCmp:
		return c.compare(v)
	case ir.OpZext:
		return c.zext(v)
	case ir.OpSext:
		return c.sext(v)
	case ir.OpTrunc:
		return c.trunc(v)
	case ir.OpSextIn:
		return c.sextIn(v)
	case ir.OpBswap:
		return c.bswap(v)
	case ir.OpPtrToInt:
		return c.ptrToInt(v)
	case ir.OpIntToPtr:
		return c.intToPtr(v)
	case ir.OpLoad, ir.OpStore, ir.OpAtomic:
		return c.access(v)
	}
	return nil
}

// term rewrites what decides where a block goes.
func (c *combiner) term(t *ir.Term) {
	if t.Kind != ir.TermIf {
		return
	}
	for x := t.Args[0]; ; x = t.Args[0] {
		switch {
		case x.Op == ir.OpZext, x.Op == ir.OpSext:
			t.Args[0] = x.Args[0]
			c.use(t.Args, 1)
		case x.Op == ir.OpTrunc && hasZeroHalf(x.Args[0]):
			t.Args[0] = x.Args[0]
			c.use(t.Args, 1)
		default:
			return
		}
		c.changed = true
	}
}

// emit puts a new value before the one that is rewritten. It is simplified
// itself, which the rules may rely on.
func (c *combiner) emit(op ir.Op, t ir.Type, args ...*ir.Value) *ir.Value {
	return c.emitValue(c.f.NewValue(op, t, args...))
}

func (c *combiner) emitValue(v *ir.Value) *ir.Value {
	v.Pos, v.Block = c.pos, c.block
	c.use(v.Args, 1)
	if w := c.simplify(v); w != v {
		return w
	}
	c.out = append(c.out, v)
	c.changed = true
	return v
}

// constant returns a constant before the value that is rewritten.
func (c *combiner) constant(t ir.Type, x int64) *ir.Value {
	v := c.f.NewValue(ir.OpConst, t)
	v.Imm, v.Pos, v.Block = normal(t, x), c.pos, c.block
	c.out = append(c.out, v)
	return v
}

// become changes v in place.
func (c *combiner) become(v *ir.Value, op ir.Op, args ...*ir.Value) *ir.Value {
	c.use(args, 1)
	c.use(v.Args, -1)
	v.Op, v.Args = op, args
	return v
}

// setArg has v read x as operand i.
func (c *combiner) setArg(v *ir.Value, i int, x *ir.Value) *ir.Value {
	c.use([]*ir.Value{x}, 1)
	c.use(v.Args[i:i+1], -1)
	v.Args[i] = x
	return v
}

// use notes n more readers of each of vs. A value may have fewer readers than
// are counted, such as one that was removed, but never more.
func (c *combiner) use(vs []*ir.Value, n int) {
	for _, v := range vs {
		if more := v.ID + 1 - len(c.uses); more > 0 {
			c.uses = append(c.uses, make([]int, more)...)
		}
		c.uses[v.ID] += n
	}
}

// readers returns how many readers of v are counted.
func (c *combiner) readers(v *ir.Value) int {
	if v.ID >= len(c.uses) {
		return 0
	}
	return c.uses[v.ID]
}

// single says whether v has one reader, which is the value that is rewritten.
func (c *combiner) single(v *ir.Value) bool {
	return c.readers(v) <= 1
}

// constOf returns the number that v is.
func constOf(v *ir.Value) (int64, bool) {
	return v.Imm, v.Op == ir.OpConst
}

// isConst says whether v is the number x.
func isConst(v *ir.Value, x int64) bool {
	return v.Op == ir.OpConst && v.Imm == x
}

// isImm32 says whether an instruction can hold x.
func isImm32(x int64) bool { return x == int64(int32(x)) }
