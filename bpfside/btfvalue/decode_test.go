package btfvalue_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/bpfside/btfvalue"
)

var (
	char = &btf.Int{Name: "char", Size: 1, Encoding: btf.Signed}
	u8   = &btf.Int{Name: "unsigned char", Size: 1}
	s8   = &btf.Int{Name: "signed char", Size: 1, Encoding: btf.Signed}
	u16  = &btf.Int{Name: "unsigned short", Size: 2}
	s32  = &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}
	u32  = &btf.Int{Name: "unsigned int", Size: 4}
	s64  = &btf.Int{Name: "long", Size: 8, Encoding: btf.Signed}
	u64  = &btf.Int{Name: "unsigned long", Size: 8}
	flag = &btf.Int{Name: "_Bool", Size: 1, Encoding: btf.Bool}
	hue  = &btf.Enum{Name: "hue", Size: 4, Values: []btf.EnumValue{{Name: "RED", Value: 0}, {Name: "BLUE", Value: 7}}}
	sgn  = &btf.Enum{Name: "sgn", Size: 4, Signed: true, Values: []btf.EnumValue{{Name: "NEG", Value: ^uint64(0)}}}
)

func array(t btf.Type, n uint32) btf.Type { return &btf.Array{Index: u32, Type: t, Nelems: n} }

func TestDecode(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the bytes of the rows are little-endian")
	}
	inner := &btf.Struct{Name: "inner", Size: 8, Members: []btf.Member{
		{Name: "x", Type: s32}, {Name: "y", Type: s32, Offset: 32}}}
	for _, row := range []struct {
		name string
		typ  btf.Type
		data string
		text string
		json string
	}{
		{"signed", s32, "\xfe\xff\xff\xff", "-2", "-2"},
		{"unsigned", u32, "\xfe\xff\xff\xff", "4294967294", "4294967294"},
		{"largest", u64, "\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615", "18446744073709551615"},
		{"short", u16, "\x34\x12", "4660", "4660"},
		{"one byte", s8, "\x80", "-128", "-128"},
		{"bool", flag, "\x01", "true", "true"},
		{"enumerator", hue, "\x07\x00\x00\x00", "BLUE", `"BLUE"`},
		{"no enumerator", hue, "\x03\x00\x00\x00", "3", "3"},
		{"negative enumerator", sgn, "\xff\xff\xff\xff", "NEG", `"NEG"`},
		{"pointer", &btf.Pointer{Target: s32}, "\x10\x00\x00\x00\x00\x00\x00\x00", "0x10", `"0x10"`},
		{"float", &btf.Float{Name: "float", Size: 4}, "\x00\x00\xc0\x3f", "1.5", "1.5"},
		{"not a number", &btf.Float{Name: "float", Size: 4}, "\x00\x00\xc0\x7f", "NaN", "null"},
		{"text", array(char, 8), "ab\x00cdefg", `"ab"`, `"ab"`},
		{"text without end", array(char, 3), "abc", `"abc"`, `"abc"`},
		{"text that is no text", array(char, 3), "a\xff\x00", `"a\xff"`, `{"hex":"61ff"}`},
		{"bytes are numbers", array(u8, 3), "abc", "[97, 98, 99]", "[97,98,99]"},
		{"array of arrays", array(array(u8, 2), 2), "\x01\x02\x03\x04", "[[1, 2], [3, 4]]", "[[1,2],[3,4]]"},
		{"typedef of const", &btf.Typedef{Name: "t", Type: &btf.Const{Type: s32}}, "\x05\x00\x00\x00", "5", "5"},
		{"struct", inner, "\x01\x00\x00\x00\x02\x00\x00\x00", "{x = 1, y = 2}", `{"x":1,"y":2}`},
		{"nested", &btf.Struct{Name: "s", Size: 12, Members: []btf.Member{
			{Name: "in", Type: inner}, {Name: "comm", Type: array(char, 4), Offset: 64}}},
			"\x01\x00\x00\x00\x02\x00\x00\x00sh\x00\x00",
			`{in = {x = 1, y = 2}, comm = "sh"}`, `{"in":{"x":1,"y":2},"comm":"sh"}`},
		{"anonymous member", &btf.Struct{Name: "s", Size: 8, Members: []btf.Member{
			{Type: &btf.Union{Size: 8, Members: []btf.Member{{Name: "l", Type: s64}, {Name: "i", Type: s32}}}}}},
			"\x07\x00\x00\x00\x01\x00\x00\x00", "{l = 4294967303, i = 7}", `{"l":4294967303,"i":7}`},
		{"bit-fields", &btf.Struct{Name: "s", Size: 4, Members: []btf.Member{
			{Name: "a", Type: u32, Offset: 0, BitfieldSize: 3},
			{Name: "b", Type: s32, Offset: 3, BitfieldSize: 5},
			{Name: "c", Type: flag, Offset: 8, BitfieldSize: 1},
			{Name: "d", Type: hue, Offset: 9, BitfieldSize: 3}}},
			"\xfd\x0f\x00\x00", "{a = 5, b = -1, c = true, d = BLUE}", `{"a":5,"b":-1,"c":true,"d":"BLUE"}`},
		{"empty array", array(s32, 0), "", "[]", "[]"},
	} {
		t.Run(row.name, func(t *testing.T) {
			v, err := btfvalue.Decode(row.typ, []byte(row.data))
			if err != nil {
				t.Fatal(err)
			}
			if got := btfvalue.String(v, false); got != row.text {
				t.Errorf("text %s, want %s", got, row.text)
			}
			if row.json == "null" {
				return
			}
			got, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != row.json {
				t.Errorf("json %s, want %s", got, row.json)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	loop := &btf.Struct{Name: "loop", Size: 1}
	loop.Members = []btf.Member{{Name: "again", Type: loop}}
	for _, row := range []struct {
		name string
		typ  btf.Type
		data string
		want error
	}{
		{"too short", s32, "\x01\x02", btfvalue.ErrShort},
		{"array too short", array(s32, 1<<30), "\x01\x02\x03\x04", btfvalue.ErrShort},
		{"member outside", &btf.Struct{Name: "s", Size: 4, Members: []btf.Member{{Name: "m", Type: s32, Offset: 1024}}}, "\x01\x02\x03\x04", btfvalue.ErrShort},
		{"bits outside", &btf.Struct{Name: "s", Size: 4, Members: []btf.Member{{Name: "m", Type: s32, Offset: 30, BitfieldSize: 5}}}, "\x01\x02\x03\x04", btfvalue.ErrShort},
		{"void", &btf.Void{}, "", nil},
		{"within itself", loop, "\x00", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			v, err := btfvalue.Decode(row.typ, []byte(row.data))
			if err == nil || row.want != nil && !errors.Is(err, row.want) {
				t.Errorf("%v, %v, want error %v", v, err, row.want)
			}
		})
	}
}

func TestBare(t *testing.T) {
	v := btfvalue.Struct{{Name: "a", Value: uint64(1)}, {Name: "in", Value: btfvalue.Struct{{Name: "b", Value: uint64(2)}}}}
	if got, want := btfvalue.String(v, true), "a = 1, in = {b = 2}"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
