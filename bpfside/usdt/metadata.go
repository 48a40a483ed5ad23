package usdt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Objects that nopfire fabricates carry names and types of the arguments as BTF,
// the type format of the kernel (Documentation/bpf/btf.rst,
// include/uapi/linux/btf.h): for each probe a FUNC with a DECL_TAG
// "nopfire:probe=PROVIDER:NAME" and the arguments as the parameters of its
// FUNC_PROTO; "nopfire:len=INDEX" on a pointer parameter names the argument with
// its length, "nopfire:go=TYPE" gives the Go spelling of it, of a struct or of a
// member.
//
// This reader takes of BTF what that needs. It is not cilium's: the input is a
// stranger's, and a chain of a million pointers, which 12 MB hold, must cost no
// stack.
const (
	btfSection = ".BTF"
	btfMagic   = 0xeb9f
	btfHeader  = 24

	tagProbe = "nopfire:probe="
	tagLen   = "nopfire:len="
	tagGo    = "nopfire:go="

	// maxTypeDepth bounds how deep types are followed through pointers,
	// arrays, structs and modifiers, maxTypes how many are shown for one
	// file: beyond, a type is Unknown.
	maxTypeDepth = 32
	maxTypes     = 100_000
	// maxParams bounds the arguments of a probe.
	maxParams = 64
)

// The kinds of BTF.
const (
	btfInt = iota + 1
	btfPtr
	btfArray
	btfStruct
	btfUnion
	btfEnum
	btfFwd
	btfTypedef
	btfVolatile
	btfConst
	btfRestrict
	btfFunc
	btfFuncProto
	btfVar
	btfDatasec
	btfFloat
	btfDeclTag
	btfTypeTag
	btfEnum64
)

// btfTypes is a decoded table of types: where each begins. All access goes
// through methods that check.
type btfTypes struct {
	order   binary.ByteOrder
	data    []byte // the type section
	strings string // the string section
	starts  []uint32
}

// A btfType is the head of a type and what follows it.
type btfType struct {
	name, info, size uint32 // size is a type id in many kinds
	rest             []byte
}

func (t btfType) kind() uint32   { return t.info >> 24 & 0x1f }
func (t btfType) vlen() int      { return int(t.info & 0xffff) }
func (t btfType) kindFlag() bool { return t.info>>31 != 0 }

// parseBTF checks the header of a .BTF section and finds the types in it. The
// error says where in the section the fault is.
func parseBTF(data []byte, order binary.ByteOrder) (*btfTypes, error) {
	if len(data) < btfHeader {
		return nil, errors.New("btf header is cut off")
	}
	if order.Uint16(data) != btfMagic {
		return nil, fmt.Errorf("btf magic is %#x", order.Uint16(data))
	}
	if data[2] != 1 {
		return nil, fmt.Errorf("btf version %d is not known", data[2])
	}
	hdr := order.Uint32(data[4:])
	if hdr < btfHeader || uint64(hdr) > uint64(len(data)) {
		return nil, fmt.Errorf("btf header of %d bytes", hdr)
	}
	part := func(at int) ([]byte, error) {
		off, n := uint64(order.Uint32(data[at:])), uint64(order.Uint32(data[at+4:]))
		body := data[hdr:]
		if off+n > uint64(len(body)) {
			return nil, fmt.Errorf("btf header: bytes %d to %d of %d", off, off+n, len(body))
		}
		return body[off : off+n], nil
	}
	b := &btfTypes{order: order}
	var err error
	if b.data, err = part(8); err != nil {
		return nil, err
	}
	text, err := part(16)
	if err != nil {
		return nil, err
	}
	b.strings = string(text)
	b.starts = append(b.starts, 0) // id 0 is void
	for off := 0; off < len(b.data); {
		n, ok := btfSize(order, b.data[off:])
		if !ok {
			return nil, fmt.Errorf("btf type %d at %#x is cut off or of unknown kind", len(b.starts), int(hdr)+off)
		}
		b.starts = append(b.starts, uint32(off))
		off += n
	}
	return b, nil
}

