// Package btf writes BTF, the kernel's type format, into bytes: as much of it
// as describes functions and the values that they take. It may not know of
// probes, Go or ELF.
//
// The encoding is that of the kernel's Documentation/bpf/btf.rst and
// include/uapi/linux/btf.h, in the byte order of the target.
package btf

import (
	"encoding/binary"
	"slices"
)

// An ID names a type; 0 is void.
type ID uint32

// Void is the type of nothing.
const Void ID = 0

// MaxMembers is the largest number of members of a struct (vlen, 16 bits).
const MaxMembers = 0xffff

// The kinds of BTF that are written here.
const (
	kindInt       = 1
	kindPtr       = 2
	kindArray     = 3
	kindStruct    = 4
	kindConst     = 10
	kindFunc      = 12
	kindFuncProto = 13
	kindFloat     = 16
	kindDeclTag   = 17
)

const (
	magic      = 0xeb9f
	headerSize = 24
)

// Encoding tells how the bits of an integer are meant.
type Encoding uint32

// The encodings of an integer; at most one of them holds.
const (
	Unsigned Encoding = 0
	Signed   Encoding = 1
	Char     Encoding = 2
	Bool     Encoding = 4
)

// A Member is a member of a struct or a parameter of a function.
type Member struct {
	Name string
	Type ID
	// Offset is counted in bytes from the start of a struct.
	Offset int
}

// A Builder collects types. Types that look the same are the same type, with
// the exception of structs: those are the caller's to tell apart, since they
// may be recursive.
type Builder struct {
	order   byteOrder
	types   []byte
	strings []byte
	next    ID

	names  map[string]uint32
	seen   map[key]ID
	protos map[string]ID
	// proto is the FUNC_PROTO at hand.
	proto []byte
}

// byteOrder is what both orders of encoding/binary are.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// key identifies a type that is described by few numbers.
type key struct {
	kind, name, size, info uint32
	elem                   ID
}

// NewBuilder returns an empty builder with room for about the given number of
// bytes of types and of strings.
func NewBuilder(order binary.ByteOrder, types, strings int) *Builder {
	var o byteOrder = binary.LittleEndian
	if order == binary.ByteOrder(binary.BigEndian) {
		o = binary.BigEndian
	}
	return &Builder{
		order:   o,
		types:   make([]byte, 0, types),
		strings: make([]byte, 1, strings+1),
		next:    1,
		names:   make(map[string]uint32),
		seen:    make(map[key]ID),
		protos:  make(map[string]ID),
	}
}

// name returns the offset of a string, adding it when it is new.
func (b *Builder) name(s string) uint32 {
	if s == "" {
		return 0
	}
	if off, ok := b.names[s]; ok {
		return off
	}
	off := uint32(len(b.strings))
	b.strings = append(append(b.strings, s...), 0)
	b.names[s] = off
	return off
}

// record appends a type: the three words that every type starts with, and more
// words that the caller fills in.
func (b *Builder) record(name, kind, vlen, sizeOrType uint32, more int) (ID, []byte) {
	at := len(b.types)
	size := 12 + 4*more
	b.types = slices.Grow(b.types, size)[:at+size]
	r := b.types[at:]
	b.order.PutUint32(r[0:], name)
	b.order.PutUint32(r[4:], kind<<24|vlen)
	b.order.PutUint32(r[8:], sizeOrType)
	id := b.next
	b.next++
	return id, r[12:]
}

// scalar returns the type that k describes, writing it when it is new.
func (b *Builder) scalar(k key) ID {
	if id, ok := b.seen[k]; ok {
		return id
	}
	var id ID
	var more []byte
	switch k.kind {
	case kindInt:
		id, more = b.record(k.name, kindInt, 0, k.size, 1)
		b.order.PutUint32(more, k.info)
	case kindFloat:
		id, _ = b.record(k.name, kindFloat, 0, k.size, 0)
	case kindArray:
		id, more = b.record(0, kindArray, 0, 0, 3)
		b.order.PutUint32(more[0:], uint32(k.elem))
		b.order.PutUint32(more[4:], k.info)
		b.order.PutUint32(more[8:], k.size)
	default: // kindPtr, kindConst
		id, _ = b.record(0, k.kind, 0, uint32(k.elem), 0)
	}
	b.seen[k] = id
	return id
}

