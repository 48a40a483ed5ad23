package front

import (
	"github.com/cilium/ebpf/btf"
	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// What the CO-RE builtins are asked for, by the numbers that libbpf's
// bpf_core_read.h gives them in bpf_field_info_kind, bpf_type_id_kind,
// bpf_type_info_kind and bpf_enum_value_kind.
const (
	fieldByteOffset = 0
	fieldByteSize   = 1
	fieldExists     = 2
	fieldSigned     = 3
	fieldLShift     = 4
	fieldRShift     = 5

	typeIDLocal  = 0
	typeIDTarget = 1

	typeExists  = 0
	typeSize    = 1
	typeMatches = 2

	enumExists = 0
	enumValue  = 1
)

// kind returns the constant that says what is asked for.
func (g *body) kind(e cc.ExpressionNode) int64 {
	n, ok := g.constant(e)
	if !ok {
		g.errorf(e, "what is asked for is not constant")
		return -1
	}
	return n
}

// A fieldInfo is where a member is, in the program's type or in the kernel's.
type fieldInfo struct {
	bits     int // from the start of the struct
	size     int // of its type in bytes
	bitfield int // width of a bit-field, 0 of other members
	signed   bool
}

// builtinFieldInfo answers __builtin_preserve_field_info, whose argument is not
// evaluated: only which member it is counts.
func (g *body) builtinFieldInfo(e *cc.PostfixExpression, args []cc.ExpressionNode) *ir.Value {
	kind := g.kind(args[1])
	local, c, ok := g.memberChain(args[0])
	if !ok {
		return g.refuse(args[0], g.typeOf(e), "this is no member of a struct")
	}
	info := local
	if c != nil {
		if len(c.found) == 0 {
			if kind == fieldExists {
				return g.number(ir.I32, 0)
			}
			return g.value(ir.OpTrunc, ir.I32, g.value(ir.OpPtrToInt, ir.I64, g.poison(c.name)))
		}
		t := c.found[0]
		info = fieldInfo{bits: t.bits, bitfield: t.bitfield, signed: signedInKernel(t.t)}
		info.size, _ = btf.Sizeof(t.t)
	}
	n, ok := info.answer(kind)
	if !ok {
		return g.refuse(e, g.typeOf(e), "%d is nothing that can be asked of a member", kind)
	}
	return g.number(ir.I32, n)
}

// answer is bpf_core_calc_field_relo of libbpf.
func (f fieldInfo) answer(kind int64) (int64, bool) {
	size, bits := f.size, 8*f.size
	off := f.bits / 8
	if f.bitfield != 0 {
		// The smallest aligned words that hold it, from that of its type on.
		bits = f.bitfield
		size = max(size, 1)
		off = f.bits / 8 / size * size
		for f.bits+bits-8*off > 8*size && size < 8 {
			size *= 2
			off = f.bits / 8 / size * size
		}
	}
	switch kind {
	case fieldByteOffset:
		return int64(off), true
	case fieldByteSize:
		return int64(size), true
	case fieldExists:
		return 1, true
	case fieldSigned:
		if f.signed {
			return 1, true
		}
		return 0, true
	case fieldLShift:
		return int64(64 - (f.bits + bits - 8*off)), true
	case fieldRShift:
		return int64(64 - bits), true
	}
	return 0, false
}

func signedInKernel(t btf.Type) bool {
	switch t := t.(type) {
	case *btf.Int:
		return t.Encoding == btf.Signed
	case *btf.Enum:
		return t.Signed
	}
	return false
}

// memberChain follows an expression that designates a member without translating
// it: local is where the member is in the program's type, c where in the
// kernel's. c is nil if that is the same.
func (g *body) memberChain(e cc.ExpressionNode) (local fieldInfo, c *chain, ok bool) {
	p, ok := g.chainPlace(e)
	if !ok {
		return local, nil, false
	}
	t := underlying(p.t)
	local.size, local.signed = g.sizeof(t), isSigned(t)
	local.bits = int(p.localOff)*8 + p.localBit
	local.bitfield = p.localBits
	return local, p.core, true
}

// A chained is a place that is not evaluated.
type chained struct {
	place
	localOff            int64 // in the program's type, of the struct of a bit-field
	localBit, localBits int
}

func (g *body) chainPlace(e cc.ExpressionNode) (c chained, ok bool) {
	switch e := bare(e).(type) {
	case *cc.PostfixExpression:
		switch e.Case {
		case cc.PostfixExpressionSelect:
			if c, ok = g.chainPlace(e.PostfixExpression); !ok {
				c, ok = chained{place: place{t: g.typeOf(e.PostfixExpression)}}, true
			}
			return g.chainMember(e, c)
		case cc.PostfixExpressionPSelect:
			c.t = pointee(g.decay(g.typeOf(e.PostfixExpression)))
			return g.chainMember(e, c)
		case cc.PostfixExpressionIndex:
			n, isConst := g.constant(e.ExpressionList)
			if c, ok = g.chainPlace(e.PostfixExpression); !ok || !isConst {
				return c, false
			}
			c.t = g.typeOf(e)
			c.localOff += n * int64(g.sizeof(c.t))
			if c.core != nil {
				g.coreElement(&c.place, c.core, n)
			}
			return c, true
		}
	case *cc.ExpressionList:
		last := e
		for last.ExpressionList != nil {
			last = last.ExpressionList
		}
		return g.chainPlace(last.AssignmentExpression)
	}
	return c, false
}

func (g *body) chainMember(e *cc.PostfixExpression, c chained) (chained, bool) {
	path, ok := g.memberOf(e)
	if !ok {
		return c, false
	}
	next := c.core
	if next == nil {
		next = g.newChain(e, c.place)
	}
	for _, f := range path {
		if f.bits != 0 {
			c.localBit, c.localBits = f.bit, f.bits
		} else {
			c.localOff += int64(f.offset)
		}
		c.t = f.typ
	}
	if next != nil {
		g.coreMember(&c.place, next, path[len(path)-1])
	}
	return c, true
}

// builtinTypeInfo answers __builtin_preserve_type_info, whose argument has the
// type that is asked about.
func (g *body) builtinTypeInfo(e *cc.PostfixExpression, args []cc.ExpressionNode) *ir.Value {
	kind := g.kind(args[1])
	t := g.typeOf(args[0])
	types, err := g.sameTypes(t)
	if err != nil {
		return g.refuse(e, g.typeOf(e), "%s: what the kernel has of it is not known: %v", t, err)
	}
	n := int64(0)
	if len(types) > 0 {
		switch kind {
		case typeExists:
			n = 1
		case typeSize:
			size, err := btf.Sizeof(types[0])
			if err == nil {
				n = int64(size)
			}
		case typeMatches:
			for _, k := range types {
				if coreMatches(g.coreType(t), k, false, 0) {
					n = 1
				}
			}
		}
	}
	if kind < typeExists || kind > typeMatches {
		return g.refuse(e, g.typeOf(e), "%d is nothing that can be asked of a type", kind)
	}
	return g.number(ir.I32, n)
}

// builtinTypeID answers __builtin_btf_type_id with the kernel's number of a type,
// 0 if it has none.
func (g *body) builtinTypeID(e *cc.PostfixExpression, args []cc.ExpressionNode) *ir.Value {
	t := g.typeOf(args[0])
	if g.kind(args[1]) != typeIDTarget {
		return g.refuse(e, g.typeOf(e), "the number of a type in the program's own BTF is not supported")
	}
	types, err := g.sameTypes(t)
	if err != nil {
		return g.refuse(e, g.typeOf(e), "%s: what the kernel has of it is not known: %v", t, err)
	}
	n := int64(0)
	if len(types) > 0 {
		spec, _ := g.kernel()
		if id, err := spec.TypeID(types[0]); err == nil {
			n = int64(id)
		}
	}
	return g.number(ir.I32, n)
}

// builtinEnumValue answers __builtin_preserve_enum_value, whose argument is
// *(enum e *)ENUMERATOR.
func (g *body) builtinEnumValue(e *cc.PostfixExpression, args []cc.ExpressionNode) *ir.Value {
	kind := g.kind(args[1])
	name, ok := enumeratorName(args[0])
	if !ok {
		return g.refuse(args[0], g.typeOf(e), "this is no value of an enumeration")
	}
	types, err := g.sameTypes(g.typeOf(args[0]))
	if err != nil {
		return g.refuse(e, g.typeOf(e), "%s: its value in the kernel is not known: %v", name, err)
	}
	for _, t := range types {
		enum, ok := btf.UnderlyingType(t).(*btf.Enum)
		if !ok {
			continue
		}
		for _, v := range enum.Values {
			if essential(v.Name) != essential(name) {
				continue
			}
			switch kind {
			case enumExists:
				return g.number(ir.I64, 1)
			case enumValue:
				return g.number(ir.I64, int64(v.Value))
			}
		}
	}
	switch kind {
	case enumExists:
		return g.number(ir.I64, 0)
	case enumValue:
		return g.value(ir.OpPtrToInt, ir.I64, g.poison(name))
	}
	return g.refuse(e, g.typeOf(e), "%d is nothing that can be asked of a value", kind)
}

// enumeratorName returns the name within *(enum e *)NAME.
func enumeratorName(e cc.ExpressionNode) (string, bool) {
	for {
		switch x := bare(e).(type) {
		case *cc.UnaryExpression:
			if x.Case != cc.UnaryExpressionDeref {
				return "", false
			}
			e = x.CastExpression
		case *cc.CastExpression:
			e = x.CastExpression
		case *cc.PrimaryExpression:
			if d, ok := x.ResolvedTo().(*cc.Enumerator); ok && x.Case == cc.PrimaryExpressionIdent {
				return d.Token.SrcStr(), true
			}
			return "", false
		default:
			return "", false
		}
	}
}

// sameTypes returns the types of the kernel that t stands for: those of its name
// and kind, a typedef by its own name. A type without a name has none.
func (g *body) sameTypes(t cc.Type) ([]btf.Type, error) {
	local := withoutQualifiers(g.coreType(t))
	name := local.TypeName()
	if name == "" {
		return nil, nil
	}
	types, err := g.kernelTypes(name)
	if err != nil {
		return nil, err
	}
	var same []btf.Type
	for _, k := range types {
		if sameKind(local, k) && coreTypesCompatible(local, k, 0) {
			same = append(same, k)
		}
	}
	return same, nil
}

// coreType returns t as BTF, to be compared with the kernel's types. It is apart
// from the BTF of the program, which does not get larger by a question.
func (u *unit) coreType(t cc.Type) btf.Type {
	types := u.types
	defer func() { u.types = types }()
	u.types = btfTypes{}
	b := u.btfType(t)
	u.types.finish()
	return b
}

// withoutQualifiers strips const, volatile, restrict and type tags, and no
// typedefs.
func withoutQualifiers(t btf.Type) btf.Type {
	for {
		switch q := t.(type) {
		case *btf.Const:
			t = q.Type
		case *btf.Volatile:
			t = q.Type
		case *btf.Restrict:
			t = q.Type
		case *btf.TypeTag:
			t = q.Type
		default:
			return t
		}
	}
}