// btfSize returns the number of bytes of the type at the start of data.
func btfSize(order binary.ByteOrder, data []byte) (n int, ok bool) {
	if len(data) < 12 {
		return 0, false
	}
	info := order.Uint32(data[4:])
	vlen := int(info & 0xffff)
	switch info >> 24 & 0x1f {
	case btfPtr, btfFwd, btfTypedef, btfVolatile, btfConst, btfRestrict, btfFunc, btfFloat, btfTypeTag:
		n = 12
	case btfInt, btfVar, btfDeclTag:
		n = 16
	case btfArray:
		n = 24
	case btfStruct, btfUnion, btfDatasec, btfEnum64:
		n = 12 + 12*vlen
	case btfEnum, btfFuncProto:
		n = 12 + 8*vlen
	default:
		return 0, false
	}
	return n, n <= len(data)
}

// at returns the type with the given id, which must not be void.
func (b *btfTypes) at(id uint32) (btfType, bool) {
	if id == 0 || uint64(id) >= uint64(len(b.starts)) {
		return btfType{}, false
	}
	d := b.data[b.starts[id]:]
	n, _ := btfSize(b.order, d)
	u := b.order.Uint32
	return btfType{u(d), u(d[4:]), u(d[8:]), d[12:n]}, true
}

// maxText bounds a string, so that a million types that all point into one long
// string cost no quadratic time.
const maxText = 4096

// text returns the string at an offset of the string section, "" if there is
// none or it is longer than maxText.
func (b *btfTypes) text(off uint32) string {
	if uint64(off) >= uint64(len(b.strings)) {
		return ""
	}
	s := b.strings[off:]
	s, _, ok := strings.Cut(s[:min(len(s), maxText)], "\x00")
	if !ok {
		return ""
	}
	return s
}

// readMetadata gives the probes their parameters.
func (img *image) readMetadata(ef *elfFile) {
	s := ef.Section(btfSection)
	if s == nil || len(img.file.Probes) == 0 {
		return
	}
	data, err := img.section(s, maxBTFBytes)
	if err == nil && !bytes.Contains(data, []byte(tagProbe)) {
		return // somebody else's types
	}
	var b *btfTypes
	if err == nil {
		b, err = parseBTF(data, ef.ByteOrder)
	}
	if err != nil {
		img.file.problem(btfSection, int64(s.Offset), "", err)
		return
	}
	m := newMetadata(b, img.file.Machine.WordSize())
	for _, p := range img.file.Probes {
		funcID, ok := m.funcs[p.String()]
		if !ok {
			continue
		}
		params, err := m.params(funcID)
		if err == nil {
			err = agree(params, p)
		}
		if err != nil {
			img.file.problem(btfSection, int64(s.Offset), p.String(), err)
			continue
		}
		p.Params = params
	}
}

// agree checks parameters against the notes of a probe, which are right if they
// differ: the code was built with them.
func agree(params []Param, p *Probe) error {
	for _, loc := range p.Locations {
		args := loc.Args()
		if len(args) != len(params) {
			return fmt.Errorf("metadata has %d arguments, the note %d", len(params), len(args))
		}
		for i, a := range args {
			t := params[i].Type
			if a.Err == nil && t.Kind != Unknown && t.Size != a.Size {
				return fmt.Errorf("argument %d has %d bytes in the metadata, %d in the note", i, t.Size, a.Size)
			}
		}
	}
	return nil
}

// metadata is the part of a BTF section that is about probes.
type metadata struct {
	b     *btfTypes
	word  int               // bytes of a pointer
	funcs map[string]uint32 // PROVIDER:NAME → id of the FUNC
	tags  map[tagKey]string // tags of parameters, structs and members
	types map[uint32]*Type
	named []namedField // to be given their Go spelling
}

