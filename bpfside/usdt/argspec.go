package usdt

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// Programs on libbpf's usdt.bpf.h read the arguments of a probe by a description
// that user space puts into a map: struct __bpf_usdt_spec. Its layout is private to
// a version of the header, and has grown; so it is taken from the type information
// of the object, which always fits the code beside it.

// The maps of usdt.bpf.h.
const (
	specMapName = "__bpf_usdt_specs"
	ipMapName   = "__bpf_usdt_ip_to_spec_id"
)

// A specLayout says where the fields of struct __bpf_usdt_spec are.
type specLayout struct {
	order  binary.ByteOrder
	size   int
	cookie bitField
	count  bitField
	// args has an entry for each argument that there is room for.
	args []argLayout

	// The values of enum __bpf_usdt_arg_type. sib is -1 if the header does
	// not know an index register.
	constant, reg, deref, sib int
}

// An argLayout says where the fields of struct __bpf_usdt_arg_spec are.
type argLayout struct {
	value, kind, reg, signed, shift bitField
	index, scaleShift               bitField // no width if the header lacks them
}

// A bitField is a place in a struct, in bits as BTF counts them: from the lowest
// bit of the first byte on where the byte order is little endian, from the highest
// where it is big.
type bitField struct{ off, width int }

func (f bitField) at(base int) bitField { return bitField{f.off + base, f.width} }

// put writes the low bits of v.
func (f bitField) put(dst []byte, order binary.ByteOrder, v uint64) {
	for i := range f.width {
		bit := f.off + i // of value bit i
		mask := byte(1) << (bit % 8)
		if order == binary.BigEndian {
			bit = f.off + f.width - 1 - i
			mask = 0x80 >> (bit % 8)
		}
		if v>>i&1 != 0 {
			dst[bit/8] |= mask
		} else {
			dst[bit/8] &^= mask
		}
	}
}

// newSpecLayout reads the layout of the values of the spec map.
func newSpecLayout(m *ebpf.MapSpec, order binary.ByteOrder) (*specLayout, error) {
	s, err := underlying[*btf.Struct](m.Value, "value")
	if err != nil {
		return nil, err
	}
	l := &specLayout{order: binaryOrder(order), size: int(m.ValueSize), sib: -1}
	get := func(s *btf.Struct, name string) (f bitField, typ btf.Type) {
		if err != nil {
			return f, nil
		}
		f, typ, err = member(s, name)
		return f, typ
	}
	l.cookie, _ = get(s, "usdt_cookie")
	l.count, _ = get(s, "arg_cnt")
	all, typ := get(s, "args")
	if err != nil {
		return nil, err
	}
	array, err := underlying[*btf.Array](typ, "args")
	if err != nil {
		return nil, err
	}
	as, err := underlying[*btf.Struct](array.Type, "args")
	if err != nil {
		return nil, err
	}
	var arg argLayout
	arg.value, _ = get(as, "val_off")
	arg.kind, typ = get(as, "arg_type")
	arg.reg, _ = get(as, "reg_off")
	arg.signed, _ = get(as, "arg_signed")
	arg.shift, _ = get(as, "arg_bitshift")
	if err != nil {
		return nil, err
	}
	kinds, err := underlying[*btf.Enum](typ, "arg_type")
	if err != nil {
		return nil, err
	}
	for name, dst := range map[string]*int{"BPF_USDT_ARG_CONST": &l.constant, "BPF_USDT_ARG_REG": &l.reg, "BPF_USDT_ARG_REG_DEREF": &l.deref} {
		if *dst, err = enumValue(kinds, name); err != nil {
			return nil, err
		}
	}
	if l.sib, err = enumValue(kinds, "BPF_USDT_ARG_SIB"); err != nil {
		l.sib, err = -1, nil
	} else {
		arg.index, _ = get(as, "idx_reg_off")
		arg.scaleShift, _ = get(as, "scale_bitshift")
	}
	if err != nil {
		return nil, err
	}
	// Bounded by what the value of a map can hold, checked below.
	stride := int(as.Size) * 8
	const most = 1 << 10
	for i := range min(int(array.Nelems), most) {
		base := all.off + i*stride
		l.args = append(l.args, argLayout{
			arg.value.at(base), arg.kind.at(base), arg.reg.at(base), arg.signed.at(base), arg.shift.at(base),
			arg.index.at(base), arg.scaleShift.at(base),
		})
	}
	return l, l.check()
}

// check makes sure that every field lies in the value.
func (l *specLayout) check() error {
	fields := []bitField{l.cookie, l.count}
	for _, a := range l.args {
		fields = append(fields, a.value, a.kind, a.reg, a.signed, a.shift, a.index, a.scaleShift)
	}
	for _, f := range fields {
		if f.off < 0 || f.width < 0 || f.width > 64 || f.off+f.width > l.size*8 {
			return fmt.Errorf("a field of %d bits at bit %d in a value of %d bytes", f.width, f.off, l.size)
		}
	}
	return nil
}

