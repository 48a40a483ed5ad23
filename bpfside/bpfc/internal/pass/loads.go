package pass

import "github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"

// maxKnown bounds how many places of memory are remembered at a time.
const maxKnown = 48

// loads has what memory is known to hold read from the value that was loaded or
// stored there, rather than loaded once more: what a program has checked and
// reads again is then what it has checked, without which the verifier takes
// neither. Like a C compiler it believes nothing any more after a call, an
// atomic operation or a barrier, but of objects that those cannot know.
func loads(f *ir.Func) bool {
	f.RemoveUnreachable()
	l := loadTable{
		f:        f,
		memory:   newMemory(f),
		replaced: ir.NewReplacement(f),
		after:    make([][]content, f.NumIDs()),
		done:     make([]bool, f.NumIDs()),
	}
	dom := f.Dominators()
	l.preds = f.Preds()
	all, _ := f.Loops(dom)
	l.loops = make([]*ir.Loop, f.NumIDs())
	for _, loop := range all {
		l.loops[loop.Head.ID] = loop
	}
	for _, b := range dom.Order() {
		l.block(b)
	}
	if l.changed {
		l.replaced.Apply(f)
	}
	return l.changed
}

// A content is what memory holds at a place: the low bytes of a value.
type content struct {
	location
	value  *ir.Value
	loaded bool // the value is those bytes, extended, and no more
	signed bool // by their sign
}

type loadTable struct {
	f        *ir.Func
	memory   *memory
	replaced *ir.Replacement
	preds    [][]ir.Pred
	loops    []*ir.Loop  // by ID of the head
	after    [][]content // what is known at the end of a block, by its ID
	done     []bool
	changed  bool

	at    *ir.Block
	out   []*ir.Value
	known []content
}

func (l *loadTable) block(b *ir.Block) {
	l.at, l.out = b, make([]*ir.Value, 0, len(b.Values))
	l.known = l.before(b)
	for _, v := range b.Values {
		resolve(l.replaced, v.Args)
		switch v.Op {
		case ir.OpLoad:
			if !v.Volatile && l.load(v) {
				l.changed = true
				continue
			}
		case ir.OpStore:
			if l.isStored(v) {
				l.changed = true
				continue
			}
			l.forget(v)
			if !v.Volatile {
				l.remember(content{location: locationOf(v), value: v.Args[1]})
			}
		default:
			l.forget(v)
		}
		l.out = append(l.out, v)
	}
	b.Values = l.out
	l.after[b.ID], l.done[b.ID] = l.known, true
}

// before returns what is known where b begins: what is at the ends of all blocks
// before it, and in a loop what nothing there changes.
func (l *loadTable) before(b *ir.Block) []content {
	var known []content
	first := true
	for _, p := range l.preds[b.ID] {
		switch {
		case l.done[p.From.ID]:
			if first {
				known = append(known, l.after[p.From.ID]...)
				first = false
			} else {
				known = common(known, l.after[p.From.ID])
			}
		case l.loops[b.ID] == nil || !l.loops[b.ID].Contains(p.From):
			return nil // a cycle that is no loop
		}
	}
	if loop := l.loops[b.ID]; loop != nil {
		for _, in := range loop.Blocks {
			for _, v := range in.Values {
				if len(known) == 0 {
					return nil
				}
				known = l.without(known, v)
			}
		}
	}
	return known
}

// common returns what is in both, which becomes a's.
func common(a, b []content) []content {
	kept := a[:0]
	for _, c := range a {
		for _, d := range b {
			if c == d {
				kept = append(kept, c)
				break
			}
		}
	}
	return kept
}

// without returns what is left of known after v; it changes known.
func (l *loadTable) without(known []content, v *ir.Value) []content {
	e, at := effectOf(v)
	if e == noEffect {
		return known
	}
	kept := known[:0]
	for _, c := range known {
		if !l.memory.writes(v, e, at, c.location) {
			kept = append(kept, c)
		}
	}
	return kept
}

func (l *loadTable) forget(v *ir.Value) { l.known = l.without(l.known, v) }

func (l *loadTable) remember(c content) {
	if len(l.known) == maxKnown {
		l.known = append(l.known[:0], l.known[1:]...)
	}
	l.known = append(l.known, c)
}

