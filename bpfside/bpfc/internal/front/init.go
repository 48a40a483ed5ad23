package front

import (
	"slices"

	"modernc.org/cc/v4"
)

// An image is what an initializer makes of an object: its bytes, zero where
// nothing is said, and what is not a number, to be stored over them in order.
type image struct {
	data   []byte
	leaves []leaf
}

// A leaf is a part of an object that is not a number at compile time.
type leaf struct {
	offset int
	typ    cc.Type
	bits   *field // of a bit-field: bits.bit counts from offset
	expr   cc.ExpressionNode
}

// size is how many bytes from offset on a leaf is within.
func (l leaf) size(u *unit) int {
	if l.bits != nil {
		return (l.bits.bit + l.bits.bits + 7) / 8
	}
	return u.sizeof(l.typ)
}

// initialize lays out what init makes of an object of type t: C11 6.7.9. An array
// of unknown length, and a flexible array member, become as long as they are
// given values for.
func (u *unit) initialize(t cc.Type, init *cc.Initializer) *image {
	b := u.imager(t, init)
	if b.data != nil {
		b.initializer(t, 0, init)
	}
	return b.image
}

// initializeList is initialize of a compound literal.
func (u *unit) initializeList(t cc.Type, list *cc.InitializerList) *image {
	b := u.imager(t, list)
	if b.data != nil {
		b.list(t, 0, list)
	}
	return b.image
}

// imager begins the image of an object of type t; without data if that is too
// large.
func (u *unit) imager(t cc.Type, at cc.Node) *imager {
	b := &imager{u: u, image: &image{}}
	size := u.sizeof(t)
	if size > maxInitialized {
		u.errorf(at, "an object of %d bytes is too large to be initialized", size)
		return b
	}
	b.data = make([]byte, size)
	return b
}

// maxInitialized bounds how long an object is made by the indices of its
// initializer; the kernel takes no map value of that size.
const maxInitialized = 64 << 20

// An imager fills an image.
type imager struct {
	u *unit
	*image
}

// An item is a value of a list in braces, with what says where it goes.
type item struct {
	designators []*cc.Designator
	init        *cc.Initializer
}

func items(list *cc.InitializerList) (all []item) {
	for ; list != nil; list = list.InitializerList {
		it := item{init: list.Initializer}
		if list.Designation != nil {
			for d := list.Designation.DesignatorList; d != nil; d = d.DesignatorList {
				it.designators = append(it.designators, d.Designator)
			}
		}
		all = append(all, it)
	}
	return all
}

// initializer gives the object of type t at off what init says.
func (b *imager) initializer(t cc.Type, off int, init *cc.Initializer) {
	if init.Case == cc.InitializerInitList {
		b.list(t, off, init.InitializerList)
		return
	}
	b.value(t, off, nil, init.AssignmentExpression)
}

// list gives the object of type t at off what stands in braces.
func (b *imager) list(t cc.Type, off int, list *cc.InitializerList) {
	b.clear(off, b.u.sizeof(t))
	all := items(list)
	switch {
	case t.Kind() == cc.Array:
		// char s[] = { "text" }
		if len(all) == 1 && len(all[0].designators) == 0 && all[0].init.Case == cc.InitializerExpr && b.text(t, all[0].init.AssignmentExpression) {
			b.initializer(t, off, all[0].init)
			return
		}
		fallthrough
	case isAggregate(t):
		c := &cursor{items: all}
		for !c.done() {
			before := c.next
			b.aggregate(t, off, c, true)
			if c.next == before {
				b.u.errorf(c.item().init, "more values than the object has parts")
				return
			}
		}
	case len(all) == 0: // int x = {}
	case len(all) > 1 || len(all[0].designators) > 0:
		b.u.errorf(all[0].init, "more than one value for an object of type %s", t)
	default:
		b.initializer(t, off, all[0].init)
	}
}

// A cursor walks over the items of one pair of braces.
type cursor struct {
	items []item
	next  int
}

func (c *cursor) done() bool { return c.next >= len(c.items) }
func (c *cursor) item() item { return c.items[c.next] }

