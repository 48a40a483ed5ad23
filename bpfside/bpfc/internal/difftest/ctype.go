package difftest

import "fmt"

// A ctype is a type of the programs: an integer, or an aggregate of them.
type ctype struct {
	kind   ctypeKind
	name   string // as a declaration spells it; of an array: of its elements
	bits   int    // of an integer
	signed bool
	elem   *ctype // of an array
	n      int    // elements of an array
	fields []cfield
}

type ctypeKind uint8

const (
	cInt ctypeKind = iota
	cBool
	cEnum
	cArray
	cStruct
	cUnion
)

// A cfield is a member of a struct or union; one without a name is an anonymous
// struct or union.
type cfield struct {
	name string
	typ  *ctype
	bits int // of a bit-field, else 0
}

var (
	u8, s8   = intType("u8", 8, false), intType("s8", 8, true)
	u16, s16 = intType("u16", 16, false), intType("s16", 16, true)
	u32, s32 = intType("u32", 32, false), intType("s32", 32, true)
	u64, s64 = intType("u64", 64, false), intType("s64", 64, true)

	boolType = &ctype{kind: cBool, name: "_Bool", bits: 8}
	intTypes = []*ctype{u8, s8, u16, s16, u32, s32, u64, s64}
)

func intType(name string, bits int, signed bool) *ctype {
	return &ctype{kind: cInt, name: name, bits: bits, signed: signed}
}

// scalar reports whether t is an integer of some kind.
func (t *ctype) scalar() bool { return t.kind <= cEnum }

// aggregate reports whether t has members.
func (t *ctype) aggregate() bool { return t.kind == cStruct || t.kind == cUnion }

// decl declares name to be a t.
func (t *ctype) decl(name string) string {
	if t.kind != cArray {
		return t.name + " " + name
	}
	dims := ""
	for ; t.kind == cArray; t = t.elem {
		dims += fmt.Sprintf("[%d]", t.n)
	}
	return t.name + " " + name + dims
}

// size is a bound of what t takes up, for keeping frames small.
func (t *ctype) size() int {
	switch t.kind {
	case cArray:
		return t.n * t.elem.size()
	case cStruct, cUnion:
		size := 0
		for _, f := range t.fields {
			size += max(f.typ.size(), 4)
		}
		return (size + 7) &^ 7
	}
	return t.bits / 8
}

// hasBool reports whether there is a _Bool in t, which may hold nothing but 0
// and 1.
func (t *ctype) hasBool() bool {
	switch t.kind {
	case cBool:
		return true
	case cArray:
		return t.elem.hasBool()
	}
	for _, f := range t.fields {
		if f.typ.hasBool() {
			return true
		}
	}
	return false
}
