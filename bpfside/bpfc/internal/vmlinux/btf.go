package vmlinux

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// The format is described in Documentation/bpf/btf.rst of the kernel. Types are
// numbered from 1 on in the order in which they stand; 0 is void.

const (
	magic     = 0xeb9f
	headerLen = 24 // of version 1
)

type kind uint32

const (
	kindVoid kind = iota
	kindInt
	kindPtr
	kindArray
	kindStruct
	kindUnion
	kindEnum
	kindFwd
	kindTypedef
	kindVolatile
	kindConst
	kindRestrict
	kindFunc
	kindFuncProto
	kindVar
	kindDatasec
	kindFloat
	kindDeclTag
	kindTypeTag
	kindEnum64
)

// maxDepth bounds how deep types may refer to one another, which is a few dozen in
// a kernel, so that a made-up chain does not exhaust the stack.
const maxDepth = 500

// maxSize bounds the size of a type in bytes: larger than any of a kernel, and small
// enough that its bits have a number on machines of 32 bits.
const maxSize = 1 << 26

// typeID is the number of a type.
type typeID uint32

// blob is BTF that is read where it lies. Its accessors give void, "" and nothing
// for what is not there.
type blob struct {
	types   []byte
	strings []byte
	offsets []uint32 // of each type in types; [0] is unused
}

// rawType is the common head of a type: name, kind, count and flag, size or type.
type rawType struct {
	nameOff uint32
	info    uint32
	size    uint32 // or the number of the type that it refers to
	rest    []byte // what follows, as the kind has it
}

func (t rawType) kind() kind     { return kind(t.info >> 24 & 0x1f) }
func (t rawType) vlen() int      { return int(t.info & 0xffff) }
func (t rawType) kindFlag() bool { return t.info>>31 != 0 }
func (t rawType) ref() typeID    { return typeID(t.size) }

// word returns the nth 32-bit word behind the head.
func (t rawType) word(n int) uint32 { return binary.LittleEndian.Uint32(t.rest[4*n:]) }

// words is the number of 32-bit words behind the head of a type, -1 of an unknown
// kind.
func words(k kind, vlen int) int {
	switch k {
	case kindInt, kindVar, kindDeclTag:
		return 1
	case kindArray:
		return 3
	case kindStruct, kindUnion, kindDatasec, kindEnum64:
		return 3 * vlen
	case kindEnum, kindFuncProto:
		return 2 * vlen
	case kindPtr, kindFwd, kindTypedef, kindVolatile, kindConst, kindRestrict, kindFunc, kindFloat, kindTypeTag:
		return 0
	}
	return -1
}

// parse checks the outline of BTF and notes where each type is.
func parse(raw []byte) (*blob, error) {
	if len(raw) < headerLen {
		return nil, errors.New("read BTF: shorter than its header")
	}
	le := binary.LittleEndian
	if m := le.Uint16(raw); m != magic {
		return nil, fmt.Errorf("read BTF: magic %#x, not that of little-endian BTF", m)
	}
	if v := raw[2]; v != 1 {
		return nil, fmt.Errorf("read BTF: version %d", v)
	}
	section := func(at int) ([]byte, error) {
		start, size := uint64(le.Uint32(raw[4:]))+uint64(le.Uint32(raw[at:])), uint64(le.Uint32(raw[at+4:]))
		if start+size > uint64(len(raw)) {
			return nil, errors.New("read BTF: a section is out of the file")
		}
		return raw[start : start+size], nil
	}
	types, err := section(8)
	if err != nil {
		return nil, err
	}
	strings, err := section(16)
	if err != nil {
		return nil, err
	}
	if len(strings) == 0 || strings[0] != 0 || strings[len(strings)-1] != 0 {
		return nil, errors.New("read BTF: the strings are not terminated")
	}
	b := &blob{types: types, strings: strings}
	// A type of a kernel has 40 bytes on average.
	b.offsets = make([]uint32, 1, len(types)/40+1)
	for off := 0; off < len(types); {
		if len(types)-off < 12 {
			return nil, fmt.Errorf("read BTF: type %d is cut off", len(b.offsets))
		}
		info := le.Uint32(types[off+4:])
		k := kind(info >> 24 & 0x1f)
		n := words(k, int(info&0xffff))
		if n < 0 {
			return nil, fmt.Errorf("read BTF: type %d is of kind %d, which is not known", len(b.offsets), k)
		}
		if size := le.Uint32(types[off+8:]); (k == kindStruct || k == kindUnion) && size > maxSize {
			return nil, fmt.Errorf("read BTF: type %d has %d bytes", len(b.offsets), size)
		}
		if len(types)-off-12 < 4*n {
			return nil, fmt.Errorf("read BTF: type %d is cut off", len(b.offsets))
		}
		b.offsets = append(b.offsets, uint32(off))
		off += 12 + 4*n
	}
	return b, nil
}

// typ returns type id; void if there is none.
func (b *blob) typ(id typeID) rawType {
	if id == 0 || uint64(id) >= uint64(len(b.offsets)) {
		return rawType{}
	}
	off := b.offsets[id]
	t := rawType{
		nameOff: binary.LittleEndian.Uint32(b.types[off:]),
		info:    binary.LittleEndian.Uint32(b.types[off+4:]),
		size:    binary.LittleEndian.Uint32(b.types[off+8:]),
	}
	t.rest = b.types[off+12:][:4*words(t.kind(), t.vlen())]
	return t
}

// kind returns the kind of a type that is there: a look at one word, for going through
// all of them.
func (b *blob) kind(id typeID) kind {
	return kind(b.types[b.offsets[id]+7] & 0x1f)
}

// stringAt returns the bytes of the string at off.
func (b *blob) stringAt(off uint32) []byte {
	if uint64(off) >= uint64(len(b.strings)) {
		return nil
	}
	s := b.strings[off:]
	return s[:bytes.IndexByte(s, 0)]
}

func (b *blob) name(t rawType) string { return string(b.stringAt(t.nameOff)) }

// member is one of a structure or union.
type member struct {
	name     string
	typ      typeID
	offset   int // in bits
	bitfield int // its width in bits, 0 if it is none
}

// members returns the members of t.
func (b *blob) members(t rawType) []member {
	ms := make([]member, t.vlen())
	for i := range ms {
		m := member{name: string(b.stringAt(t.word(3 * i))), typ: typeID(t.word(3*i + 1))}
		at := t.word(3*i + 2)
		if t.kindFlag() {
			m.bitfield, m.offset = int(at>>24), int(at&0xffffff)
		} else {
			m.offset = int(min(at, 8*maxSize))
			// Before the flag the integer itself told its bits (kernels before 5.0).
			if u := b.typ(b.strip(m.typ)); u.kind() == kindInt && u.word(0)&0xff != u.size*8 {
				m.bitfield, m.offset = int(u.word(0)&0xff), m.offset+int(u.word(0)>>16&0xff)
			}
		}
		ms[i] = m
	}
	return ms
}

// strip follows typedefs and qualifiers to what they stand for.
func (b *blob) strip(id typeID) typeID {
	for range maxDepth {
		switch t := b.typ(id); t.kind() {
		case kindTypedef, kindVolatile, kindConst, kindRestrict, kindTypeTag:
			id = t.ref()
		default:
			return id
		}
	}
	return 0
}

// unqualify follows qualifiers alone.
func (b *blob) unqualify(id typeID) typeID {
	for range maxDepth {
		switch t := b.typ(id); t.kind() {
		case kindVolatile, kindConst, kindRestrict, kindTypeTag:
			id = t.ref()
		default:
			return id
		}
	}
	return 0
}
