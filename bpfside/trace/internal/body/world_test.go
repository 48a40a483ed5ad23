package body

import (
	"github.com/nopfire/nopfire/bpfside/usdt"
)

// Types of arguments, as metadata has them.
var (
	i8t     = &usdt.Type{Kind: usdt.Int, Size: 1}
	u8t     = &usdt.Type{Kind: usdt.Uint, Size: 1}
	u16t    = &usdt.Type{Kind: usdt.Uint, Size: 2}
	i32t    = &usdt.Type{Kind: usdt.Int, Size: 4}
	u32t    = &usdt.Type{Kind: usdt.Uint, Size: 4}
	i64t    = &usdt.Type{Kind: usdt.Int, Size: 8}
	u64t    = &usdt.Type{Kind: usdt.Uint, Size: 8}
	boolt   = &usdt.Type{Kind: usdt.Bool, Size: 1}
	float32 = &usdt.Type{Kind: usdt.Float, Size: 4}
	float64 = &usdt.Type{Kind: usdt.Float, Size: 8}
	stringt = &usdt.Type{Kind: usdt.String, Size: 8}
	bytest  = &usdt.Type{Kind: usdt.Bytes, Size: 8}
)

func pointerTo(t *usdt.Type) *usdt.Type { return &usdt.Type{Kind: usdt.Pointer, Size: 8, Elem: t} }

func arrayOf(n int, t *usdt.Type) *usdt.Type {
	return &usdt.Type{Kind: usdt.Array, Size: n * t.Size, Len: n, Elem: t}
}

// goString is what a string of Go is in memory, as package emit describes it.
var goString = &usdt.Type{Kind: usdt.Struct, Size: 16, Name: "go_string", Fields: []usdt.Field{
	{Name: "ptr", Type: pointerTo(u8t)}, {Name: "len", Offset: 8, Type: i64t},
}}

var goBytes = &usdt.Type{Kind: usdt.Struct, Size: 24, Name: "go_slice", Fields: []usdt.Field{
	{Name: "ptr", Type: pointerTo(u8t)}, {Name: "len", Offset: 8, Type: i64t}, {Name: "cap", Offset: 16, Type: i64t},
}}

// orderType is the type of [order].
var orderType = func() *usdt.Type {
	item := &usdt.Type{Kind: usdt.Struct, Size: 8, Name: "main_item", Fields: []usdt.Field{
		{Name: "sku", Type: u16t}, {Name: "count", Offset: 4, Type: i32t},
	}}
	t := &usdt.Type{Kind: usdt.Struct, Size: 168, Name: "main_order"}
	t.Fields = []usdt.Field{
		{Name: "id", Type: i64t},
		{Name: "next", Offset: 8, Type: pointerTo(t)},
		{Name: "name", Offset: 16, Type: goString},
		{Name: "items", Offset: 32, Type: arrayOf(3, item)},
		{Name: "tag", Offset: 56, Type: arrayOf(8, i8t)},
		{Name: "small", Offset: 64, Type: i8t},
		{Name: "flag", Offset: 65, Type: boolt},
		{Name: "port", Offset: 66, Type: u16t},
		{Name: "price", Offset: 72, Type: float64},
		{Name: "text", Offset: 80, Type: stringt},
		{Name: "first", Offset: 88, Type: pointerTo(item)},
		{Name: "matrix", Offset: 96, Type: arrayOf(2, arrayOf(3, u8t))},
		{Name: "return", Offset: 104, Type: u32t}, // a keyword of C
		{Name: "any", Offset: 112, Type: pointerTo(nil)},
		{Name: "body", Offset: 120, Type: goBytes},
		{Name: "rates", Offset: 144, Type: arrayOf(2, float32)},
		{Name: "took", Offset: 152, Type: &usdt.Type{Kind: usdt.Int, Size: 8, Go: "time.Duration"}},
		{Name: "state", Offset: 160, Type: &usdt.Type{Kind: usdt.Uint, Size: 1, Go: "main.state"}},
	}
	return t
}()

// worldArgs are the arguments of the probe that tests have, one of a kind.
func worldArgs() []Arg {
	order := pointerTo(orderType)
	order.Go = "*main.order"
	return []Arg{
		{Name: "n", Size: 4, Signed: true},                   // arg1
		{Name: "u", Size: 4},                                 // arg2
		{Name: "c", Size: 1, Signed: true},                   // arg3
		{Name: "big", Size: 8},                               // arg4
		{Name: "msg", Size: 8, Type: stringt},                // arg5
		{Name: "o", Size: 8, Type: order},                    // arg6
		{Name: "data", Size: 8, Type: bytest, Len: 7},        // arg7
		{Name: "data_len", Size: 8, Type: u64t},              // arg8
		{Name: "ok", Size: 1, Type: boolt},                   // arg9
		{Name: "ratio", Size: 8, Float: true, Type: float64}, // arg10
		{Name: "short", Size: 2, Signed: true},               // arg11, a keyword of C
		{Name: "pid", Size: 8, Signed: true, Type: i64t},     // arg12, the name of something else
	}
}
