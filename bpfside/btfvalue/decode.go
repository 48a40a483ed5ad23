// Package btfvalue reads bytes as BTF describes them: what a program sent through
// a ring buffer or left in a map, as values with the names that C gave them.
//
// It reads memory of this machine's byte order and knows nothing of maps.
package btfvalue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/cilium/ebpf/btf"
)

// A Value is one of bool, int64, uint64, float64, [Pointer], [Enum], [Text],
// [Array], [Struct] and [Bytes].
type Value any

// A Pointer is an address. Nothing is read through it.
type Pointer uint64

// An Enum is a value of an enumeration. Name is "" if it is none of its
// enumerators.
type Enum struct {
	Name  string
	Value int64
}

// Text is the content of an array of char up to its first zero byte.
type Text string

// Bytes is data without a type that could say more.
type Bytes []byte

// An Array is the elements of an array.
type Array []Value

// A Struct is the members of a struct or union, in their order. Members of
// anonymous members stand in their place.
type Struct []Field

// A Field is a member of a [Struct].
type Field struct {
	Name  string
	Value Value
}

// ErrShort says that there are fewer bytes than the type has.
var ErrShort = errors.New("data is shorter than its type")

// maxDepth bounds the nesting of types, which hostile BTF can make endless.
const maxDepth = 64

// Decode reads the first bytes of data as a value of type t. Bytes past the size
// of t are not read.
func Decode(t btf.Type, data []byte) (Value, error) {
	return decode(t, data, 0)
}

func decode(t btf.Type, data []byte, depth int) (Value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("decode %v: nested more than %d deep", t, maxDepth)
	}
	t = underlying(t)
	if v, ok := t.(*btf.Void); ok || t == nil {
		return nil, fmt.Errorf("decode %v: type has no values", v)
	}
	if a, ok := t.(*btf.Array); ok {
		return decodeArray(a, data, depth)
	}
	size, err := btf.Sizeof(t)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", name(t), err)
	}
	if size > len(data) {
		return nil, fmt.Errorf("decode %s of %d bytes from %d: %w", name(t), size, len(data), ErrShort)
	}
	data = data[:size]

	switch t := t.(type) {
	case *btf.Int:
		return integer(t, data)
	case *btf.Enum:
		u, err := number(data)
		if err != nil {
			return nil, fmt.Errorf("decode %s: %w", name(t), err)
		}
		return enumerator(t, u), nil
	case *btf.Pointer:
		u, err := number(data)
		return Pointer(u), err
	case *btf.Float:
		return float(data)
	case *btf.Struct:
		return decodeMembers(t.Members, data, depth)
	case *btf.Union:
		return decodeMembers(t.Members, data, depth)
	}
	return Bytes(data), nil
}