// aggregate takes values for the parts of the object of type t at off, in order,
// until the parts or the values end. An object that is itself in braces, top,
// also takes the designated ones; any other leaves those to the braces around it.
func (b *imager) aggregate(t cc.Type, off int, c *cursor, top bool) {
	if t.Kind() == cc.Array {
		b.elements(t, off, c, top, 0)
		return
	}
	b.members(t, off, c, top, 0)
}

// elements takes values from the i-th element of an array on.
func (b *imager) elements(t cc.Type, off int, c *cursor, top bool, i int) {
	array := t.(*cc.ArrayType)
	et := array.Elem()
	size := b.u.sizeof(et)
	for !c.done() {
		if d := c.item().designators; len(d) > 0 {
			if !top {
				return
			}
			b.throughElements(t, off, c, d)
			// It went on as far as there were values without a designator.
			continue
		}
		if array.Len() >= 0 && int64(i) >= array.Len() {
			return
		}
		if !b.fits(off+(i+1)*size, c) {
			return
		}
		b.grow(off + (i+1)*size)
		b.part(et, off+i*size, nil, c)
		i++
	}
}

// indices returns which elements a designator is of.
func (b *imager) indices(t *cc.ArrayType, d *cc.Designator) (lo, hi int, ok bool) {
	var first, last int64
	switch d.Case {
	case cc.DesignatorIndex:
		first, ok = b.u.constant(d.ConstantExpression)
		last = first
	case cc.DesignatorIndex2:
		first, ok = b.u.constant(d.ConstantExpression)
		if ok {
			last, ok = b.u.constant(d.ConstantExpression2)
		}
	default:
		b.u.errorf(d, "an array has no member")
		return 0, 0, false
	}
	limit := t.Len()
	if limit < 0 {
		limit = maxInitialized / int64(max(b.u.sizeof(t.Elem()), 1))
	}
	if !ok || first < 0 || last < first || last >= limit {
		b.u.errorf(d, "the index is not one of the array")
		return 0, 0, false
	}
	return int(first), int(last), true
}

// members takes values from the i-th member of a struct on, or for one member of
// a union.
func (b *imager) members(t cc.Type, off int, c *cursor, top bool, i int) {
	fields := b.u.fields(t)
	union := t.Kind() == cc.Union
	for !c.done() {
		if d := c.item().designators; len(d) > 0 {
			if !top {
				return
			}
			b.throughDesignator(t, off, c, d)
			continue
		}
		if i >= len(fields) {
			return
		}
		f := fields[i]
		if f.bits != 0 {
			b.part(f.typ, off, &f, c)
		} else {
			b.grow(off + f.offset + b.u.sizeof(f.typ))
			b.part(f.typ, off+f.offset, nil, c)
		}
		i++
		if union {
			i = len(fields)
		}
	}
}

// throughMembers gives the member that path leads to its value, and then goes on
// with what follows it.
func (b *imager) throughMembers(t cc.Type, off int, c *cursor, path []field, rest []*cc.Designator) {
	f := path[0]
	if t.Kind() == cc.Union {
		// Another member of the union may have been given a value before.
		b.overwrite(off, b.u.sizeof(t), f, path)
	}
	switch {
	case len(path) > 1:
		b.throughMembers(f.typ, off+f.offset, c, path[1:], rest)
	case f.bits != 0:
		b.part(f.typ, off, &f, c)
	default:
		b.grow(off + f.offset + b.u.sizeof(f.typ))
		b.designated(f.typ, off+f.offset, c, rest)
	}
	if t.Kind() == cc.Struct {
		b.members(t, off, c, false, b.after(t, f))
	}
}

// after returns which member of t comes after f.
func (b *imager) after(t cc.Type, f field) int {
	return 1 + slices.IndexFunc(b.u.fields(t), func(g field) bool {
		return g.name == f.name && g.decl == f.decl && g.offset == f.offset && g.bit == f.bit
	})
}

// overwrite forgets what a union holds before another of its members is given a
// value, unless that is a part of an anonymous struct, whose other members stay.
func (b *imager) overwrite(off, size int, f field, path []field) {
	if len(path) == 1 && !isAggregate(f.typ) {
		b.clear(off, size)
	}
}

