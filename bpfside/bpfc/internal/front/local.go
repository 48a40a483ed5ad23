package front

import (
	"encoding/binary"

	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// declaration translates one in a function. bypassed tells whether a
// jump may enter the scope of a variable behind its declaration.
func (g *body) declaration(d *cc.Declaration, bypassed func(*cc.Declarator) bool) {
	switch d.Case {
	case cc.DeclarationDecl:
		for l := d.InitDeclaratorList; l != nil; l = l.InitDeclaratorList {
			var init *cc.Initializer
			if l.InitDeclarator.Case == cc.InitDeclaratorInit {
				init = l.InitDeclarator.Initializer
			}
			id := l.InitDeclarator
			if id.Declarator.IsStatic() && !id.Declarator.IsTypename() {
				g.statics[id.Declarator] = staticDecl{d, id}
				continue
			}
			g.local(id.Declarator, d.DeclarationSpecifiers, init, bypassed)
		}
	case cc.DeclarationAssert:
		g.staticAssert(d.StaticAssertDeclaration)
	case cc.DeclarationAuto:
		g.local(d.Declarator, nil, d.Initializer, bypassed)
	}
}

// local translates the declaration of a variable. Those of other things, and of
// variables that are not of the frame, are looked at where they are named.
func (g *body) local(d *cc.Declarator, specs *cc.DeclarationSpecifiers, init *cc.Initializer, bypassed func(*cc.Declarator) bool) {
	t := g.declared(d, specs)
	if d.IsTypename() || d.IsExtern() || d.IsStatic() || t.Kind() == cc.Function {
		return
	}
	g.atNode(d)
	if a, ok := t.(*cc.ArrayType); ok && a.IsVLA() {
		g.errorf(d, "arrays of variable length are not supported")
	}
	if f := floating(t); f != nil {
		g.errorf(d, "%s is not supported: BPF has no floating point", f)
	}
	var img *image
	size := g.sizeof(t)
	if init != nil && !g.isScalarInit(t, init) {
		if img = g.initialize(t, init); img != nil {
			size = max(size, len(img.data))
		}
	}
	v := g.alloca(size, max(g.alignof(t), d.Alignas()), d.Name())
	p := place{base: v, t: t, align: v.Align, volatile: g.isVolatile(t) || d.IsVolatile()}
	g.vars[d] = p
	if !bypassed(d) {
		g.life(v)
	}
	switch {
	case init == nil:
	case img != nil:
		g.initObject(d, p, img)
	case g.isScalarInit(t, init):
		x := init.AssignmentExpression
		g.sendsEvent(x, t)
		val := g.convert(x, g.expr(x), g.decay(g.typeOf(x)), t)
		g.atNode(d)
		g.store(d, p, val)
	}
}

// isScalarInit reports whether t is initialized by an expression without braces.
func (g *body) isScalarInit(t cc.Type, init *cc.Initializer) bool {
	return isScalar(t) && init.Case == cc.InitializerExpr
}

// compoundLiteral returns the object that (type){...} makes.
func (g *body) compoundLiteral(e *cc.PostfixExpression) place {
	t := g.typeOf(e)
	g.atNode(e)
	img := g.initializeList(t, e.InitializerList)
	if img == nil {
		return place{base: g.undefined(ir.Ptr), t: t, align: 1}
	}
	v := g.alloca(max(g.sizeof(t), len(img.data)), g.alignof(t), "")
	g.life(v)
	p := place{base: v, t: t, align: v.Align}
	g.initObject(e, p, img)
	return p
}

// initObject gives an object of the frame its initial content: zeros, then what
// is constant, then what has to be computed. What neither covers is zero as well,
// padding included, as clang has it and the kernel wants it of keys of maps.
func (g *body) initObject(at cc.Node, p place, img *image) {
	g.atNode(at)
	w := initWriter{g: g, p: p, data: img.data, covered: make([]bool, len(img.data))}
	for _, l := range img.leaves {
		if l.bits == nil {
			w.cover(l.offset, g.sizeof(l.typ))
		}
	}
	w.plan(p.t, 0)
	if !w.isCovered() {
		zero := g.value(ir.OpSet, ir.Void, p.base, g.number(ir.I32, 0))
		zero.Size, zero.Align, zero.Volatile = len(img.data), p.align, p.volatile
	}
	for _, s := range w.stores {
		n := g.number(storeType(s.size), s.value)
		v := g.value(ir.OpStore, ir.Void, p.base, n)
		v.Imm, v.Size, v.Align = int64(s.off), s.size, min(s.size, commonAlign(p.align, int64(s.off)))
		v.Volatile = p.volatile
	}
	for _, l := range img.leaves {
		g.initLeaf(p, l)
	}
}

func storeType(size int) ir.Type {
	if size == 8 {
		return ir.I64
	}
	return ir.I32
}

// initLeaf computes and stores one part of an object.
func (g *body) initLeaf(p place, l leaf) {
	size := g.sizeof(p.t)
	p = p.at(int64(l.offset), l.typ)
	switch {
	case l.bits != nil:
		p.bit, p.bits, p.size = l.bits.bit, l.bits.bits, size-l.offset
	case inMemory(l.typ):
		g.copyTo(p, g.object(l.expr, l.typ))
		return
	}
	v := g.convert(l.expr, g.expr(l.expr), g.decay(g.typeOf(l.expr)), l.typ)
	g.atNode(l.expr)
	g.store(l.expr, p, v)
}

// An initWriter decides how constant content is written: a member at a time, so
// that the passes see which members are set, and arrays in words.
type initWriter struct {
	g       *body
	p       place
	data    []byte
	covered []bool // by what is stored
	stores  []initStore
}

type initStore struct {
	off, size int
	value     int64
}

func (w *initWriter) cover(off, size int) {
	for i := off; i < off+size && i < len(w.covered); i++ {
		w.covered[i] = true
	}
}

func (w *initWriter) isCovered() bool {
	for _, c := range w.covered {
		if !c {
			return false
		}
	}
	return true
}

// plan lists the stores of what is constant and not zero in the object of type t
// at off.
func (w *initWriter) plan(t cc.Type, off int) {
	switch t := t.(type) {
	case *cc.StructType, *cc.UnionType:
		if t.Kind() == cc.Union {
			w.words(off, w.g.sizeof(t))
			return
		}
		end := off
		for _, f := range w.g.fields(t) {
			if f.bits != 0 {
				continue
			}
			w.words(end, off+f.offset-end) // bit-fields, and padding
			w.plan(f.typ, off+f.offset)
			end = off + f.offset + w.g.sizeof(f.typ)
		}
		w.words(end, off+w.g.sizeof(t)-end)
	case *cc.ArrayType:
		elem, size, end := t.Elem(), w.g.sizeof(t.Elem()), off+w.g.sizeof(t)
		if t.Len() <= 0 { // the flexible one, which is last
			end = len(w.data)
		}
		if isScalar(elem) && size < 8 || size == 0 {
			w.words(off, end-off)
			return
		}
		for ; off+size <= end; off += size {
			w.plan(elem, off)
		}
	default:
		w.words(off, w.g.sizeof(t))
	}
}

// words lists the stores of n bytes at off that are not zero.
func (w *initWriter) words(off, n int) {
	n = min(n, len(w.data)-off)
	for n > 0 {
		size := min(8, commonAlign(w.p.align, int64(off)))
		for size > n {
			size /= 2
		}
		if v, ok := w.word(off, size); ok {
			w.stores = append(w.stores, initStore{off, size, v})
			w.cover(off, size)
		}
		off, n = off+size, n-size
	}
}

// word returns the content of size bytes at off, ok if they are not all zero.
func (w *initWriter) word(off, size int) (v int64, ok bool) {
	var b [8]byte
	copy(b[:], w.data[off:off+size])
	v = int64(binary.LittleEndian.Uint64(b[:]))
	return v, v != 0
}