func decodeArray(a *btf.Array, data []byte, depth int) (Value, error) {
	elem := underlying(a.Type)
	size, err := btf.Sizeof(elem)
	if err != nil {
		return nil, fmt.Errorf("decode array of %s: %w", name(elem), err)
	}
	n := int(a.Nelems)
	if size > 0 && n > len(data)/size {
		return nil, fmt.Errorf("decode array of %d %s from %d bytes: %w", n, name(elem), len(data), ErrShort)
	}
	if i, ok := elem.(*btf.Int); ok && size == 1 && isChar(i) {
		return text(data[:n]), nil
	}
	if size == 0 {
		return Array{}, nil // so that its length, which costs no bytes, costs no memory
	}
	out := make(Array, n)
	for i := range out {
		if out[i], err = decode(elem, data[i*size:], depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func decodeMembers(members []btf.Member, data []byte, depth int) (Value, error) {
	var out Struct
	for _, m := range members {
		v, err := decodeMember(m, data, depth)
		if err != nil {
			return nil, err
		}
		if inner, ok := v.(Struct); ok && m.Name == "" {
			out = append(out, inner...)
			continue
		}
		if m.Name == "" {
			continue // padding
		}
		out = append(out, Field{m.Name, v})
	}
	return out, nil
}

func decodeMember(m btf.Member, data []byte, depth int) (Value, error) {
	offset := int(m.Offset.Bytes())
	if offset > len(data) {
		return nil, fmt.Errorf("decode member %s at %d of %d bytes: %w", m.Name, offset, len(data), ErrShort)
	}
	if m.BitfieldSize == 0 {
		return decode(m.Type, data[offset:], depth+1)
	}
	u, err := bits(data, uint(m.Offset), uint(m.BitfieldSize))
	if err != nil {
		return nil, fmt.Errorf("decode member %s: %w", m.Name, err)
	}
	switch t := underlying(m.Type).(type) {
	case *btf.Int:
		if t.Encoding == btf.Bool {
			return u != 0, nil
		}
		if t.Encoding == btf.Signed {
			return signExtend(u, uint(m.BitfieldSize)), nil
		}
	case *btf.Enum:
		if t.Signed {
			u = uint64(signExtend(u, uint(m.BitfieldSize)))
		}
		return enumerator(t, u), nil
	}
	return u, nil
}

// underlying is t without what does not change how it lies in memory.
func underlying(t btf.Type) btf.Type {
	for range maxDepth {
		switch q := t.(type) {
		case *btf.Typedef:
			t = q.Type
		case *btf.Const:
			t = q.Type
		case *btf.Volatile:
			t = q.Type
		case *btf.Restrict:
			t = q.Type
		case *btf.TypeTag:
			t = q.Type
		case *btf.Var:
			t = q.Type
		default:
			return t
		}
	}
	return t
}

func name(t btf.Type) string {
	if n := t.TypeName(); n != "" {
		return n
	}
	return fmt.Sprintf("%T", t)
}

// isChar tells char from the integers of one byte that are numbers: compilers
// name it so, and some set the encoding.
func isChar(i *btf.Int) bool { return i.Name == "char" || i.Encoding == btf.Char }

func text(data []byte) Text {
	for i, c := range data {
		if c == 0 {
			return Text(data[:i])
		}
	}
	return Text(data)
}

func integer(t *btf.Int, data []byte) (Value, error) {
	if len(data) > 8 {
		return Bytes(data), nil // __int128
	}
	u, err := number(data)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", name(t), err)
	}
	switch {
	case t.Encoding == btf.Bool:
		return u != 0, nil
	case t.Encoding == btf.Signed || isChar(t):
		return signExtend(u, uint(len(data))*8), nil
	}
	return u, nil
}

func enumerator(t *btf.Enum, u uint64) Enum {
	if t.Signed {
		u = uint64(signExtend(u, uint(t.Size)*8))
	}
	for _, v := range t.Values {
		if v.Value == u || t.Size < 8 && uint32(v.Value) == uint32(u) && t.Size == 4 {
			return Enum{v.Name, int64(u)}
		}
	}
	return Enum{"", int64(u)}
}

func number(data []byte) (uint64, error) {
	switch len(data) {
	case 1:
		return uint64(data[0]), nil
	case 2:
		return uint64(binary.NativeEndian.Uint16(data)), nil
	case 4:
		return uint64(binary.NativeEndian.Uint32(data)), nil
	case 8:
		return binary.NativeEndian.Uint64(data), nil
	}
	return 0, fmt.Errorf("number of %d bytes", len(data))
}

func float(data []byte) (Value, error) {
	u, err := number(data)
	if err != nil {
		return Bytes(data), nil // long double
	}
	switch len(data) {
	case 4:
		return float64(math.Float32frombits(uint32(u))), nil
	case 8:
		return math.Float64frombits(u), nil
	}
	return Bytes(data), nil
}

// bits returns size bits of data from bit offset on, counted as the ABI does: up
// from the low bit on a little-endian machine, down from the high bit on others.
func bits(data []byte, offset, size uint) (uint64, error) {
	if size > 64 || offset+size > uint(len(data))*8 {
		return 0, fmt.Errorf("bits %d to %d of %d bytes: %w", offset, offset+size, len(data), ErrShort)
	}
	little := binary.NativeEndian.Uint16([]byte{1, 0}) == 1
	var u uint64
	for i := range size {
		at := offset + i
		if little {
			u |= uint64(data[at/8]>>(at%8)&1) << i
		} else {
			u = u<<1 | uint64(data[at/8]>>(7-at%8)&1)
		}
	}
	return u, nil
}

func signExtend(u uint64, size uint) int64 {
	if size == 0 || size >= 64 {
		return int64(u)
	}
	return int64(u<<(64-size)) >> (64 - size)
}
