package front

import (
	"strings"

	"github.com/cilium/ebpf/btf"
	"modernc.org/cc/v4"
)

// btfTypes are the BTF types that were made of the types of a unit. Each struct,
// union, enumeration and typedef is made once, so that cycles close.
//
// Behind a pointer that is a member, a struct with a name is only named, as clang
// has it: a program that says "struct task_struct *" in a map value does not get
// every type of the kernel that can be reached from there. If something else
// needs the struct whole, all who name it get it whole; so what a pointer points
// to is decided at the end.
type btfTypes struct {
	basic    map[string]btf.Type
	records  map[recordKey]btf.Type
	enums    map[*cc.Enumerator]*btf.Enum
	typedefs map[*cc.Declarator]*btf.Typedef
	named    []namedRecord
	forwards map[string]*btf.Fwd
	depth    int // of the type that is being made
}

// maxBTFDepth bounds how many types stand between one and what it is made of, so
// that a chain of typedefs does not use up the stack.
const maxBTFDepth = 1000

// A namedRecord is a place where a struct is named.
type namedRecord struct {
	set func(btf.Type)
	rec *record
}

// depth says how much of the struct behind a pointer is wanted.
type btfDepth uint8

const (
	btfWhole btfDepth = iota // all of it
	btfNamed                 // its name, if it has one
	btfMap                   // of a map definition: all that its members point to
)

// btfType returns the BTF type of t. Until the end of the unit, what pointers in
// it point to is open.
func (u *unit) btfType(t cc.Type) btf.Type { return u.btfOf(t, btfWhole) }

// btfOf returns the type of an object of type t: whole, but for what is behind
// pointers in it, which depth says.
func (u *unit) btfOf(t cc.Type, depth btfDepth) btf.Type {
	d := t.Typedef()
	if d == nil || u.typedefs[d] == nil {
		return u.qualified(t, nil, u.btfPlain(t, depth))
	}
	if r := u.record(t); r != nil {
		u.btfRecord(r, depth)
	}
	return u.qualified(t, d.Type(), u.btfTypedef(d, depth))
}

// qualified adds to b the qualifiers and tags that t has beyond those of base,
// which are in b already.
func (u *unit) qualified(t, base cc.Type, b btf.Type) btf.Type {
	if t.Kind() == cc.Array || t.Kind() == cc.Function {
		return b // they are those of the element
	}
	if u.isVolatile(t) && (base == nil || !u.isVolatile(base)) {
		b = &btf.Volatile{Type: b}
	}
	if u.isConst(t) && (base == nil || !u.isConst(base)) {
		b = &btf.Const{Type: b}
	}
	if tag := typeTag(t); tag != "" && (base == nil || typeTag(base) == "") {
		b = &btf.TypeTag{Type: b, Value: tag}
	}
	return b
}

func typeTag(t cc.Type) string {
	for _, v := range t.Attributes().AttrValue("btf_type_tag") {
		if s, ok := v.(cc.StringValue); ok {
			return strings.TrimRight(string(s), "\x00")
		}
	}
	return ""
}

// btfTypedef returns a typedef. The struct that it may be of is only named by it.
func (u *unit) btfTypedef(d *cc.Declarator, depth btfDepth) btf.Type {
	if t := u.types.typedefs[d]; t != nil {
		if depth != btfNamed {
			// What it leads to may only have been named when it was made.
			var again btf.Type
			u.point(&again, u.aliased(d), depth)
		}
		return t
	}
	t := &btf.Typedef{Name: d.Name()}
	if u.types.typedefs == nil {
		u.types.typedefs = map[*cc.Declarator]*btf.Typedef{}
	}
	u.types.typedefs[d] = t
	u.point(&t.Type, u.aliased(d), depth)
	return t
}

// aliased returns what a typedef names: the typedef that its own declaration
// names, if that is all that it says.
func (u *unit) aliased(d *cc.Declarator) cc.Type {
	if d.Pointer == nil && d.DirectDeclarator.Case == cc.DirectDeclaratorIdent {
		return u.typedefs[d].Type()
	}
	return unnamed{d.Type()}
}

// unnamed is a type without the typedef that it has.
type unnamed struct{ cc.Type }