// Int returns an integer of size bytes.
func (b *Builder) Int(name string, size int, enc Encoding) ID {
	return b.scalar(key{
		kind: kindInt, name: b.name(name), size: uint32(size),
		info: uint32(enc)<<24 | uint32(size*8),
	})
}

// Float returns a floating point number of size bytes.
func (b *Builder) Float(name string, size int) ID {
	return b.scalar(key{kind: kindFloat, name: b.name(name), size: uint32(size)})
}

// Pointer returns a pointer to elem.
func (b *Builder) Pointer(elem ID) ID { return b.scalar(key{kind: kindPtr, elem: elem}) }

// Const returns elem with the qualifier const.
func (b *Builder) Const(elem ID) ID { return b.scalar(key{kind: kindConst, elem: elem}) }

// Array returns an array of n elements.
func (b *Builder) Array(elem ID, n int) ID {
	index := b.Int("uint32_t", 4, Unsigned)
	return b.scalar(key{kind: kindArray, size: uint32(n), info: uint32(index), elem: elem})
}

// A Struct is a struct whose members may still be missing: so they can point
// back to it.
type Struct struct {
	ID    ID
	at, n int // where the members go, and how many
}

// Struct starts a struct of size bytes with n members, which Members must
// give.
func (b *Builder) Struct(name string, size, n int) Struct {
	id, _ := b.record(b.name(name), kindStruct, uint32(n), uint32(size), 3*n)
	return Struct{ID: id, at: len(b.types) - 12*n, n: n}
}

// Members gives the members of a struct.
func (b *Builder) Members(s Struct, members []Member) {
	if len(members) != s.n {
		panic("BUG: btf: wrong number of members")
	}
	for i, m := range members {
		name := b.name(m.Name)
		at := b.types[s.at+12*i:]
		b.order.PutUint32(at[0:], name)
		b.order.PutUint32(at[4:], uint32(m.Type))
		b.order.PutUint32(at[8:], uint32(m.Offset)*8)
	}
}

// Func adds a global function without result. Its name must be new.
func (b *Builder) Func(name []byte, params []Member) ID {
	const linkageGlobal = 1
	proto := b.funcProto(params)
	off := uint32(len(b.strings))
	b.strings = append(append(b.strings, name...), 0)
	id, _ := b.record(off, kindFunc, linkageGlobal, uint32(proto), 0)
	return id
}

func (b *Builder) funcProto(params []Member) ID {
	p := b.proto[:0]
	for _, m := range params {
		p = b.order.AppendUint32(p, b.name(m.Name))
		p = b.order.AppendUint32(p, uint32(m.Type))
	}
	b.proto = p
	if id, ok := b.protos[string(p)]; ok {
		return id
	}
	id, more := b.record(0, kindFuncProto, uint32(len(params)), uint32(Void), 2*len(params))
	copy(more, p)
	b.protos[string(p)] = id
	return id
}

// Tag attaches the string made of the given parts to a type, or to its member
// or parameter number component if that is not negative. It is meant for
// strings that occur once; TagShared looks for an equal string first.
func (b *Builder) Tag(target ID, component int, parts ...string) {
	off := uint32(len(b.strings))
	for _, s := range parts {
		b.strings = append(b.strings, s...)
	}
	b.strings = append(b.strings, 0)
	b.tag(target, component, off)
}

// TagShared attaches a string that may have occurred before.
func (b *Builder) TagShared(target ID, component int, s string) {
	b.tag(target, component, b.name(s))
}

func (b *Builder) tag(target ID, component int, name uint32) {
	_, more := b.record(name, kindDeclTag, 0, uint32(target), 1)
	b.order.PutUint32(more, uint32(int32(component)))
}

// Size returns the number of bytes that Put writes.
func (b *Builder) Size() int { return headerSize + len(b.types) + len(b.strings) }

// Put writes the BTF into dst, which must be Size bytes long.
func (b *Builder) Put(dst []byte) {
	o := b.order
	o.PutUint16(dst[0:], magic)
	dst[2] = 1 // version
	dst[3] = 0 // flags
	o.PutUint32(dst[4:], headerSize)
	o.PutUint32(dst[8:], 0) // type_off, behind the header
	o.PutUint32(dst[12:], uint32(len(b.types)))
	o.PutUint32(dst[16:], uint32(len(b.types))) // str_off
	o.PutUint32(dst[20:], uint32(len(b.strings)))
	copy(dst[headerSize:], b.types)
	copy(dst[headerSize+len(b.types):], b.strings)
}