// underlying returns a type as T, typedefs and qualifiers taken off.
func underlying[T btf.Type](typ btf.Type, what string) (t T, err error) {
	if typ == nil {
		return t, fmt.Errorf("%s has no type information", what)
	}
	u := btf.UnderlyingType(typ)
	t, ok := u.(T)
	if !ok {
		return t, fmt.Errorf("%s is a %v", what, u)
	}
	return t, nil
}

// member finds a member of a struct.
func member(s *btf.Struct, name string) (bitField, btf.Type, error) {
	for _, m := range s.Members {
		if m.Name != name {
			continue
		}
		width := int(m.BitfieldSize)
		if width == 0 {
			size, err := btf.Sizeof(m.Type)
			if err != nil {
				return bitField{}, nil, fmt.Errorf("member %s of struct %s: %w", name, s.Name, err)
			}
			if width = size * 8; width > 64 {
				width = 0 // an array, whose parts are looked at
			}
		}
		return bitField{int(m.Offset), width}, m.Type, nil
	}
	return bitField{}, nil, fmt.Errorf("struct %s has no member %s", s.Name, name)
}

func enumValue(e *btf.Enum, name string) (int, error) {
	for _, v := range e.Values {
		if v.Name == name {
			return int(v.Value), nil
		}
	}
	return 0, fmt.Errorf("enum %s has no value %s", e.Name, name)
}

// unreadableKind is no value of enum __bpf_usdt_arg_type: bpf_usdt_arg answers
// -EINVAL for such an argument, and only for that.
const unreadableKind = 0x7f

// encode describes a location. Arguments that the map cannot describe are left
// out of reach of the program, each with an error that wraps ErrUnreadable.
func (l *specLayout) encode(loc *Location, cookie uint64) (spec []byte, unreadable []error) {
	spec = make([]byte, l.size)
	args := loc.Args()
	if len(args) > len(l.args) {
		unreadable = append(unreadable, fmt.Errorf("%w: arguments from %d on: the object has room for %d", ErrUnreadable, len(l.args), len(l.args)))
		args = args[:len(l.args)]
	}
	l.cookie.put(spec, l.order, cookie)
	l.count.put(spec, l.order, uint64(len(args)))
	for i := range args {
		if err := l.encodeArg(spec, l.args[i], loc.Machine, &args[i]); err != nil {
			unreadable = append(unreadable, fmt.Errorf("%w: argument %d: %w", ErrUnreadable, i, err))
			l.args[i].kind.put(spec, l.order, unreadableKind)
		}
	}
	return spec, unreadable
}

// encodeArg describes one argument.
func (l *specLayout) encodeArg(spec []byte, at argLayout, m stapsdt.Machine, arg *stapsdt.Arg) error {
	if arg.Err != nil {
		return arg.Err
	}
	if _, ok := asmSize(arg.Size); !ok {
		return fmt.Errorf("%q: a value of %d bytes does not fit a register", arg.Text, arg.Size)
	}
	op := &arg.Operand
	register := func(name string) (uint64, error) {
		off, ok := regOffset(m, name)
		if !ok {
			return 0, errors.New(noRegister(m, name))
		}
		return uint64(off), nil
	}
	put := func(f bitField, v uint64) { f.put(spec, l.order, v) }
	if op.Symbol != "" {
		return fmt.Errorf("%q: the address of symbol %q is not known", arg.Text, op.Symbol)
	}
	put(at.shift, uint64(64-8*arg.Size))
	if arg.Signed {
		put(at.signed, 1)
	}
	switch {
	case op.Kind == stapsdt.Constant && op.Base == "":
		put(at.kind, uint64(l.constant))
		put(at.value, uint64(op.Value))
	case op.Kind == stapsdt.Constant:
		return fmt.Errorf("%q: the address of a variable is no form of libbpf", arg.Text)
	case op.Kind == stapsdt.Register:
		reg, err := register(op.Base)
		if err != nil {
			return err
		}
		if op.Shift != 0 {
			// %ah: the program reads the register from its second byte on.
			if l.order != binary.LittleEndian || op.Shift%8 != 0 {
				return fmt.Errorf("%q: a part of a register", arg.Text)
			}
			reg += uint64(op.Shift / 8)
		}
		put(at.kind, uint64(l.reg))
		put(at.reg, reg)
	case op.Kind == stapsdt.Memory && op.Base != "":
		reg, err := register(op.Base)
		if err != nil {
			return err
		}
		put(at.kind, uint64(l.deref))
		put(at.reg, reg)
		put(at.value, uint64(op.Value))
		if op.Index == "" {
			break
		}
		shift, ok := map[int]uint64{1: 0, 2: 1, 4: 2, 8: 3}[op.Scale]
		if l.sib < 0 || at.index.width == 0 || !ok {
			return fmt.Errorf("%q: an index register, which the object's version of usdt.bpf.h does not know", arg.Text)
		}
		index, err := register(op.Index)
		if err != nil {
			return err
		}
		put(at.kind, uint64(l.sib))
		put(at.index, index)
		put(at.scaleShift, shift)
	default:
		return fmt.Errorf("%q: memory without a base register", arg.Text)
	}
	return nil
}
