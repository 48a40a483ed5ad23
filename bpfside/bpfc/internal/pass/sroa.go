package pass

import (
	"cmp"
	"slices"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// maxLoose is up to how many bytes of an object that are only copied as a whole
// become values nevertheless.
const maxLoose = 64

// sroa replaces objects of the frame, whose address goes nowhere, by one object
// for each part that is accessed by itself: the fields of a struct, the elements
// of an array with constant indexes. Copies and fills of such an object fall
// apart accordingly. [mem2reg] makes values of the parts.
func sroa(f *ir.Func) bool {
	f.RemoveUnreachable()
	s := splitter{f: f, at: make([]place, f.NumIDs())}
	s.collect()
	s.mirror()
	changed := false
	for _, o := range s.objects {
		if !o.kept && o.divide(s.f) {
			changed = true
		}
	}
	if changed {
		s.rewrite()
	}
	return changed
}

// An object is an alloca that may be split.
type object struct {
	alloca *ir.Value
	kept   bool          // its address goes somewhere
	ranges map[span]bool // that are accessed by themselves
	read   []span        // that are copied out of it
	copies []mirroring
	// bulk: it is copied or filled; with copyAlign, the least alignment of copies.
	bulk      bool
	copyAlign int

	divided bool
	parts   []part // in order
}

// A span is bytes of an object, from and up to (without) an offset.
type span struct{ from, to int }

// A part of an object becomes an object of its own. Bytes of no part are only
// written.
type part struct {
	span
	alloca *ir.Value
}

// A mirroring is a copy between an object and another one: bytes from on of the
// one are those from there on of the other.
type mirroring struct {
	span
	other *object
	there int
}

// A place is an object with an offset: what an address points to.
type place struct {
	object *object
	offset int
}

type splitter struct {
	f       *ir.Func
	objects []*object
	at      []place // by ID of the address

	block *ir.Block
	out   []*ir.Value
	pos   ir.Pos
}

// collect finds the objects and how they are used.
func (s *splitter) collect() {
	for _, v := range s.f.Entry().Values {
		if v.Op == ir.OpAlloca {
			o := &object{alloca: v, ranges: map[span]bool{}, copyAlign: 8}
			s.objects = append(s.objects, o)
			s.at[v.ID].object = o
		}
	}
	keep := func(args []*ir.Value) {
		for _, a := range args {
			if o := s.at[a.ID].object; o != nil {
				o.kept = true
			}
		}
	}
	for _, b := range s.f.Blocks { // dominators first, since nothing is unreachable
		for _, v := range b.Values {
			switch v.Op {
			case ir.OpLife:
			case ir.OpAdd:
				base := s.at[v.Args[0].ID]
				n, ok := constOf(v.Args[1])
				if base.object != nil && ok && n >= -1<<31 && n < 1<<31 {
					s.at[v.ID] = place{base.object, base.offset + int(n)}
					continue
				}
				keep(v.Args)
			case ir.OpLoad, ir.OpStore:
				if at := s.at[v.Args[0].ID]; at.object != nil {
					from := at.offset + int(v.Imm)
					at.object.access(span{from, from + v.Size}, v.Volatile)
				}
				keep(v.Args[1:])
			case ir.OpCopy, ir.OpMove:
				s.copied(s.at[v.Args[0].ID], s.at[v.Args[1].ID], v)
			case ir.OpSet:
				if at := s.at[v.Args[0].ID]; at.object != nil {
					at.object.bulkAccess(span{at.offset, at.offset + v.Size})
				}
			default:
				keep(v.Args)
			}
		}
		keep(b.Term.Args)
		for _, e := range b.Term.Succs {
			keep(e.Args)
		}
	}
}

func (o *object) has(s span) bool { return 0 <= s.from && s.to <= o.alloca.Size }

func (o *object) access(s span, volatile bool) {
	if volatile || !o.has(s) {
		o.kept = true
	}
	o.ranges[s] = true
}

func (o *object) bulkAccess(s span) {
	o.bulk = true
	if !o.has(s) {
		o.kept = true
	}
}

// copied notes the copy v.
func (s *splitter) copied(to, from place, v *ir.Value) {
	if to.object != nil && to.object == from.object {
		to.object.kept = true
		return
	}
	target := span{to.offset, to.offset + v.Size}
	source := span{from.offset, from.offset + v.Size}
	if o := to.object; o != nil {
		o.bulkAccess(target)
		o.copies = append(o.copies, mirroring{target, from.object, from.offset})
	}
	if o := from.object; o != nil {
		o.bulkAccess(source)
		o.read = append(o.read, source)
		o.copies = append(o.copies, mirroring{source, to.object, to.offset})
		o.copyAlign = min(o.copyAlign, v.Align)
	}
}

// mirror tells objects that are copied to each other the ranges of the other, so
// that they fall apart in the same places.
func (s *splitter) mirror() {
	type item struct {
		o *object
		r span
	}
	var work []item
	for _, o := range s.objects {
		if len(o.copies) > 0 {
			for r := range o.ranges {
				work = append(work, item{o, r})
			}
		}
	}
	for len(work) > 0 {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		if i.o.kept {
			continue
		}
		for _, m := range i.o.copies {
			if m.other == nil || i.r.from < m.from || i.r.to > m.to {
				continue
			}
			r := span{i.r.from - m.from + m.there, i.r.to - m.from + m.there}
			if !m.other.ranges[r] {
				m.other.ranges[r] = true
				work = append(work, item{m.other, r})
			}
		}
	}
}

// divide finds the parts of o, and says whether it falls apart.
func (o *object) divide(f *ir.Func) bool {
	spans := o.spans()
	if len(spans) == 1 && spans[0] == (span{0, o.alloca.Size}) {
		// One part, unless bulk copies of a scalar are left to make accesses of.
		if !o.bulk || !isScalarSize(o.alloca.Size) || len(o.ranges) > 1 {
			return false
		}
	}
	o.divided = true
	for _, s := range spans {
		a := f.NewValue(ir.OpAlloca, ir.Ptr)
		a.Size, a.Align = s.to-s.from, alignAt(o.alloca.Align, s.from)
		if isScalarSize(a.Size) {
			a.Align = a.Size
		}
		a.Name, a.Pos, a.Block = o.alloca.Name, o.alloca.Pos, o.alloca.Block
		o.parts = append(o.parts, part{s, a})
	}
	return true
}

// spans returns the bytes of each part: what accesses have in common, and then
// what is only copied out.
func (o *object) spans() []span {
	ranges := make([]span, 0, len(o.ranges))
	for r := range o.ranges {
		ranges = append(ranges, r)
	}
	spans := o.aligned(union(ranges))
	var loose []span
	size := 0
	for _, r := range union(o.read) {
		for _, gap := range r.without(spans) {
			loose = append(loose, gap)
			size += gap.to - gap.from
		}
	}
	for _, gap := range loose {
		if size > maxLoose {
			spans = append(spans, gap)
			continue
		}
		for at := gap.from; at < gap.to; {
			n := alignAt(o.copyAlign, at)
			for n > gap.to-at {
				n /= 2
			}
			spans = append(spans, span{at, at + n})
			at += n
		}
	}
	slices.SortFunc(spans, compareSpans)
	return spans
}

// aligned lets each span that has accesses to parts of it begin where the alignment
// of the whole object holds: else what an access in the middle of a packed struct is
// aligned to would be lost with the object around it.
func (o *object) aligned(spans []span) []span {
	for changed := true; changed; {
		changed = false
		for i, s := range spans {
			off := s.from % min(o.alloca.Align, 8)
			if off != 0 && o.hasWithin(s) {
				spans[i].from -= off
				changed = true
			}
		}
		spans = union(spans) // where one has grown into another, that one's start counts
	}
	return spans
}

// hasWithin reports whether there is an access to a part of s alone.
func (o *object) hasWithin(s span) bool {
	for r := range o.ranges {
		if r != s && r.from >= s.from && r.to <= s.to {
			return true
		}
	}
	return false
}

func compareSpans(a, b span) int { return cmp.Or(a.from-b.from, a.to-b.to) }

// union joins the spans that overlap, and sorts them.
func union(spans []span) []span {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, compareSpans)
	var joined []span
	for _, s := range spans {
		if n := len(joined); n > 0 && s.from < joined[n-1].to {
			joined[n-1].to = max(joined[n-1].to, s.to)
		} else if s.from < s.to {
			joined = append(joined, s)
		}
	}
	return joined
}

