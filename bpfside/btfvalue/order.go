package btfvalue

import (
	"bytes"
	"cmp"
	"strings"
)

// Add returns the sum of two values of one type, and whether there is one: numbers
// have it, and arrays and structs that are made of numbers alone. Enumerators,
// addresses and text have none.
func Add(a, b Value) (Value, bool) {
	switch a := a.(type) {
	case int64:
		if b, ok := b.(int64); ok {
			return a + b, true
		}
	case uint64:
		if b, ok := b.(uint64); ok {
			return a + b, true
		}
	case float64:
		if b, ok := b.(float64); ok {
			return a + b, true
		}
	case Array:
		b, ok := b.(Array)
		if !ok || len(a) != len(b) {
			return nil, false
		}
		out := make(Array, len(a))
		for i := range a {
			if out[i], ok = Add(a[i], b[i]); !ok {
				return nil, false
			}
		}
		return out, true
	case Struct:
		b, ok := b.(Struct)
		if !ok || len(a) != len(b) {
			return nil, false
		}
		out := make(Struct, len(a))
		for i := range a {
			out[i].Name = a[i].Name
			if out[i].Value, ok = Add(a[i].Value, b[i].Value); !ok {
				return nil, false
			}
		}
		return out, true
	}
	return nil, false
}

// Compare orders two values of one type: numbers by size, text by its bytes,
// arrays and structs by the first element that differs. Values of different types
// have no order of use.
func Compare(a, b Value) int {
	switch a := a.(type) {
	case bool:
		if b, ok := b.(bool); ok && a != b {
			if a {
				return 1
			}
			return -1
		}
	case int64:
		if b, ok := b.(int64); ok {
			return cmp.Compare(a, b)
		}
	case uint64:
		if b, ok := b.(uint64); ok {
			return cmp.Compare(a, b)
		}
	case float64:
		if b, ok := b.(float64); ok {
			return cmp.Compare(a, b)
		}
	case Pointer:
		if b, ok := b.(Pointer); ok {
			return cmp.Compare(a, b)
		}
	case Enum:
		if b, ok := b.(Enum); ok {
			return cmp.Compare(a.Value, b.Value)
		}
	case Text:
		if b, ok := b.(Text); ok {
			return strings.Compare(string(a), string(b))
		}
	case Bytes:
		if b, ok := b.(Bytes); ok {
			return bytes.Compare(a, b)
		}
	case Array:
		if b, ok := b.(Array); ok {
			for i := range min(len(a), len(b)) {
				if c := Compare(a[i], b[i]); c != 0 {
					return c
				}
			}
			return cmp.Compare(len(a), len(b))
		}
	case Struct:
		if b, ok := b.(Struct); ok {
			for i := range min(len(a), len(b)) {
				if c := Compare(a[i].Value, b[i].Value); c != 0 {
					return c
				}
			}
		}
	}
	return 0
}
