package front

import (
	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// An __int128 is in no register. Programs have it for IPv6 addresses, which they
// copy and compare: that much of it is supported, as of a struct of two words.

func isWide(t cc.Type) bool {
	return t.Kind() == cc.Int128 || t.Kind() == cc.UInt128
}

// inMemory reports whether a value of type t is an object of memory.
func inMemory(t cc.Type) bool { return isAggregate(t) || isWide(t) }

// object returns the value of e, of type t which is in memory, as an object.
func (g *body) object(e cc.ExpressionNode, t cc.Type) place {
	from := g.decay(g.typeOf(e))
	if !isWide(t) || isWide(from) {
		return g.lvalue(e)
	}
	p := g.temporary(t)
	if !isInteger(from) {
		g.badOperands(e, t, from, from)
		return p
	}
	low := g.widen(g.expr(e), underlying(from))
	high := g.number(ir.I64, 0)
	if isSigned(underlying(from)) {
		high = g.op(ir.OpAShr, low, 63)
	}
	for i, v := range []*ir.Value{low, high} {
		g.store(e, p.at(int64(8*i), g.basic(cc.ULong)), v)
	}
	return p
}

// halves returns the words of e, whose type is wide or becomes so.
func (g *body) halves(e cc.ExpressionNode, t cc.Type) (low, high *ir.Value) {
	p := g.object(e, t)
	word := g.basic(cc.ULong)
	return g.load(e, p.at(0, word)), g.load(e, p.at(8, word))
}

// wideDifference is 0 if x and y, of which one at least is wide, are equal.
func (g *body) wideDifference(x, y cc.ExpressionNode, t cc.Type) *ir.Value {
	xl, xh := g.halves(x, t)
	yl, yh := g.halves(y, t)
	return g.value(ir.OpOr, ir.I64, g.value(ir.OpXor, ir.I64, xl, yl), g.value(ir.OpXor, ir.I64, xh, yh))
}

// wideTruth is not 0 if e is not.
func (g *body) wideTruth(e cc.ExpressionNode) *ir.Value {
	low, high := g.halves(e, g.typeOf(e))
	return g.value(ir.OpOr, ir.I64, low, high)
}
