package front

import (
	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// A field is a member of a struct or a union.
type field struct {
	name   string // "" of an anonymous struct or union, whose members are its parent's as well
	typ    cc.Type
	offset int // in bytes, within its parent; of a bit-field, where the byte of its first bit is
	// A bit-field has bits bits, the first of which is bit bits from the start of
	// its parent, in the order of a little-endian machine. bits is 0 of others.
	bit, bits int
	packed    bool // may be less aligned than its type
	decl      *cc.Declarator
}

// A record is a struct or a union. cc has many types for one: each typedef and
// each qualifier makes a copy, and a copy that was made before the end of the
// definition has no members.
type record struct {
	key      recordKey
	typ      cc.Type
	tag      string
	union    bool
	complete bool
	preserve bool // attribute or pragma preserve_access_index
	fields   []field
	size     int
	align    int
}

// A recordKey is one for all copies of a record: the declarator of its first
// named member, and how deep in anonymous members that is, or, without any, its
// tag.
type recordKey struct {
	first *cc.Declarator
	depth int
	union bool
	tag   string
}

// aggregate is what cc's struct and union types have in common.
type aggregate interface {
	cc.Type
	NumFields() int
	FieldByIndex(int) *cc.Field
	Tag() cc.Token
	LexicalScope() *cc.Scope
}

// record returns what t is; nil if it is neither a struct nor a union.
func (u *unit) record(t cc.Type) *record {
	a, ok := t.(aggregate)
	if !ok {
		return nil
	}
	if a.NumFields() == 0 {
		a = u.definition(a)
	}
	key := keyOf(a, 0)
	if r := u.records[key]; r != nil {
		return r
	}
	tag := a.Tag()
	r := &record{
		key:      key,
		typ:      a,
		tag:      tag.SrcStr(),
		union:    key.union,
		complete: !a.IsIncomplete(),
	}
	u.records[key] = r
	if attrs := a.Attributes(); attrs != nil {
		r.preserve = attrs.IsAttrSet("preserve_access_index") || attrs.IsAttrSet("__preserve_access_index__")
	}
	if !r.complete {
		return r
	}
	r.size, r.align = int(min(max(a.Size(), 0), maxSize)), max(a.FieldAlign(), 1)
	if key.first != nil {
		name := key.first.NameTok()
		r.preserve = r.preserve || u.pushed(name.Seq())
	}
	for i := range a.NumFields() {
		f := a.FieldByIndex(i)
		if f.Name() == "" && u.anonymous(f) == nil {
			continue // padding, or an anonymous struct that has nothing in it
		}
		m := field{name: f.Name(), typ: f.Type(), offset: int(f.Offset()), decl: f.Declarator()}
		if f.IsBitfield() {
			m.bits = int(f.ValueBits())
			m.bit = int(f.Offset())*8 + f.OffsetBits()
			m.offset = m.bit / 8
		} else if align := u.alignof(m.typ); r.align < align || m.offset%align != 0 {
			m.packed = true
		}
		r.fields = append(r.fields, m)
	}
	return r
}

// anonymous returns the record that the members of f are in if f has no name.
func (u *unit) anonymous(f *cc.Field) aggregate {
	if f.Name() != "" || f.IsBitfield() {
		return nil
	}
	a, _ := f.Type().(aggregate)
	return a
}

func keyOf(a aggregate, depth int) recordKey {
	for i := range a.NumFields() {
		f := a.FieldByIndex(i)
		if f.Name() != "" {
			return recordKey{first: f.Declarator(), depth: depth, union: a.Kind() == cc.Union}
		}
		if inner, ok := f.Type().(aggregate); ok && !f.IsBitfield() {
			if k := keyOf(inner, depth+1); k.first != nil {
				k.union = a.Kind() == cc.Union
				return k
			}
		}
	}
	tag := a.Tag()
	return recordKey{union: a.Kind() == cc.Union, depth: depth, tag: tag.SrcStr()}
}

// definition returns the type of the definition of a record, and a itself if
// there is none that its scope sees.
func (u *unit) definition(a aggregate) aggregate {
	tag := a.Tag()
	name := tag.SrcStr()
	if name == "" {
		return a
	}
	for s := a.LexicalScope(); s != nil; s = s.Parent {
		for _, n := range s.Nodes[name] {
			d, ok := n.(*cc.StructOrUnionSpecifier)
			if !ok || d.Case != cc.StructOrUnionSpecifierDef {
				continue
			}
			if t, ok := d.Type().(aggregate); ok && t.Kind() == a.Kind() {
				return t
			}
		}
	}
	return a
}

// fields returns the members of a struct or union in their order, without
// bit-fields that have no name.
func (u *unit) fields(t cc.Type) []field {
	if r := u.record(t); r != nil {
		return r.fields
	}
	return nil
}

// member finds the member of t that has a name: C11 6.7.2.1p13, the members of an
// anonymous member are those of t. It returns the members that lead there, each
// with its offset within the one before.
func (u *unit) member(t cc.Type, name string) (path []field, ok bool) {
	fields := u.fields(t)
	for _, f := range fields {
		if f.name == name && name != "" {
			return []field{f}, true
		}
	}
	for _, f := range fields {
		if f.name != "" {
			continue
		}
		if path, ok := u.member(f.typ, name); ok {
			return append([]field{f}, path...), true
		}
	}
	return nil, false
}

// maxSize is what the size of a type is cut off at, so that sums of a few do not
// overflow. No object of that size fits anywhere.
const maxSize = 1 << 30

// sizeof returns the size of an object of type t in bytes: 0 if t has none.
func (u *unit) sizeof(t cc.Type) int {
	switch t := t.(type) {
	case *cc.ArrayType:
		if t.Len() < 0 {
			return 0
		}
		size := u.sizeof(t.Elem())
		if size > 0 && t.Len() > int64(maxSize/size) {
			return maxSize
		}
		return int(t.Len()) * size
	case *cc.StructType, *cc.UnionType:
		return u.record(t).size
	case *cc.FunctionType, *cc.InvalidType:
		return 0
	}
	if t.Kind() == cc.Void {
		return 0
	}
	return max(int(t.Size()), 0)
}

// alignof returns the alignment of t: at least 1.
func (u *unit) alignof(t cc.Type) int {
	switch t := t.(type) {
	case *cc.ArrayType:
		if a := t.Attributes(); a != nil && a.Aligned() > 0 {
			return int(a.Aligned())
		}
		return u.alignof(t.Elem())
	case *cc.StructType, *cc.UnionType:
		r := u.record(t)
		if a := t.Attributes(); a != nil && a.Aligned() > 0 {
			return int(a.Aligned())
		}
		return max(r.align, 1)
	case *cc.FunctionType, *cc.InvalidType:
		return 1
	}
	return max(t.Align(), 1)
}

// irType returns what a value of type t is in a register: Void if it is in none.
func (u *unit) irType(t cc.Type) ir.Type {
	switch t.Kind() {
	case cc.Ptr, cc.Array, cc.Function:
		return ir.Ptr
	case cc.Bool, cc.Char, cc.SChar, cc.UChar, cc.Short, cc.UShort, cc.Int, cc.UInt:
		return ir.I32
	case cc.Long, cc.ULong, cc.LongLong, cc.ULongLong:
		return ir.I64
	case cc.Enum:
		return u.irType(underlying(t))
	}
	return ir.Void
}

// basic returns the type of a kind without qualifiers, attributes or a typedef.
func (u *unit) basic(k cc.Kind) cc.Type {
	if len(u.basics) == 0 {
		for _, name := range []string{"bool", "char", "schar", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "llong", "ullong", "ptr"} {
			for _, n := range u.ast.Scope.Nodes["__bpfc_type_"+name] {
				d, ok := n.(*cc.Declarator)
				if !ok {
					continue
				}
				t := d.Type()
				if p, ok := t.(*cc.PointerType); ok {
					t = p.Elem() // void
				}
				u.basics[t.Kind()] = t
			}
		}
	}
	if t := u.basics[k]; t != nil {
		return t
	}
	return cc.Invalid
}
