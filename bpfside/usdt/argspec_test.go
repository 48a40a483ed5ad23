package usdt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// Types of usdt.bpf.h, in cilium's form.
var (
	u64Type   = &btf.Int{Name: "unsigned long long", Size: 8}
	u32Type   = &btf.Int{Name: "unsigned int", Size: 4}
	shortType = &btf.Int{Name: "short", Size: 2, Encoding: btf.Signed}
	boolType  = &btf.Int{Name: "_Bool", Size: 1, Encoding: btf.Bool}
	charType  = &btf.Int{Name: "char", Size: 1, Encoding: btf.Signed}
)

func argKinds(sib bool) *btf.Enum {
	e := &btf.Enum{Name: "__bpf_usdt_arg_type", Size: 4, Values: []btf.EnumValue{
		{Name: "BPF_USDT_ARG_CONST", Value: 0}, {Name: "BPF_USDT_ARG_REG", Value: 1}, {Name: "BPF_USDT_ARG_REG_DEREF", Value: 2},
	}}
	if sib {
		e.Values = append(e.Values, btf.EnumValue{Name: "BPF_USDT_ARG_SIB", Value: 3})
	}
	return e
}

// specMap is __bpf_usdt_specs with two arguments instead of twelve. The arguments
// have the members that are given.
func specMap(members ...btf.Member) *ebpf.MapSpec {
	arg := &btf.Struct{Name: "__bpf_usdt_arg_spec", Size: 16, Members: members}
	spec := &btf.Struct{Name: "__bpf_usdt_spec", Size: 48, Members: []btf.Member{
		{Name: "args", Type: &btf.Array{Type: arg, Nelems: 2}},
		{Name: "usdt_cookie", Type: &btf.Typedef{Name: "__u64", Type: u64Type}, Offset: 32 * 8},
		{Name: "arg_cnt", Type: shortType, Offset: 40 * 8},
	}}
	return &ebpf.MapSpec{Value: spec, ValueSize: 48}
}

// The members of libbpf 1.1 to 1.6.
func oldMembers() []btf.Member {
	return []btf.Member{
		{Name: "val_off", Type: u64Type},
		{Name: "arg_type", Type: argKinds(false), Offset: 64},
		{Name: "reg_off", Type: shortType, Offset: 96},
		{Name: "arg_signed", Type: boolType, Offset: 112},
		{Name: "arg_bitshift", Type: charType, Offset: 120},
	}
}

// Those of libbpf 1.7: the four bytes of arg_type are shared with an index
// register and its scale. Bit fields stand from the other end where the byte order
// is big endian.
func newMembers(order binary.ByteOrder) []btf.Member {
	kind, index, scale := btf.Bits(64), btf.Bits(72), btf.Bits(84)
	if order == binary.BigEndian {
		kind, index, scale = 88, 72, 84
	}
	return []btf.Member{
		{Name: "val_off", Type: u64Type},
		{Name: "arg_type", Type: argKinds(true), Offset: kind, BitfieldSize: 8},
		{Name: "idx_reg_off", Type: u32Type, Offset: index, BitfieldSize: 12},
		{Name: "scale_bitshift", Type: u32Type, Offset: scale, BitfieldSize: 4},
		{Name: "reg_off", Type: shortType, Offset: 96},
		{Name: "arg_signed", Type: boolType, Offset: 112},
		{Name: "arg_bitshift", Type: charType, Offset: 120},
	}
}

