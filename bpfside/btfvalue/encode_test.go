package btfvalue_test

import (
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/bpfside/btfvalue"
)

// What is encoded reads back as the text that it was, or as the one given.
func TestEncode(t *testing.T) {
	pair := &btf.Struct{Name: "pair", Size: 8, Members: []btf.Member{
		{Name: "x", Type: s32}, {Type: &btf.Union{Size: 4, Members: []btf.Member{{Name: "y", Type: u16}}}, Offset: 32}}}
	for _, row := range []struct {
		typ        btf.Type
		text, want string
	}{
		{s32, "-2147483648", ""},
		{u32, "0xffffffff", "4294967295"},
		{u64, "18446744073709551615", ""},
		{s8, "'a'", "97"},
		{s8, `'\n'`, "10"},
		{flag, "true", ""},
		{flag, "0", "false"},
		{hue, "BLUE", ""},
		{hue, "7", "BLUE"},
		{hue, "3", ""},
		{sgn, "-1", "NEG"},
		{&btf.Pointer{Target: s32}, "0x10", ""},
		{&btf.Float{Name: "double", Size: 8}, "1.25", ""},
		{&btf.Float{Name: "float", Size: 4}, "-0.5", ""},
		{array(char, 4), "sh", `"sh"`},
		{array(char, 4), "four", `"four"`},
		{array(s32, 3), "{1, -2}", "[1, -2, 0]"},
		{array(array(u8, 2), 2), "{{1, 2}, {3}}", "[[1, 2], [3, 0]]"},
		{array(s32, 2), "{}", "[0, 0]"},
		{pair, "{x = 5, y = 6}", ""},
		{pair, "{y=6}", "{x = 0, y = 6}"},
		{&btf.Typedef{Name: "t", Type: &btf.Const{Type: &btf.Volatile{Type: s32}}}, "7", ""},
	} {
		t.Run(row.text, func(t *testing.T) {
			data, err := btfvalue.Encode(row.typ, row.text)
			if err != nil {
				t.Fatal(err)
			}
			v, err := btfvalue.Decode(row.typ, data)
			if err != nil {
				t.Fatal(err)
			}
			want := row.want
			if want == "" {
				want = row.text
			}
			if got := btfvalue.String(v, false); got != want {
				t.Errorf("reads back as %s, want %s", got, want)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	bit := &btf.Struct{Name: "s", Size: 4, Members: []btf.Member{{Name: "b", Type: u32, BitfieldSize: 3}}}
	for _, row := range []struct {
		typ        btf.Type
		text, want string
	}{
		{s8, "128", "want an integer within -128..127"},
		{u8, "-1", "want an integer within 0..255"},
		{u64, "18446744073709551616", "want an integer within 0..18446744073709551615"},
		{s64, "x", "want an integer within -9223372036854775808..9223372036854775807"},
		{s8, "'ab'", "is no character of one byte"},
		{flag, "2", "want true or false"},
		{hue, "GREEN", "want RED, BLUE"},
		{array(char, 2), "abc", "too long for char[2]"},
		{array(s32, 2), "{1, 2, 3}", "3 values are too many for an array of 2"},
		{array(s32, 2), "1", "is no list"},
		{array(s32, 2), "{1, {2}", "braces do not match"},
		{array(s32, 2), "{1, x}", "element 1"},
		{bit, "{b = 1}", "bit-field"},
		{bit, "{c = 1}", `no member "c"`},
		{bit, "{c}", "want NAME = VALUE"},
		{&btf.Void{}, "1", ""},
	} {
		t.Run(row.text, func(t *testing.T) {
			data, err := btfvalue.Encode(row.typ, row.text)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%x, %v, want an error with %q", data, err, row.want)
			}
		})
	}
}

// FuzzEncode: no text makes it panic, and what it takes can be read back.
func FuzzEncode(f *testing.F) {
	types := []btf.Type{s8, u64, flag, hue, array(char, 8), array(array(u8, 2), 3),
		&btf.Struct{Name: "s", Size: 8, Members: []btf.Member{{Name: "a", Type: s32}, {Name: "b", Type: array(u16, 2), Offset: 32}}}}
	for _, text := range []string{"1", "true", "BLUE", "abc", "{{1,2},{3}}", "{a = 1, b = {2, 3}}", "{{", "'"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, typ := range types {
			data, err := btfvalue.Encode(typ, text)
			if err != nil {
				continue
			}
			if _, err := btfvalue.Decode(typ, data); err != nil {
				t.Fatalf("%q as %v: %v", text, typ, err)
			}
		}
	})
}