// without returns the bytes of s that are in none of the others, which are
// sorted and do not overlap.
func (s span) without(others []span) []span {
	var rest []span
	for _, o := range others {
		if o.to <= s.from || o.from >= s.to {
			continue
		}
		if o.from > s.from {
			rest = append(rest, span{s.from, o.from})
		}
		s.from = o.to
	}
	if s.from < s.to {
		rest = append(rest, s)
	}
	return rest
}

// alignAt returns what an address is a multiple of, if it is an offset from one
// that is a multiple of align. It is 8 at most.
func alignAt(align, offset int) int {
	align = min(align, 8)
	for align > 1 && offset%align != 0 {
		align /= 2
	}
	return max(align, 1)
}

// rewrite has accesses go to the parts.
func (s *splitter) rewrite() {
	for _, b := range s.f.Blocks {
		s.block, s.out = b, make([]*ir.Value, 0, len(b.Values))
		for _, v := range b.Values {
			s.pos = v.Pos
			s.value(v)
		}
		b.Values = s.out
	}
}

func (s *splitter) value(v *ir.Value) {
	switch v.Op {
	case ir.OpAlloca, ir.OpAdd:
		at := s.dividedAt(v)
		if at.object == nil {
			break
		}
		if v.Op == ir.OpAlloca {
			for _, p := range at.object.parts {
				s.out = append(s.out, p.alloca)
			}
		}
		return
	case ir.OpLife:
		at := s.dividedAt(v.Args[0])
		if at.object == nil {
			break
		}
		for _, p := range at.object.parts {
			s.emit(ir.OpLife, ir.Void, p.alloca)
		}
		return
	case ir.OpLoad, ir.OpStore:
		if at := s.dividedAt(v.Args[0]); at.object != nil {
			from := at.offset + int(v.Imm)
			p := at.object.part(from)
			v.Args[0], v.Imm = p.alloca, int64(from-p.from)
			if v.Imm == 0 && v.Size == p.alloca.Size {
				v.Align = v.Size
			}
		}
	case ir.OpCopy, ir.OpMove:
		to, from := s.dividedAt(v.Args[0]), s.dividedAt(v.Args[1])
		if to.object == nil && from.object == nil {
			break
		}
		s.copy(v, to, from)
		return
	case ir.OpSet:
		to := s.dividedAt(v.Args[0])
		if to.object == nil {
			break
		}
		s.set(v, to)
		return
	}
	s.out = append(s.out, v)
}