// A tagKey is what a tag is about: a parameter of a FUNC or a member of a STRUCT, by
// its index, or the whole.
type tagKey struct {
	id        uint32
	component uint32
	prefix    string
}

// wholeType is the component of a tag that is about no part of a type.
const wholeType = 1<<32 - 1

// A namedField is a field whose type has a Go spelling of its own.
type namedField struct {
	of     *Type
	index  int
	goName string
}

func newMetadata(b *btfTypes, word int) *metadata {
	m := &metadata{b: b, word: word, funcs: make(map[string]uint32), tags: make(map[tagKey]string), types: make(map[uint32]*Type)}
	for id := uint32(1); uint64(id) < uint64(len(b.starts)); id++ {
		t, _ := b.at(id)
		if t.kind() != btfDeclTag {
			continue
		}
		component := b.order.Uint32(t.rest)
		text := b.text(t.name)
		if probe, ok := strings.CutPrefix(text, tagProbe); ok && component == wholeType {
			if _, dup := m.funcs[probe]; !dup {
				m.funcs[probe] = t.size
			}
			continue
		}
		for _, prefix := range []string{tagLen, tagGo} {
			if value, ok := strings.CutPrefix(text, prefix); ok {
				m.tags[tagKey{t.size, component, prefix}] = value
			}
		}
	}
	return m
}

// params returns the parameters of a FUNC.
func (m *metadata) params(funcID uint32) ([]Param, error) {
	fn, ok := m.b.at(funcID)
	if !ok || fn.kind() != btfFunc {
		return nil, fmt.Errorf("btf type %d is not a function", funcID)
	}
	proto, ok := m.b.at(fn.size)
	if !ok || proto.kind() != btfFuncProto {
		return nil, fmt.Errorf("btf type %d is not a function prototype", fn.size)
	}
	n := proto.vlen()
	if n > maxParams {
		return nil, fmt.Errorf("%d parameters", n)
	}
	params := make([]Param, n)
	for i := range params {
		rec := proto.rest[8*i:]
		p := Param{Name: m.b.text(m.b.order.Uint32(rec)), Type: m.typeOf(m.b.order.Uint32(rec[4:]), 0)}
		m.nameFields()
		goName := m.tags[tagKey{funcID, uint32(i), tagGo}]
		if tag, ok := m.tags[tagKey{funcID, uint32(i), tagLen}]; ok {
			at, err := strconv.Atoi(tag)
			if err != nil || at <= i || at >= n {
				return nil, fmt.Errorf("parameter %d: length in parameter %q", i, tag)
			}
			if p.Type.Kind != Pointer && p.Type.Kind != String {
				return nil, fmt.Errorf("parameter %d has a length and is no pointer", i)
			}
			p.Len = at
			p.Type = &Type{Kind: Bytes, Size: m.word, Elem: p.Type.Elem}
		}
		if goName == "error" && p.Type.Kind == String {
			p.Type = &Type{Kind: Error, Size: m.word}
		}
		if goName != "" {
			t := *p.Type // of this parameter alone: the type may be shared
			t.Go = goName
			p.Type = &t
		}
		params[i] = p
	}
	return params, nil
}

// nameFields gives fields the Go spelling of their types, which others may share. It
// is for when the types are whole: a copy of a pointer has to know where that leads.
func (m *metadata) nameFields() {
	for _, n := range m.named {
		t := *n.of.Fields[n.index].Type
		t.Go = n.goName
		n.of.Fields[n.index].Type = &t
	}
	m.named = nil
}

