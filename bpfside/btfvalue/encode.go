package btfvalue

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/cilium/ebpf/btf"
)

// Encode is the reverse of Decode and String: it reads text as a value of type t
// and returns its bytes.
//
//	integers   10, -3, 0x1f, 'a'; as many as the type can hold
//	bool       true, false, 1, 0
//	enums      the name of an enumerator, or a number
//	char[N]    the text itself, at most N bytes; the rest is zero
//	arrays     {1, 2, 3}, at most as many as there are; the rest is zero
//	structs    {a = 1, b = 2}, the rest is zero
//	pointers   0 or an address
func Encode(t btf.Type, text string) ([]byte, error) {
	size, err := btf.Sizeof(t)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name(t), err)
	}
	data := make([]byte, size)
	if err := encode(t, data, text, 0); err != nil {
		return nil, err
	}
	return data, nil
}

func encode(t btf.Type, data []byte, text string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("encode %v: nested more than %d deep", t, maxDepth)
	}
	t = underlying(t)
	size, err := btf.Sizeof(t)
	if err != nil || size > len(data) {
		return fmt.Errorf("encode %s: it has no size", name(t))
	}
	data = data[:size]
	switch t := t.(type) {
	case *btf.Int:
		return encodeInt(t, data, text)
	case *btf.Enum:
		return encodeEnum(t, data, text)
	case *btf.Pointer:
		u, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			return fmt.Errorf("%q is no address", text)
		}
		return putNumber(data, u)
	case *btf.Float:
		f, err := strconv.ParseFloat(text, size*8)
		if err != nil {
			return fmt.Errorf("%q is no number of %s", text, t.Name)
		}
		if size == 4 {
			return putNumber(data, uint64(math.Float32bits(float32(f))))
		}
		return putNumber(data, math.Float64bits(f))
	case *btf.Array:
		return encodeArray(t, data, text, depth)
	case *btf.Struct:
		return encodeMembers(t.Members, data, text, depth)
	case *btf.Union:
		return encodeMembers(t.Members, data, text, depth)
	}
	return fmt.Errorf("encode %s: a value of it cannot be given as text", name(t))
}

func encodeInt(t *btf.Int, data []byte, text string) error {
	if t.Encoding == btf.Bool {
		switch text {
		case "true", "1":
			return putNumber(data, 1)
		case "false", "0":
			return putNumber(data, 0)
		}
		return fmt.Errorf("%q is no %s: want true or false", text, t.Name)
	}
	if n := len(text); n >= 3 && text[0] == '\'' && text[n-1] == '\'' {
		c, err := strconv.Unquote(text)
		if err != nil || len(c) != 1 {
			return fmt.Errorf("%s is no character of one byte", text)
		}
		return putNumber(data, uint64(c[0]))
	}
	bits := len(data) * 8
	if t.Encoding == btf.Signed || isChar(t) {
		n, err := strconv.ParseInt(text, 0, bits)
		if err != nil {
			return fmt.Errorf("%q is no %s: want an integer within %d..%d", text, t.Name, int64(-1)<<(bits-1), int64(1)<<(bits-1)-1)
		}
		return putNumber(data, uint64(n))
	}
	n, err := strconv.ParseUint(text, 0, bits)
	if err != nil {
		return fmt.Errorf("%q is no %s: want an integer within 0..%d", text, t.Name, ^uint64(0)>>(64-bits))
	}
	return putNumber(data, n)
}

func encodeEnum(t *btf.Enum, data []byte, text string) error {
	var names []string
	for _, v := range t.Values {
		if v.Name == text {
			return putNumber(data, v.Value)
		}
		names = append(names, v.Name)
	}
	i := &btf.Int{Name: t.Name, Size: t.Size}
	if t.Signed || strings.HasPrefix(text, "-") {
		i.Encoding = btf.Signed
	}
	if encodeInt(i, data, text) != nil {
		return fmt.Errorf("%q is no enumerator of %s: want %s", text, name(t), strings.Join(names, ", "))
	}
	return nil
}

func encodeArray(t *btf.Array, data []byte, text string, depth int) error {
	elem := underlying(t.Type)
	if i, ok := elem.(*btf.Int); ok && i.Size == 1 && isChar(i) {
		if len(text) > len(data) {
			return fmt.Errorf("text of %d bytes is too long for char[%d]", len(text), len(data))
		}
		clear(data[copy(data, text):])
		return nil
	}
	size, err := btf.Sizeof(elem)
	if err != nil || size == 0 {
		return fmt.Errorf("encode array of %s: it has no size", name(elem))
	}
	parts, err := split(text)
	if err != nil {
		return err
	}
	if len(parts) > int(t.Nelems) {
		return fmt.Errorf("%d values are too many for an array of %d", len(parts), t.Nelems)
	}
	clear(data)
	for i, p := range parts {
		if err := encode(elem, data[i*size:], p, depth+1); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

func encodeMembers(members []btf.Member, data []byte, text string, depth int) error {
	parts, err := split(text)
	if err != nil {
		return err
	}
	clear(data)
	for _, p := range parts {
		key, value, ok := strings.Cut(p, "=")
		if !ok {
			return fmt.Errorf("%q is no member: want NAME = VALUE", p)
		}
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		m, base, ok := findMember(members, key, 0, depth)
		if !ok {
			return fmt.Errorf("there is no member %q", key)
		}
		if m.BitfieldSize != 0 {
			return fmt.Errorf("member %s is a bit-field, which cannot be set", key)
		}
		offset := int(base + m.Offset.Bytes())
		if offset > len(data) {
			return fmt.Errorf("member %s lies outside", key)
		}
		if err := encode(m.Type, data[offset:], value, depth+1); err != nil {
			return fmt.Errorf("member %s: %w", key, err)
		}
	}
	return nil
}

// findMember looks a member up, through anonymous ones, and returns the offset in
// bytes of what it is a member of.
func findMember(members []btf.Member, key string, base uint32, depth int) (btf.Member, uint32, bool) {
	if depth > maxDepth {
		return btf.Member{}, 0, false
	}
	for _, m := range members {
		if m.Name == key {
			return m, base, true
		}
		if m.Name != "" {
			continue
		}
		var inner []btf.Member
		switch t := underlying(m.Type).(type) {
		case *btf.Struct:
			inner = t.Members
		case *btf.Union:
			inner = t.Members
		}
		if found, at, ok := findMember(inner, key, base+m.Offset.Bytes(), depth+1); ok {
			return found, at, true
		}
	}
	return btf.Member{}, 0, false
}

// split cuts {a, {b, c}, d} at its own commas.
func split(text string) ([]string, error) {
	text = strings.TrimSpace(text)
	if len(text) < 2 || text[0] != '{' || text[len(text)-1] != '}' {
		return nil, fmt.Errorf("%q is no list: want {A, B, …}", text)
	}
	text = text[1 : len(text)-1]
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var parts []string
	depth, from := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, strings.TrimSpace(text[from:i]))
				from = i + 1
			}
		}
		if depth < 0 {
			break
		}
	}
	if depth != 0 {
		return nil, fmt.Errorf("{%s}: the braces do not match", text)
	}
	return append(parts, strings.TrimSpace(text[from:])), nil
}

func putNumber(data []byte, u uint64) error {
	switch len(data) {
	case 1:
		data[0] = byte(u)
	case 2:
		binary.NativeEndian.PutUint16(data, uint16(u))
	case 4:
		binary.NativeEndian.PutUint32(data, uint32(u))
	case 8:
		binary.NativeEndian.PutUint64(data, u)
	default:
		return fmt.Errorf("number of %d bytes", len(data))
	}
	return nil
}
