package pass

import "github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"

// Copies and fills of up to so many accesses become loads and stores here, where
// other passes see them; larger ones are left to lower. A move has to read
// everything before it writes, and there are few registers.
const (
	maxBulkAccesses = 16
	maxMoveAccesses = 4
)

// memops makes loads and stores of small copies, moves and fills: the widest
// ones that the alignment allows.
func memops(f *ir.Func) bool {
	changed := false
	for _, b := range f.Blocks {
		m := expander{f: f, block: b}
		for _, v := range b.Values {
			if m.expand(v) {
				changed = true
			} else {
				m.out = append(m.out, v)
			}
		}
		b.Values = m.out
	}
	return changed
}

type expander struct {
	f     *ir.Func
	block *ir.Block
	out   []*ir.Value
}

// An extent is one access of a copy: its offset and size.
type extent struct{ at, size int }

// extents cuts size bytes, which start at a multiple of align, into accesses.
func extents(size, align int) []extent {
	var es []extent
	for at := 0; at < size; {
		n := alignAt(align, 0)
		for n > size-at {
			n /= 2
		}
		es = append(es, extent{at, n})
		at += n
	}
	return es
}

// expand writes what v does as loads and stores, if it is small.
func (m *expander) expand(v *ir.Value) bool {
	switch v.Op {
	case ir.OpCopy, ir.OpMove, ir.OpSet:
	default:
		return false
	}
	limit := maxBulkAccesses
	if v.Op == ir.OpMove {
		limit = maxMoveAccesses
	}
	if v.Op != ir.OpSet && v.Args[0] == v.Args[1] {
		return true
	}
	es := extents(min(v.Size, 8*limit+1), v.Align)
	if len(es) > limit {
		return false
	}
	switch v.Op {
	case ir.OpCopy:
		for _, e := range es {
			m.store(v, e, m.load(v, e))
		}
	case ir.OpMove:
		loads := make([]*ir.Value, len(es))
		for i, e := range es {
			loads[i] = m.load(v, e)
		}
		for i, e := range es {
			m.store(v, e, loads[i])
		}
	case ir.OpSet:
		fill, ok := constOf(v.Args[1])
		if !ok {
			return false
		}
		for _, e := range es {
			c := m.emit(v, ir.OpConst, accessType(e.size))
			c.Imm = normal(c.Type, repeatByte(fill)&int64(sizeMask(e.size)))
			m.store(v, e, c)
		}
	}
	return true
}

// accessType is the type of a value of size bytes.
func accessType(size int) ir.Type {
	if size == 8 {
		return ir.I64
	}
	return ir.I32
}

func (m *expander) load(v *ir.Value, e extent) *ir.Value {
	l := m.emit(v, ir.OpLoad, accessType(e.size), v.Args[1])
	l.Imm, l.Size, l.Align = int64(e.at), e.size, alignAt(v.Align, e.at)
	return l
}

func (m *expander) store(v *ir.Value, e extent, value *ir.Value) {
	s := m.emit(v, ir.OpStore, ir.Void, v.Args[0], value)
	s.Imm, s.Size, s.Align = int64(e.at), e.size, alignAt(v.Align, e.at)
}

func (m *expander) emit(at *ir.Value, op ir.Op, t ir.Type, args ...*ir.Value) *ir.Value {
	v := m.f.NewValue(op, t, args...)
	v.Pos, v.Block = at.Pos, m.block
	m.out = append(m.out, v)
	return v
}