// typeOf translates a type. What has no meaning here is Unknown.
func (m *metadata) typeOf(id uint32, depth int) *Type {
	if t, ok := m.types[id]; ok {
		return t
	}
	unknown := &Type{}
	if depth > maxTypeDepth || len(m.types) >= maxTypes {
		return unknown
	}
	bt, ok := m.b.at(id)
	if !ok {
		return unknown
	}
	t := unknown
	switch bt.kind() {
	case btfInt:
		t = m.intType(bt)
	case btfFloat:
		if bt.size == 4 || bt.size == 8 {
			t = &Type{Kind: Float, Size: int(bt.size)}
		}
	case btfEnum, btfEnum64:
		if bt.size <= 8 {
			t = &Type{Kind: Uint, Size: int(bt.size)}
			if bt.kindFlag() {
				t.Kind = Int
			}
		}
	case btfTypedef, btfVolatile, btfConst, btfRestrict, btfTypeTag:
		return m.typeOf(bt.size, depth+1)
	case btfPtr:
		t = &Type{Kind: Pointer, Size: m.word}
		if m.isChar(bt.size) {
			t.Kind = String
			break
		}
		m.types[id] = t // before Elem: it may lead back here
		if bt.size != 0 {
			t.Elem = m.typeOf(bt.size, depth+1)
		}
	case btfArray:
		n := m.b.order.Uint32(bt.rest[8:])
		t = &Type{Kind: Array, Len: int(n & (1<<31 - 1))}
		m.types[id] = t
		t.Elem = m.typeOf(m.b.order.Uint32(bt.rest), depth+1)
		if size := uint64(t.Elem.Size) * uint64(t.Len); size < 1<<31 {
			t.Size = int(size)
		}
	case btfStruct:
		t = &Type{Kind: Struct, Size: int(bt.size & (1<<31 - 1)), Name: m.b.text(bt.name), Go: m.tags[tagKey{id, wholeType, tagGo}]}
		m.types[id] = t
		m.fields(t, id, bt, depth)
	}
	m.types[id] = t
	return t
}

// intType translates an INT; one with a bit offset, or of odd size, means
// nothing here.
func (m *metadata) intType(bt btfType) *Type {
	enc := m.b.order.Uint32(bt.rest)
	bits, off := enc&0xff, enc>>16&0xff
	if bt.size != 1 && bt.size != 2 && bt.size != 4 && bt.size != 8 {
		return &Type{}
	}
	const signed, boolean = 1 << 24, 4 << 24
	t := &Type{Kind: Uint, Size: int(bt.size)}
	switch {
	case off != 0 || (bits != 8*bt.size && enc&boolean == 0):
		return &Type{}
	case enc&boolean != 0:
		t.Kind = Bool
	case enc&signed != 0:
		t.Kind = Int
	}
	return t
}

// isChar reports whether a type is a character behind modifiers.
func (m *metadata) isChar(id uint32) bool {
	const char = 2 << 24
	for range maxTypeDepth {
		bt, ok := m.b.at(id)
		if !ok {
			return false
		}
		switch bt.kind() {
		case btfConst, btfVolatile, btfRestrict, btfTypedef, btfTypeTag:
			id = bt.size
		case btfInt:
			enc := m.b.order.Uint32(bt.rest)
			return bt.size == 1 && (enc&char != 0 || m.b.text(bt.name) == "char")
		default:
			return false
		}
	}
	return false
}

// fields translates the members of a struct. Bit fields are left out.
func (m *metadata) fields(t *Type, id uint32, bt btfType, depth int) {
	for i := range bt.vlen() {
		if len(m.types) >= maxTypes {
			return
		}
		u := m.b.order.Uint32
		rec := bt.rest[12*i:]
		off := u(rec[8:])
		if bt.kindFlag() {
			if off>>24 != 0 {
				continue
			}
			off &= 1<<24 - 1
		}
		if off%8 != 0 || off/8 > bt.size {
			continue
		}
		t.Fields = append(t.Fields, Field{m.b.text(u(rec)), int(off / 8), m.typeOf(u(rec[4:]), depth+1)})
		last := len(t.Fields) - 1
		// A struct has its own, and is one and the same wherever it occurs.
		if goName := m.tags[tagKey{id, uint32(i), tagGo}]; goName != "" && t.Fields[last].Type.Kind != Struct {
			m.named = append(m.named, namedField{t, last, goName})
		}
	}
}