func (unnamed) Typedef() *cc.Declarator { return nil }

// btfPlain returns the type of t, apart from its qualifiers and typedef.
func (u *unit) btfPlain(t cc.Type, depth btfDepth) btf.Type {
	if n, ok := t.(unnamed); ok {
		t = n.Type
	}
	switch t := t.(type) {
	case *cc.PointerType:
		p := &btf.Pointer{}
		u.point(&p.Target, t.Elem(), depth)
		return p
	case *cc.ArrayType:
		return &btf.Array{
			Index:  u.btfBasic(cc.Int),
			Type:   u.btfOf(t.Elem(), depth),
			Nelems: uint32(max(t.Len(), 0)),
		}
	case *cc.FunctionType:
		return u.btfProto(t, nil, depth)
	case *cc.EnumType:
		return u.btfEnum(t)
	case *cc.StructType, *cc.UnionType:
		return u.btfRecord(u.record(t), depth)
	}
	return u.btfBasic(t.Kind())
}

// point makes *to what a pointer to t points to: now or, if that is a struct that
// has a name, at the end.
func (u *unit) point(to *btf.Type, t cc.Type, depth btfDepth) {
	u.types.depth++
	defer func() { u.types.depth-- }()
	if u.types.depth > maxBTFDepth {
		if u.types.depth == maxBTFDepth+1 {
			u.errorAt(u.at, "a type is made of more than %d others, one in another", maxBTFDepth)
		}
		*to = &btf.Void{}
		return
	}
	r := u.record(t)
	if r != nil && r.complete && (depth != btfNamed || r.tag == "") {
		u.btfRecord(r, btfNamed)
	}
	switch d := t.Typedef(); {
	case d != nil && u.typedefs[d] != nil:
		*to = u.qualified(t, d.Type(), u.btfTypedef(d, depth))
	case r == nil:
		*to = u.btfOf(t, depth)
	default:
		*to = &btf.Void{}
		u.types.named = append(u.types.named, namedRecord{
			set: func(b btf.Type) { *to = u.qualified(t, nil, b) },
			rec: r,
		})
	}
}

// finish decides what the pointers point to.
func (b *btfTypes) finish() {
	for _, n := range b.named {
		t := b.records[n.rec.key]
		if t == nil {
			t = b.forward(n.rec)
		}
		n.set(t)
	}
	b.named = nil
}

func (b *btfTypes) forward(r *record) *btf.Fwd {
	kind, name := btf.FwdStruct, "struct "+r.tag
	if r.union {
		kind, name = btf.FwdUnion, "union "+r.tag
	}
	if b.forwards == nil {
		b.forwards = map[string]*btf.Fwd{}
	}
	f := b.forwards[name]
	if f == nil {
		f = &btf.Fwd{Name: r.tag, Kind: kind}
		b.forwards[name] = f
	}
	return f
}

func (u *unit) btfRecord(r *record, depth btfDepth) btf.Type {
	if t := u.types.records[r.key]; t != nil {
		return t
	}
	if !r.complete {
		return u.types.forward(r)
	}
	if u.types.records == nil {
		u.types.records = map[recordKey]btf.Type{}
	}
	var members []btf.Member
	if r.union {
		t := &btf.Union{Name: r.tag, Size: uint32(r.size)}
		u.types.records[r.key] = t
		members = u.btfMembers(r, depth)
		t.Members = members
		return t
	}
	t := &btf.Struct{Name: r.tag, Size: uint32(r.size)}
	u.types.records[r.key] = t
	members = u.btfMembers(r, depth)
	t.Members = members
	return t
}

func (u *unit) btfMembers(r *record, depth btfDepth) []btf.Member {
	var members []btf.Member
	for _, f := range r.fields {
		inner := btfNamed
		if depth == btfMap {
			inner = btfWhole
			if f.name == "values" {
				inner = btfMap // may point to the definition of another map
			}
		}
		m := btf.Member{Name: f.name, Offset: btf.Bits(f.offset * 8)}
		if f.bits != 0 {
			m.Offset, m.BitfieldSize = btf.Bits(f.bit), btf.Bits(f.bits)
		}
		if a := f.typ.Attributes(); a != nil {
			for _, v := range a.AttrValue("btf_decl_tag") {
				if s, ok := v.(cc.StringValue); ok {
					m.Tags = append(m.Tags, strings.TrimRight(string(s), "\x00"))
				}
			}
		}
		m.Type = u.btfOf(f.typ, inner)
		members = append(members, m)
	}
	return members
}

