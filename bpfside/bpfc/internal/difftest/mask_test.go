package difftest

import (
	"bytes"
	"testing"

	"github.com/cilium/ebpf/btf"
)

func TestMask(t *testing.T) {
	u8 := &btf.Int{Name: "u8", Size: 1}
	u32 := &btf.Int{Name: "u32", Size: 4}
	// struct { u8 a; u32 b; u32 c : 3; u32 d : 7; u8 e[2]; }
	s := &btf.Struct{Size: 16, Members: []btf.Member{
		{Name: "a", Type: u8},
		{Name: "b", Type: u32, Offset: 32},
		{Name: "c", Type: u32, Offset: 64, BitfieldSize: 3},
		{Name: "d", Type: u32, Offset: 67, BitfieldSize: 7},
		{Name: "e", Type: &btf.Array{Type: u8, Nelems: 2}, Offset: 80},
	}}
	for _, tt := range []struct {
		name string
		typ  btf.Type
		want []byte
	}{
		{"integer", u32, []byte{0xff, 0xff, 0xff, 0xff}},
		{"struct", s, []byte{
			0xff, 0, 0, 0, // a, padding
			0xff, 0xff, 0xff, 0xff, // b
			0xff, 0x03, 0xff, 0xff, // c and d, e
			0, 0, 0, 0,
		}},
		{"typedef of an array", &btf.Typedef{Name: "t", Type: &btf.Array{Type: u8, Nelems: 3}}, []byte{0xff, 0xff, 0xff}},
		{"union", &btf.Union{Size: 4, Members: []btf.Member{
			{Name: "a", Type: u8},
			{Name: "b", Type: &btf.Array{Type: u8, Nelems: 2}},
		}}, []byte{0xff, 0xff, 0, 0}},
	} {
		if got := Mask(tt.typ); !bytes.Equal(got, tt.want) {
			t.Errorf("%s: %x, want %x", tt.name, got, tt.want)
		}
	}
}