func TestEncodeSpec(t *testing.T) {
	// The offsets of x86-64: r15 0, rax 80 (0x50), rcx 88 (0x58), rip 128.
	const zero = "0000000000000000 00000000 0000 00 00"
	little, big := binary.ByteOrder(binary.LittleEndian), binary.ByteOrder(binary.BigEndian)
	for _, tc := range []struct {
		name     string
		order    binary.ByteOrder
		new      bool
		machine  stapsdt.Machine
		args     string
		a0, a1   string // val_off, arg_type, reg_off, arg_signed, arg_bitshift
		count    string
		failures []string
	}{
		{"none", little, false, stapsdt.X86_64, "", zero, zero, "0000", nil},
		{"register and constant", little, false, stapsdt.X86_64, "-4@%eax 8@$7",
			"0000000000000000 01000000 5000 01 20", "0700000000000000 00000000 0000 00 00", "0200", nil},
		{"memory", little, false, stapsdt.X86_64, "-1@-8(%rcx) 2@(%r15)",
			"f8ffffffffffffff 02000000 5800 01 38", "0000000000000000 02000000 0000 00 30", "0200", nil},
		{"second byte of a register", little, false, stapsdt.X86_64, "1@%ah", "0000000000000000 01000000 5100 00 38", zero, "0100", nil},
		{"faults cost themselves", little, false, stapsdt.X86_64, "8@%xmm0 8@%rax",
			"0000000000000000 7f000000 0000 00 00", "0000000000000000 01000000 5000 00 00", "0200",
			[]string{`argument 0: register "xmm0" of x86-64 is not among those`}},
		{"struct by value", little, false, stapsdt.X86_64, "16@%rax", "0000000000000000 7f000000 0000 00 00", zero, "0100",
			[]string{`argument 0: "16@%rax": a value of 16 bytes`}},
		{"unknown symbol", little, false, stapsdt.X86_64, "4@x(%rip)", "0000000000000000 7f000000 0000 00 00", zero, "0100",
			[]string{`argument 0: "4@x(%rip)": the address of symbol "x" is not known`}},
		{"not an argument", little, false, stapsdt.X86_64, "4@?", "0000000000000000 7f000000 0000 00 00", zero, "0100", []string{"argument 0: "}},
		{"too many", little, false, stapsdt.X86_64, "8@$1 8@$2 8@$3",
			"0100000000000000 00000000 0000 00 00", "0200000000000000 00000000 0000 00 00", "0200",
			[]string{"arguments from 2 on: the object has room for 2"}},
		{"index, old header", little, false, stapsdt.X86_64, "8@1(%rax,%rcx,8)", "0100000000000000 7f000000 5000 00 00", zero, "0100",
			[]string{"argument 0: \"8@1(%rax,%rcx,8)\": an index register, which the object's version of usdt.bpf.h does not know"}},
		// idx_reg_off 0x058 and scale_bitshift 3 make the 16 bits 0x3058.
		{"index, new header", little, true, stapsdt.X86_64, "8@1(%rax,%rcx,8) 4@%eax",
			"0100000000000000 03 5830 00 5000 00 00", "0000000000000000 01 0000 00 5000 00 20", "0200", nil},
		// Big endian, as s390x has it: r2 at 40 (0x28), r3 at 48 (0x30).
		{"big endian", big, false, stapsdt.S390X, "-4@%r2 8@160(%r3)",
			"0000000000000000 00000001 0028 01 20", "00000000000000a0 00000002 0030 00 00", "0002", nil},
		// idx_reg_off 0x030 and scale_bitshift 0 make the 16 bits 0x0300.
		{"index, big endian", big, true, stapsdt.S390X, "8@1(%r2,%r3)",
			"0000000000000001 00 0300 03 0028 00 00", zero, "0001", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			members := oldMembers()
			if tc.new {
				members = newMembers(tc.order)
			}
			l, err := newSpecLayout(specMap(members...), tc.order)
			if err != nil {
				t.Fatal(err)
			}
			got, errs := l.encode(&Location{Machine: tc.machine, ArgString: tc.args}, 0x1122334455667788)
			cookie := "8877665544332211"
			if tc.order == big {
				cookie = "1122334455667788"
			}
			want := unhex(t, tc.a0+tc.a1+cookie+tc.count+"000000000000")
			if !bytes.Equal(got, want) {
				t.Errorf("got  % x\nwant % x", got, want)
			}
			if len(errs) != len(tc.failures) {
				t.Fatalf("faults %v, want %d", errs, len(tc.failures))
			}
			for i, err := range errs {
				if !errors.Is(err, ErrUnreadable) || !strings.Contains(err.Error(), tc.failures[i]) {
					t.Errorf("fault %v, want %s", err, tc.failures[i])
				}
			}
		})
	}
}

// Objects with other types under these names are refused.
func TestSpecLayoutFaults(t *testing.T) {
	edit := func(f func(m *ebpf.MapSpec, s *btf.Struct)) *ebpf.MapSpec {
		m := specMap(oldMembers()...)
		f(m, m.Value.(*btf.Struct))
		return m
	}
	for _, tc := range []struct {
		name string
		spec *ebpf.MapSpec
		want string
	}{
		{"no types", &ebpf.MapSpec{ValueSize: 48}, "value has no type information"},
		{"no struct", &ebpf.MapSpec{Value: u64Type, ValueSize: 8}, "value is a"},
		{"no cookie", edit(func(_ *ebpf.MapSpec, s *btf.Struct) { s.Members[1].Name = "x" }), "struct __bpf_usdt_spec has no member usdt_cookie"},
		{"args no array", edit(func(_ *ebpf.MapSpec, s *btf.Struct) { s.Members[0].Type = u64Type }), "args is a"},
		{"args no structs", edit(func(_ *ebpf.MapSpec, s *btf.Struct) { s.Members[0].Type = &btf.Array{Type: u64Type, Nelems: 2} }), "args is a"},
		{"value too small", edit(func(m *ebpf.MapSpec, _ *btf.Struct) { m.ValueSize = 40 }), "a field of 16 bits at bit 320 in a value of 40 bytes"},
		{"too many args", edit(func(_ *ebpf.MapSpec, s *btf.Struct) {
			s.Members[0].Type.(*btf.Array).Nelems = 1 << 31
		}), "a field of"},
		{"no reg_off", specMap(append(oldMembers()[:2:2], oldMembers()[3:]...)...), "struct __bpf_usdt_arg_spec has no member reg_off"},
	} {
		if _, err := newSpecLayout(tc.spec, binary.LittleEndian); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.want)
		}
	}
}