// dividedAt returns where the address v points to, if that object falls apart.
func (s *splitter) dividedAt(v *ir.Value) place {
	if v.ID < len(s.at) {
		if at := s.at[v.ID]; at.object != nil && at.object.divided {
			return at
		}
	}
	return place{}
}

// part returns the one that has the byte at offset, nil if none has.
func (o *object) part(offset int) *part {
	for i := range o.parts {
		if p := &o.parts[i]; p.from <= offset && offset < p.to {
			return p
		}
	}
	return nil
}

// piece returns the part that has the byte at offset, and how many of n bytes
// from there on are the part's, or of none.
func (o *object) piece(offset, n int) (*part, int) {
	if p := o.part(offset); p != nil {
		return p, min(n, p.to-offset)
	}
	for i := range o.parts {
		if from := o.parts[i].from; from > offset {
			n = min(n, from-offset)
		}
	}
	return nil, n
}

// copy makes of a copy those of the parts.
func (s *splitter) copy(v *ir.Value, to, from place) {
	for done := 0; done < v.Size; {
		n := v.Size - done
		var dst, src *part
		if to.object != nil {
			dst, n = to.object.piece(to.offset+done, n)
		}
		if from.object != nil {
			src, n = from.object.piece(from.offset+done, n)
		}
		if to.object != nil && dst == nil || from.object != nil && src == nil {
			done += n // nobody reads it
			continue
		}
		align := alignAt(v.Align, done)
		d, dstAt, dstAlign := s.address(v.Args[0], dst, to.offset+done, done, align)
		r, srcAt, srcAlign := s.address(v.Args[1], src, from.offset+done, done, align)
		isWhole := dst != nil && n == dst.alloca.Size || src != nil && n == src.alloca.Size
		if isScalarSize(n) && isWhole {
			load := s.emit(ir.OpLoad, accessType(n), r)
			load.Size, load.Imm, load.Align = n, int64(srcAt), srcAlign
			store := s.emit(ir.OpStore, ir.Void, d, load)
			store.Size, store.Imm, store.Align = n, int64(dstAt), dstAlign
		} else {
			c := s.emit(v.Op, ir.Void, s.offset(d, dstAt), s.offset(r, srcAt))
			c.Size, c.Align = n, min(srcAlign, dstAlign)
		}
		done += n
	}
}

// address returns where a piece is, as an address with an offset, and its
// alignment: in a part of an object, or done bytes behind base.
func (s *splitter) address(base *ir.Value, p *part, offset, done, align int) (*ir.Value, int, int) {
	if p == nil {
		return base, done, align
	}
	return p.alloca, offset - p.from, alignAt(p.alloca.Align, offset-p.from)
}

// set makes of a fill those of the parts.
func (s *splitter) set(v *ir.Value, to place) {
	for done := 0; done < v.Size; {
		p, n := to.object.piece(to.offset+done, v.Size-done)
		if p == nil {
			done += n
			continue
		}
		at := to.offset + done - p.from
		fill, isNumber := constOf(v.Args[1])
		if isNumber && n == p.alloca.Size && isScalarSize(n) {
			store := s.emit(ir.OpStore, ir.Void, p.alloca, s.pattern(fill, n))
			store.Size, store.Align = n, n
		} else {
			set := s.emit(ir.OpSet, ir.Void, s.offset(p.alloca, at), v.Args[1])
			set.Size, set.Align = n, alignAt(p.alloca.Align, at)
		}
		done += n
	}
}

// pattern returns n bytes that are all fill.
func (s *splitter) pattern(fill int64, n int) *ir.Value {
	v := s.emit(ir.OpConst, accessType(n))
	v.Imm = normal(v.Type, repeatByte(fill)&int64(sizeMask(n)))
	return v
}

// repeatByte returns eight bytes that are all the low one of x.
func repeatByte(x int64) int64 { return int64(uint8(x)) * 0x0101010101010101 }

func (s *splitter) offset(p *ir.Value, n int) *ir.Value {
	if n == 0 {
		return p
	}
	c := s.emit(ir.OpConst, ir.I64)
	c.Imm = int64(n)
	return s.emit(ir.OpAdd, ir.Ptr, p, c)
}

func (s *splitter) emit(op ir.Op, t ir.Type, args ...*ir.Value) *ir.Value {
	v := s.f.NewValue(op, t, args...)
	v.Pos, v.Block = s.pos, s.block
	s.out = append(s.out, v)
	return v
}