func (u *unit) btfEnum(t *cc.EnumType) btf.Type {
	list := t.Enumerators()
	if len(list) == 0 {
		tag := t.Tag()
		// BTF has no forward declaration of an enumeration but one without values.
		return &btf.Enum{Name: tag.SrcStr(), Size: uint32(u.sizeof(t))}
	}
	if e := u.types.enums[list[0]]; e != nil {
		return e
	}
	tag := t.Tag()
	e := &btf.Enum{
		Name:   tag.SrcStr(),
		Size:   uint32(u.sizeof(t)),
		Signed: cc.IsSignedInteger(t),
	}
	if u.types.enums == nil {
		u.types.enums = map[*cc.Enumerator]*btf.Enum{}
	}
	u.types.enums[list[0]] = e
	for _, v := range list {
		n, _ := integer(v.Value())
		if e.Size < 8 {
			// cilium takes the value of a 32-bit one as far as it is stored.
			n = int64(uint32(n))
			if e.Signed {
				n = int64(int32(n))
			}
		}
		e.Values = append(e.Values, btf.EnumValue{Name: v.Token.SrcStr(), Value: uint64(n)})
	}
	return e
}

// btfProto returns the type of a function. names are those of its parameters if
// they are not in t.
func (u *unit) btfProto(t *cc.FunctionType, d *cc.Declarator, depth btfDepth) *btf.FuncProto {
	p := &btf.FuncProto{Return: u.btfOf(t.Result(), depth)}
	for _, param := range t.Parameters() {
		if param.Type().Kind() == cc.Void {
			continue // f(void)
		}
		name := param.Name()
		if d == nil {
			name = "" // clang names the parameters of definitions alone
		}
		p.Params = append(p.Params, btf.FuncParam{Name: name, Type: u.btfOf(u.decayed(param.Type()), depth)})
	}
	if t.IsVariadic() {
		p.Params = append(p.Params, btf.FuncParam{Type: &btf.Void{}})
	}
	return p
}

// decayed returns what a parameter of type t is.
func (u *unit) decayed(t cc.Type) cc.Type {
	if t.Kind() == cc.Array || t.Kind() == cc.Function {
		return t.Decay()
	}
	return t
}

// The names are those of clang, by which loaders and programs compare integers.
func (u *unit) btfBasic(k cc.Kind) btf.Type {
	name, enc, size := "", btf.Unsigned, uint32(0)
	switch k {
	case cc.Bool:
		name, enc, size = "_Bool", btf.Bool, 1
	case cc.Char:
		name, enc, size = "char", btf.Signed, 1
	case cc.SChar:
		name, enc, size = "signed char", btf.Signed, 1
	case cc.UChar:
		name, size = "unsigned char", 1
	case cc.Short:
		name, enc, size = "short", btf.Signed, 2
	case cc.UShort:
		name, size = "unsigned short", 2
	case cc.Int:
		name, enc, size = "int", btf.Signed, 4
	case cc.UInt:
		name, size = "unsigned int", 4
	case cc.Long:
		name, enc, size = "long", btf.Signed, 8
	case cc.ULong:
		name, size = "unsigned long", 8
	case cc.LongLong:
		name, enc, size = "long long", btf.Signed, 8
	case cc.ULongLong:
		name, size = "unsigned long long", 8
	case cc.Int128:
		name, enc, size = "__int128", btf.Signed, 16
	case cc.UInt128:
		name, size = "unsigned __int128", 16
	case cc.Float:
		return &btf.Float{Name: "float", Size: 4}
	case cc.Double, cc.LongDouble:
		return &btf.Float{Name: "double", Size: 8}
	default:
		return &btf.Void{}
	}
	if t := u.types.basic[name]; t != nil {
		return t
	}
	if u.types.basic == nil {
		u.types.basic = map[string]btf.Type{}
	}
	t := &btf.Int{Name: name, Size: size, Encoding: enc}
	u.types.basic[name] = t
	return t
}
