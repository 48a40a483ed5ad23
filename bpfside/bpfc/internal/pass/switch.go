package pass

import (
	"cmp"
	"slices"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// linearCases is up to how many ranges of cases are compared one after the
// other. Above it a comparison that halves them first saves more time than the
// instructions it takes.
const linearCases = 4

// A caseRange is a run of cases that go the same way: lo to hi, as unsigned
// numbers of the switch's width.
type caseRange struct {
	lo, hi uint64
	edge   ir.Edge
}

// switches makes comparisons of each [ir.TermSwitch]: eBPF has no jump tables
// that older kernels would take. The value that is compared is the one that is
// switched on, so that the verifier learns what each way knows of it.
func switches(f *ir.Func) bool {
	changed := false
	for i := 0; i < len(f.Blocks); i++ {
		b := f.Blocks[i]
		if b.Term.Kind != ir.TermSwitch {
			continue
		}
		t := b.Term
		s := &switchTree{f: f, x: t.Args[0], other: t.Succs[0], pos: t.Pos}
		s.build(b, s.ranges(&t), 0, s.mask())
		changed = true
	}
	return changed
}

type switchTree struct {
	f     *ir.Func
	x     *ir.Value
	other ir.Edge // where no case fits
	pos   ir.Pos
}

// mask is the highest number of the switch's width.
func (s *switchTree) mask() uint64 {
	if s.x.Type == ir.I32 {
		return 1<<32 - 1
	}
	return 1<<64 - 1
}

// ranges returns the cases of t in order, neighbours that go the same way as one,
// without those that go where no case does.
func (s *switchTree) ranges(t *ir.Term) []caseRange {
	var list []caseRange
	for i, c := range t.Cases {
		if e := t.Succs[i+1]; !sameEdge(e, s.other) {
			n := uint64(c) & s.mask()
			list = append(list, caseRange{n, n, e})
		}
	}
	slices.SortFunc(list, func(a, b caseRange) int { return cmp.Compare(a.lo, b.lo) })
	var merged []caseRange
	for _, r := range list {
		if n := len(merged); n > 0 && merged[n-1].hi+1 == r.lo && sameEdge(merged[n-1].edge, r.edge) {
			merged[n-1].hi = r.hi
			continue
		}
		merged = append(merged, r)
	}
	return merged
}

// build ends b with the comparisons for list, where x is known to be from lo to
// hi.
func (s *switchTree) build(b *ir.Block, list []caseRange, lo, hi uint64) {
	if len(list) > linearCases {
		mid := list[len(list)/2]
		below, above := s.f.NewBlock(), s.f.NewBlock()
		s.branch(b, ir.ULT, mid.lo, ir.Edge{To: below}, ir.Edge{To: above})
		s.build(below, list[:len(list)/2], lo, mid.lo-1)
		s.build(above, list[len(list)/2:], mid.lo, hi)
		return
	}
	for i, r := range list {
		last := i == len(list)-1
		switch {
		case r.lo == lo && r.hi == hi:
			// Nothing else is possible.
			b.Term = ir.Term{Kind: ir.TermJump, Succs: []ir.Edge{r.edge}, Pos: s.pos}
			return
		case r.lo == r.hi:
			b = s.test(b, ir.EQ, r.lo, r.edge, last)
			if r.lo == lo {
				lo++
			}
		case r.lo == lo:
			b = s.test(b, ir.ULE, r.hi, r.edge, last)
			lo = r.hi + 1
		case r.hi == hi:
			b = s.test(b, ir.UGE, r.lo, r.edge, last)
			hi = r.lo - 1
		default:
			in := s.f.NewBlock()
			next := s.other
			var rest *ir.Block
			if !last {
				rest = s.f.NewBlock()
				next = ir.Edge{To: rest}
			}
			s.branch(b, ir.UGE, r.lo, ir.Edge{To: in}, next)
			s.branch(in, ir.ULE, r.hi, r.edge, next)
			b = rest
		}
	}
	if len(list) == 0 {
		b.Term = ir.Term{Kind: ir.TermJump, Succs: []ir.Edge{s.other}, Pos: s.pos}
	}
}

// test ends b with a branch to e if x has cond to n, and returns the block for
// what follows if not: nil after the last.
func (s *switchTree) test(b *ir.Block, cond ir.Cond, n uint64, e ir.Edge, last bool) *ir.Block {
	if last {
		s.branch(b, cond, n, e, s.other)
		return nil
	}
	rest := s.f.NewBlock()
	s.branch(b, cond, n, e, ir.Edge{To: rest})
	return rest
}

// branch ends b with a comparison of x and n.
func (s *switchTree) branch(b *ir.Block, cond ir.Cond, n uint64, yes, no ir.Edge) {
	c := s.f.NewValue(ir.OpConst, s.x.Type)
	c.Imm = int64(n)
	if s.x.Type == ir.I32 {
		c.Imm = int64(int32(n))
	}
	c.Pos = s.pos
	v := s.f.NewValue(ir.OpCmp, ir.I32, s.x, b.Append(c))
	v.Cond, v.Pos = cond, s.pos
	b.Append(v)
	// Several edges may go one way: each has its arguments for itself.
	yes.Args, no.Args = slices.Clone(yes.Args), slices.Clone(no.Args)
	b.Term = ir.Term{Kind: ir.TermIf, Args: []*ir.Value{v}, Succs: []ir.Edge{yes, no}, Pos: s.pos}
}