// designated gives the object of type t at off, or the part of it that the
// designators lead to, the current value, and goes on with what follows that part.
func (b *imager) designated(t cc.Type, off int, c *cursor, d []*cc.Designator) {
	switch {
	case len(d) == 0:
		b.part(t, off, nil, c)
	case t.Kind() == cc.Array:
		b.throughElements(t, off, c, d)
	case isAggregate(t):
		b.throughDesignator(t, off, c, d)
	default:
		b.u.errorf(d[0], "%s has no parts", t)
		c.next = len(c.items)
	}
}

// throughElements is designated of an array.
func (b *imager) throughElements(t cc.Type, off int, c *cursor, d []*cc.Designator) {
	array := t.(*cc.ArrayType)
	lo, hi, ok := b.indices(array, d[0])
	if !ok {
		c.next = len(c.items)
		return
	}
	et := array.Elem()
	size := b.u.sizeof(et)
	if !b.fits(off+(hi+1)*size, c) {
		return
	}
	at := c.next
	for n := lo; n <= hi; n++ {
		c.next = at
		b.grow(off + (n+1)*size)
		b.designated(et, off+n*size, c, d[1:])
	}
	b.elements(t, off, c, false, hi+1)
}

// throughDesignator is designated of a struct or union.
func (b *imager) throughDesignator(t cc.Type, off int, c *cursor, d []*cc.Designator) {
	var name string
	switch d[0].Case {
	case cc.DesignatorField:
		name = d[0].Token2.SrcStr()
	case cc.DesignatorField2:
		name = d[0].Token.SrcStr()
	default:
		b.u.errorf(d[0], "a struct or union has no elements")
		c.next = len(c.items)
		return
	}
	path, ok := b.u.member(t, name)
	if !ok {
		b.u.errorf(d[0], "%s has no member %s", t, name)
		c.next = len(c.items)
		return
	}
	b.throughMembers(t, off, c, path, d[1:])
}

// part gives the object of type t at off, or the bit-field f of the struct at
// off, the current value, or, if t has parts and that is for the first of them,
// as many as it has parts: C11 6.7.9p20.
func (b *imager) part(t cc.Type, off int, f *field, c *cursor) {
	init := c.item().init
	switch {
	case f != nil:
		c.next++
		if init.Case == cc.InitializerInitList {
			if list := items(init.InitializerList); len(list) == 1 && list[0].init.Case == cc.InitializerExpr {
				b.value(t, off, f, list[0].init.AssignmentExpression)
			}
			return
		}
		b.value(t, off, f, init.AssignmentExpression)
	case init.Case == cc.InitializerInitList:
		c.next++
		b.list(t, off, init.InitializerList)
	case t.Kind() == cc.Array && !b.text(t, init.AssignmentExpression),
		isAggregate(t) && !b.whole(t, init.AssignmentExpression):
		b.undesignated(t, off, c)
	default:
		c.next++
		b.value(t, off, nil, init.AssignmentExpression)
	}
}

// undesignated takes values for an object that has no braces of its own. What
// designates the first of them led here.
func (b *imager) undesignated(t cc.Type, off int, c *cursor) {
	before := c.next
	c.items = slices.Clone(c.items)
	c.items[before].designators = nil
	b.aggregate(t, off, c, false)
	if c.next == before { // nothing in it to take one
		b.u.errorf(c.item().init, "no part of %s takes this value", t)
		c.next++
	}
}

// text says whether e is a string literal for an array of that kind of character.
func (b *imager) text(t cc.Type, e cc.ExpressionNode) bool {
	s := b.u.stringOf(e)
	if s == nil {
		return false
	}
	et := underlying(t.(*cc.ArrayType).Elem())
	width := b.u.sizeof(elem(b.u.typeOf(e)))
	return isInteger(et) && b.u.sizeof(et) == width
}

// whole says whether e is an object of the very struct or union that t is.
func (b *imager) whole(t cc.Type, e cc.ExpressionNode) bool {
	x, y := b.u.record(t), b.u.record(b.u.typeOf(e))
	return x != nil && x == y
}

