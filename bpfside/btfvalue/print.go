package btfvalue

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// String returns v as C would write it, on one line: {a = 1, b = "x"}. The
// members of the outermost struct have no braces if bare is true.
func String(v Value, bare bool) string {
	var b strings.Builder
	write(&b, v, bare)
	return b.String()
}

func write(b *strings.Builder, v Value, bare bool) {
	switch v := v.(type) {
	case Struct:
		if !bare {
			b.WriteByte('{')
		}
		for i, f := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(f.Name)
			b.WriteString(" = ")
			write(b, f.Value, false)
		}
		if !bare {
			b.WriteByte('}')
		}
	case Array:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			write(b, e, false)
		}
		b.WriteByte(']')
	case Text:
		b.WriteString(strconv.Quote(string(v)))
	case Bytes:
		b.WriteString(hex.EncodeToString(v))
	case Pointer:
		b.WriteString("0x")
		b.WriteString(strconv.FormatUint(uint64(v), 16))
	case Enum:
		if v.Name != "" {
			b.WriteString(v.Name)
			return
		}
		b.WriteString(strconv.FormatInt(v.Value, 10))
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case uint64:
		b.WriteString(strconv.FormatUint(v, 10))
	case float64:
		b.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
	}
}

// MarshalJSON writes the members in their order. Of two that have one name, as
// anonymous unions have, both are written.
func (s Struct) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(f.Name)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		value, err := json.Marshal(jsonable(f.Value))
		if err != nil {
			return nil, err
		}
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// MarshalJSON writes the elements.
func (a Array) MarshalJSON() ([]byte, error) {
	out := make([]any, len(a))
	for i, e := range a {
		out[i] = jsonable(e)
	}
	return json.Marshal(out)
}

// MarshalJSON writes the name of the enumerator, or the number if it has none.
func (e Enum) MarshalJSON() ([]byte, error) {
	if e.Name != "" {
		return json.Marshal(e.Name)
	}
	return json.Marshal(e.Value)
}

// MarshalJSON writes the bytes as hexadecimal digits.
func (b Bytes) MarshalJSON() ([]byte, error) { return json.Marshal(hex.EncodeToString(b)) }

// MarshalJSON writes a string, and text that is no UTF-8 as {"hex": "61ff"}: so
// that nothing is lost.
func (t Text) MarshalJSON() ([]byte, error) {
	if !utf8.ValidString(string(t)) {
		return json.Marshal(map[string]string{"hex": hex.EncodeToString([]byte(t))})
	}
	return json.Marshal(string(t))
}

// MarshalJSON writes the address as text: numbers of JSON lose their low bits in
// many readers.
func (p Pointer) MarshalJSON() ([]byte, error) {
	return json.Marshal("0x" + strconv.FormatUint(uint64(p), 16))
}

// jsonable replaces what JSON has no number for.
func jsonable(v Value) any {
	if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return v
}