// find returns the place in known of exactly at, or -1.
func (l *loadTable) find(at location) int {
	for i := range l.known {
		if c := &l.known[i]; c.sameBase(at) && c.offset == at.offset && c.size == at.size {
			return i
		}
	}
	return -1
}

// load has the readers of v read what is known to be there. Otherwise it
// remembers v.
func (l *loadTable) load(v *ir.Value) bool {
	at := locationOf(v)
	if x := l.constant(v, at); x != nil {
		l.replaced.Set(v, x)
		return true
	}
	if x := l.low(v, at); x != nil {
		l.replaced.Set(v, x)
		return true
	}
	i := l.find(at)
	if i >= 0 {
		if x := l.convert(v, l.known[i]); x != nil {
			l.replaced.Set(v, x)
			return true
		}
		l.known = append(l.known[:i], l.known[i+1:]...)
	}
	l.remember(content{location: at, value: v, loaded: true, signed: v.Signed})
	return false
}

// constant returns what v reads, if that is part of a constant.
func (l *loadTable) constant(v *ir.Value, at location) *ir.Value {
	for _, c := range l.known {
		if c.value.Op != ir.OpConst || !c.sameBase(at) || at.offset < c.offset || at.offset+at.size > c.offset+c.size {
			continue
		}
		x := extendIn(c.value.Imm>>(8*(at.offset-c.offset)), v.Size, v.Signed)
		if v.Type == ir.Ptr && x != 0 {
			return nil
		}
		k := l.emit(v, ir.OpConst)
		k.Imm = normal(v.Type, x)
		return k
	}
	return nil
}

// low returns what v reads, if that is the low bytes of an integer that is known.
// Of those above a load is as cheap as to shift them down.
func (l *loadTable) low(v *ir.Value, at location) *ir.Value {
	for _, c := range l.known {
		if c.value.Type == ir.Ptr || !c.sameBase(at) || at.offset != c.offset || at.size >= c.size {
			continue
		}
		x := c.value
		if x.Type == ir.I64 {
			x = l.emit(v, ir.OpTrunc, x)
			x.Type = ir.I32
		}
		switch {
		case v.Size == 4:
		case v.Signed:
			x = l.emit(v, ir.OpSextIn, x)
			x.Type, x.Size = ir.I32, v.Size
		default:
			mask := l.emit(v, ir.OpConst)
			mask.Type, mask.Imm = ir.I32, int64(sizeMask(v.Size))
			x = l.emit(v, ir.OpAnd, x, mask)
			x.Type = ir.I32
		}
		switch {
		case v.Type == ir.I32:
			return x
		case v.Signed:
			return l.emit(v, ir.OpSext, x)
		}
		return l.emit(v, ir.OpZext, x)
	}
	return nil
}

// convert returns c as v reads it, if that costs no more than to read it.
func (l *loadTable) convert(v *ir.Value, c content) *ir.Value {
	x := c.value
	if v.Size == 8 {
		switch {
		case x.Type == v.Type:
			return x
		case v.Type == ir.Ptr:
			return l.emit(v, ir.OpIntToPtr, x)
		}
		return l.emit(v, ir.OpPtrToInt, x)
	}
	isExact := c.loaded && c.signed == v.Signed ||
		!v.Signed && ^zeroBits(x, knownDepth)&^sizeMask(v.Size) == 0
	switch {
	case isExact && x.Type == v.Type:
		return x
	case v.Size == 4 && v.Type == ir.I32:
		if x.Type == ir.I32 {
			return x
		}
		return l.emit(v, ir.OpTrunc, x)
	case isExact && v.Type == ir.I32:
		return l.emit(v, ir.OpTrunc, x)
	case x.Type == ir.I32 && v.Type == ir.I64 && (isExact || v.Size == 4):
		if v.Signed {
			return l.emit(v, ir.OpSext, x)
		}
		return l.emit(v, ir.OpZext, x)
	}
	return nil
}

// isStored says whether memory has what v stores already.
func (l *loadTable) isStored(v *ir.Value) bool {
	if v.Volatile {
		return false
	}
	i := l.find(locationOf(v))
	return i >= 0 && l.known[i].value == v.Args[1]
}

// emit puts a value of v's type before it.
func (l *loadTable) emit(v *ir.Value, op ir.Op, args ...*ir.Value) *ir.Value {
	x := l.f.NewValue(op, v.Type, args...)
	x.Pos, x.Block = v.Pos, l.at
	l.out = append(l.out, x)
	return x
}