// value gives the object of type t at off the value of an expression.
func (b *imager) value(t cc.Type, off int, f *field, e cc.ExpressionNode) {
	u := b.u
	if f != nil {
		b.bitField(t, off, f, e)
		return
	}
	size := u.sizeof(t)
	if a, ok := t.(*cc.ArrayType); ok {
		if b.text(t, e) {
			s := u.stringOf(e)
			if a.Len() >= 0 {
				s = s[:min(len(s), size)]
			}
			b.grow(off + len(s))
			b.clear(off, max(size, len(s)))
			copy(b.data[off:], s)
			return
		}
		if lit := complit(e); lit != nil {
			b.list(t, off, lit.InitializerList) // GNU C
			return
		}
		u.errorf(e, "an array takes values in braces")
		return
	}
	// A compound literal of the type itself is a value in braces.
	if lit := complit(e); lit != nil && isAggregate(t) {
		b.list(t, off, lit.InitializerList)
		return
	}
	b.grow(off + size)
	if v, ok := u.constant(e); ok && isScalar(underlying(t)) {
		v = u.convert(v, t)
		if !b.under(off, size) {
			b.clear(off, size)
			for i := range size {
				b.data[off+i] = byte(v >> (8 * i))
			}
			return
		}
	}
	b.clear(off, size)
	b.leaves = append(b.leaves, leaf{offset: off, typ: t, expr: e})
}

// bitField gives a bit-field of the struct at off the value of an expression.
func (b *imager) bitField(t cc.Type, off int, f *field, e cc.ExpressionNode) {
	l := leaf{offset: off, typ: t, bits: f, expr: e}
	b.grow(off + l.size(b.u))
	b.leaves = slices.DeleteFunc(b.leaves, func(o leaf) bool {
		return o.bits != nil && o.offset == off && o.bits.bit == f.bit
	})
	var v int64
	n, ok := b.u.constant(e)
	ok = ok && !b.under(off+f.bit/8, (f.bit%8+f.bits+7)/8)
	if ok {
		v = b.u.convert(n, t)
	}
	for i := range f.bits {
		at := &b.data[off+(f.bit+i)/8]
		mask := byte(1) << ((f.bit + i) % 8)
		*at &^= mask
		if v>>i&1 != 0 {
			*at |= mask
		}
	}
	if !ok {
		b.leaves = append(b.leaves, l)
	}
}

// complit returns the compound literal that e is, nil if it is none.
func complit(e cc.ExpressionNode) *cc.PostfixExpression {
	if p, ok := bare(e).(*cc.PostfixExpression); ok && p.Case == cc.PostfixExpressionComplit {
		return p
	}
	return nil
}

// fits says whether an array of unknown length may get as long as n bytes from
// the start of the object.
func (b *imager) fits(n int, c *cursor) bool {
	if n <= maxInitialized {
		return true
	}
	b.u.errorf(c.item().init, "the values make the object longer than %d bytes", maxInitialized)
	c.next = len(c.items)
	return false
}

// grow makes the object at least n bytes long.
func (b *imager) grow(n int) {
	if n > len(b.data) {
		b.data = append(b.data, make([]byte, n-len(b.data))...)
	}
}

// clear makes part of the object as if nothing had been said of it: a later value
// takes the place of an earlier one, C11 6.7.9p19.
func (b *imager) clear(off, size int) {
	b.leaves = slices.DeleteFunc(b.leaves, func(l leaf) bool {
		return off <= l.offset && l.offset+l.size(b.u) <= off+size
	})
	if off < len(b.data) {
		clear(b.data[off:min(off+size, len(b.data))])
	}
}

// under says whether a leaf that is stored later holds part of these bytes, such
// as a struct of which one member is given another value.
func (b *imager) under(off, size int) bool {
	return slices.ContainsFunc(b.leaves, func(l leaf) bool {
		return l.bits == nil && isAggregate(l.typ) && l.offset < off+size && off < l.offset+l.size(b.u)
	})
}
