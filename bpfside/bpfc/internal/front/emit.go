package front

import (
	"math/bits"

	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// A body is the translation of one function. Values are appended to the block
// b, which always is one: code that nothing reaches gets a block without
// predecessors, for the passes to remove.
//
// What C calls an object is an [ir.OpAlloca] of the entry block, scalars and
// parameters too. The passes promote those whose address stays here.
type body struct {
	*unit
	f      *ir.Func
	b      *ir.Block
	at     ir.Pos    // of what is translated, for the values that it becomes
	result cc.Type   // of the function
	ret    *ir.Value // where a result that is an aggregate goes, else nil

	allocas   []*ir.Value // to be put before all others of the entry
	vars      map[*cc.Declarator]place
	statics   map[*cc.Declarator]staticDecl
	labels    map[label]*ir.Block
	crossings []crossing
	breaks    *ir.Block // where break goes
	conts     *ir.Block // where continue goes
	cases     *switchCases
	preserve  int // > 0 within __builtin_preserve_access_index
	readUser  int // > 0 within __builtin_read_user
}

// A staticDecl is where a variable of static storage is declared in a function.
type staticDecl struct {
	in *cc.Declaration
	id *cc.InitDeclarator
}

// atNode makes at the place of the values that follow.
func (g *body) atNode(n cc.Node) {
	g.at = g.pos(n)
	g.unit.at = g.at
}

// value appends an operation to the block.
func (g *body) value(op ir.Op, t ir.Type, args ...*ir.Value) *ir.Value {
	v := g.f.NewValue(op, t, args...)
	v.Pos = g.at
	return g.b.Append(v)
}

// number returns a constant of type t.
func (g *body) number(t ir.Type, n int64) *ir.Value {
	if t == ir.I32 {
		n = int64(int32(n))
	}
	v := g.value(ir.OpConst, t)
	v.Imm = n
	return v
}

func (g *body) compare(c ir.Cond, x, y *ir.Value) *ir.Value {
	v := g.value(ir.OpCmp, ir.I32, x, y)
	v.Cond = c
	return v
}

// alloca returns a new object of the frame.
func (g *body) alloca(size, align int, name string) *ir.Value {
	v := g.f.NewValue(ir.OpAlloca, ir.Ptr)
	v.Size, v.Align, v.Name, v.Pos = size, frameAlign(size, align), name, g.at
	v.Block = g.f.Entry()
	g.allocas = append(g.allocas, v)
	return v
}

// frameAlign returns the alignment of an object of the frame: what its type asks
// for, and enough to move it in words.
func frameAlign(size, align int) int {
	word := 1
	if size > 0 {
		word = min(8, 1<<(bits.Len(uint(size))-1))
	}
	return max(align, word)
}

// block makes a new block.
func (g *body) block() *ir.Block { return g.f.NewBlock() }

// enter goes on in b.
func (g *body) enter(b *ir.Block) { g.b = b }

// end ends the block.
func (g *body) end(t ir.Term) {
	t.Pos = g.at
	g.b.Term = t
}

// jump ends the block, giving args to the parameters of to.
func (g *body) jump(to *ir.Block, args ...*ir.Value) {
	g.end(ir.Term{Kind: ir.TermJump, Succs: []ir.Edge{{To: to, Args: args}}})
}

// branch ends the block: to yes if v, an I32 or I64, is not 0, else to no.
func (g *body) branch(v *ir.Value, yes, no *ir.Block, likely int8) {
	g.end(ir.Term{
		Kind: ir.TermIf, Args: []*ir.Value{v},
		Succs: []ir.Edge{{To: yes}, {To: no}}, Likely: likely,
	})
}

// dead ends the block where nothing follows, and goes on in one that nothing
// reaches.
func (g *body) dead() {
	g.enter(g.block())
}

// undefined stands for a value that a diagnostic was given for, or that C leaves
// open.
func (g *body) undefined(t ir.Type) *ir.Value {
	if t == ir.Void {
		return nil
	}
	return g.value(ir.OpUndef, t)
}

// refuse records a diagnostic and returns a value of type t in the place of what
// cannot be translated.
func (g *body) refuse(at cc.Node, t cc.Type, format string, args ...any) *ir.Value {
	g.errorf(at, format, args...)
	return g.undefined(g.valueType(t))
}

// valueType returns the type of a value of C type t in a register, Void of what
// is none.
func (g *body) valueType(t cc.Type) ir.Type {
	if !isScalar(t) && t.Kind() != cc.Array && t.Kind() != cc.Function {
		return ir.Void
	}
	return g.irType(g.decay(t))
}

// pointerAdd returns p + n bytes.
func (g *body) pointerAdd(p *ir.Value, n int64) *ir.Value {
	if n == 0 {
		return p
	}
	if p.Op == ir.OpGlobal {
		v := g.value(ir.OpGlobal, ir.Ptr)
		v.Sym, v.Imm = p.Sym, p.Imm+n
		return v
	}
	return g.value(ir.OpAdd, ir.Ptr, p, g.number(ir.I64, n))
}

// widen returns v, of C type t, as an I64.
func (g *body) widen(v *ir.Value, t cc.Type) *ir.Value {
	switch {
	case v.Type == ir.Ptr:
		return g.value(ir.OpPtrToInt, ir.I64, v)
	case v.Type == ir.I64:
		return v
	case v.Op == ir.OpConst && isSigned(t):
		return g.number(ir.I64, v.Imm)
	case v.Op == ir.OpConst:
		return g.number(ir.I64, int64(uint32(v.Imm)))
	case isSigned(t):
		return g.value(ir.OpSext, ir.I64, v)
	}
	return g.value(ir.OpZext, ir.I64, v)
}

// convert returns v, of the scalar type from, as one of type to: C11 6.3. A value
// of a type that is narrower than a register is always in its range there.
func (g *body) convert(at cc.Node, v *ir.Value, from, to cc.Type) *ir.Value {
	from, to = underlying(from), underlying(to)
	switch {
	case isVoid(to):
		return nil
	case v == nil && isScalar(from):
		return g.undefined(g.valueType(to)) // a diagnostic says why
	case from.Kind() == cc.InvalidKind || to.Kind() == cc.InvalidKind:
		return g.undefined(g.valueType(to)) // a diagnostic says why
	case isVoid(from):
		return g.refuse(at, to, "a value of type void cannot be used")
	case isWide(from) || isWide(to):
		return g.refuse(at, to, "%s is not supported but to copy and to compare for equality", wider(from, to))
	case !isScalar(to) || !isScalar(from):
		if t := floating(from, to); t != nil {
			return g.refuse(at, to, "%s is not supported: BPF has no floating point", t)
		}
		return g.refuse(at, to, "cannot convert %s to %s", from, to)
	case isPointer(from) && isPointer(to):
		return v
	case to.Kind() == cc.Bool:
		if from.Kind() == cc.Bool {
			return v
		}
		return g.compare(ir.NE, v, g.number(v.Type, 0))
	case isPointer(to):
		if v.Op == ir.OpConst && v.Imm == 0 {
			return g.number(ir.Ptr, 0)
		}
		return g.value(ir.OpIntToPtr, ir.Ptr, g.widen(v, from))
	case isPointer(from):
		v, from = g.value(ir.OpPtrToInt, ir.I64, v), g.basic(cc.ULong)
	}
	size, had := g.sizeof(to), g.sizeof(from)
	if size == 8 {
		return g.widen(v, from)
	}
	if v.Op == ir.OpConst {
		n := int64(int32(narrow(v.Imm, size, isSigned(to))))
		if v.Type == ir.I32 && v.Imm == n {
			return v
		}
		return g.number(ir.I32, n)
	}
	if v.Type == ir.I64 {
		v = g.value(ir.OpTrunc, ir.I32, v)
	}
	switch {
	case size == 4,
		had < size && !isSigned(from),
		had <= size && isSigned(from) == isSigned(to),
		from.Kind() == cc.Bool:
		return v // in its range already
	case isSigned(to):
		v = g.value(ir.OpSextIn, ir.I32, v)
		v.Size = size
		return v
	}
	return g.value(ir.OpAnd, ir.I32, v, g.number(ir.I32, 1<<(8*size)-1))
}

func wider(a, b cc.Type) cc.Type {
	if isWide(a) {
		return a
	}
	return b
}

// narrow returns the low bytes of n, extended.
func narrow(n int64, size int, signed bool) int64 {
	shift := 64 - 8*size
	if signed {
		return n << shift >> shift
	}
	return int64(uint64(n) << shift >> shift)
}

// floating returns the one of the types that is of a floating point number.
func floating(types ...cc.Type) cc.Type {
	for _, t := range types {
		if cc.IsFloatingPointType(t) || cc.IsComplexType(t) {
			return t
		}
	}
	return nil
}
