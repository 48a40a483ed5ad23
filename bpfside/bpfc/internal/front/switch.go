package front

import (
	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// maxRange is up to how many values "case lo ... hi" is a case for each; a larger
// one is a comparison.
const maxRange = 64

// switchCases collects the labels of a switch while its body is translated.
type switchCases struct {
	t      cc.Type // of what is compared
	other  *ir.Block
	values []int64
	blocks []*ir.Block // of the values
	seen   map[int64]bool
	ranges []caseRange
}

type caseRange struct {
	lo, hi int64
	to     *ir.Block
}

// add records the label s, which stands at b.
func (c *switchCases) add(g *body, s *cc.LabeledStatement, b *ir.Block) {
	if s.Case == cc.LabeledStatementDefault {
		if c.other != nil {
			g.errorf(s, "more than one default label in a switch")
		}
		c.other = b
		return
	}
	lo, ok := c.constant(g, s.ConstantExpression)
	if !ok {
		return
	}
	hi := lo
	if s.Case == cc.LabeledStatementRange {
		if hi, ok = c.constant(g, s.ConstantExpression2); !ok {
			return
		}
	}
	less := func(a, b int64) bool {
		if isSigned(c.t) {
			return a < b
		}
		return uint64(a) < uint64(b)
	}
	if less(hi, lo) {
		return // an empty range, as clang has it
	}
	if n := uint64(hi) - uint64(lo); n >= maxRange {
		c.ranges = append(c.ranges, caseRange{lo, hi, b})
		return
	}
	for v := lo; ; v++ {
		if c.seen[v] {
			g.errorf(s, "duplicate case %d", v)
			return
		}
		c.seen[v] = true
		c.values, c.blocks = append(c.values, v), append(c.blocks, b)
		if v == hi {
			return
		}
	}
}

// constant returns the value of a label in the type of the switch.
func (c *switchCases) constant(g *body, e cc.ExpressionNode) (int64, bool) {
	n, ok := g.constant(e)
	if !ok {
		g.errorf(e, "a case is not constant")
		return 0, false
	}
	return narrow(n, g.sizeof(c.t), isSigned(c.t)), true
}

func (g *body) switchStatement(s *cc.SelectionStatement) {
	t := g.typeOf(s.ExpressionList)
	if !isInteger(t) {
		g.badOperands(s.ExpressionList, t, t, t)
		return
	}
	wide := g.promoted(s.ExpressionList)
	v := g.convert(s.ExpressionList, g.expr(s.ExpressionList), t, wide)
	head, after := g.b, g.block()

	breaks, cases := g.breaks, g.cases
	c := &switchCases{t: wide, seen: map[int64]bool{}}
	g.breaks, g.cases = after, c
	g.dead()
	g.statement(s.Statement)
	g.jump(after)
	g.breaks, g.cases = breaks, cases

	g.enter(head)
	g.atNode(s)
	if c.other == nil {
		c.other = after
	}
	for _, r := range c.ranges {
		next := g.block()
		// lo <= v && v <= hi, in one comparison.
		d := g.value(ir.OpSub, v.Type, v, g.number(v.Type, r.lo))
		g.branch(g.compare(ir.ULE, d, g.number(v.Type, r.hi-r.lo)), r.to, next, 0)
		g.enter(next)
	}
	succs := []ir.Edge{{To: c.other}}
	for i, n := range c.values {
		if v.Type == ir.I32 {
			c.values[i] = int64(int32(n))
		}
		succs = append(succs, ir.Edge{To: c.blocks[i]})
	}
	if len(c.values) == 0 {
		g.jump(c.other)
	} else {
		g.end(ir.Term{Kind: ir.TermSwitch, Args: []*ir.Value{v}, Cases: c.values, Succs: succs})
	}
	g.enter(after)
}
