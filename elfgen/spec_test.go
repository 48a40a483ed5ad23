package elfgen

import (
	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// allMachines are the machines that Build makes objects for.
var allMachines = []stapsdt.Machine{
	stapsdt.X86_64, stapsdt.ARM64, stapsdt.RISCV64, stapsdt.S390X, stapsdt.PPC64LE,
}

// Short forms of types.
func sint(size int) *Type        { return &Type{Kind: Int, Size: size} }
func usint(size int) *Type       { return &Type{Kind: Uint, Size: size} }
func ieee(size int) *Type        { return &Type{Kind: Float, Size: size} }
func kind(k Kind) *Type          { return &Type{Kind: k} }
func pointer(t *Type) *Type      { return &Type{Kind: Pointer, Elem: t} }
func array(n int, t *Type) *Type { return &Type{Kind: Array, Len: n, Elem: t} }
func args(types ...*Type) []ArgSpec {
	a := make([]ArgSpec, len(types))
	for i, t := range types {
		a[i].Type = t
	}
	return a
}

// request is a recursive struct with a field of every kind.
func request() *Type {
	r := &Type{Kind: Struct, Name: "Request", Size: 128, Go: "main.Request"}
	r.Fields = []Field{
		{"id", 0, sint(8)},
		{"next", 8, pointer(r)},
		{"path", 16, kind(String)},
		{"body", 32, kind(Bytes)},
		{"err", 56, kind(Error)},
		{"ok", 72, kind(Bool)},
		{"small", 74, usint(2)},
		{"score", 76, ieee(4)},
		{"took", 80, &Type{Kind: Int, Size: 8, Go: "time.Duration"}},
		{"pos", 88, &Type{Kind: Struct, Name: "Pos", Size: 16, Fields: []Field{{"x", 0, ieee(8)}, {"y", 8, ieee(8)}}}},
		{"tag", 104, array(4, usint(1))},
		{"any", 112, pointer(nil)},
	}
	return r
}

// fullSpec has probes of every kind of argument, 0 to 12 places, with and
// without semaphores, and names that need care.
func fullSpec() *ProviderSpec {
	req := request()
	return &ProviderSpec{Name: "web-shop", Probes: []ProbeSpec{
		{Name: "none"},
		{Name: "one", Args: []ArgSpec{{"count", sint(4)}}},
		{Name: "signed", Args: args(sint(1), sint(2), sint(4), sint(8)), Semaphore: true},
		{Name: "unsigned", Args: args(usint(1), usint(2), usint(4), usint(8))},
		{Name: "texts", Args: []ArgSpec{{"path", kind(String)}, {"body", kind(Bytes)}, {"err", kind(Error)}}, Semaphore: true},
		{Name: "rest", Args: args(kind(Bool), ieee(4), ieee(8), pointer(nil))},
		{Name: "struct", Args: []ArgSpec{{"req", pointer(req)}, {"took", &Type{Kind: Int, Size: 8, Go: "time.Duration"}}}},
		{Name: "twelve", Args: args(sint(8), sint(8), sint(8), sint(8), sint(8), sint(8), sint(8), sint(8), sint(8), sint(8), sint(8), sint(8))},
		{Name: "a/b+c@2"},
	}}
}

// objects are all combinations of machine and nop form.
var objects = []struct {
	machine stapsdt.Machine
	form    NopForm
	name    string
}{
	{stapsdt.X86_64, FormNop1, "x86-64-nop1"},
	{stapsdt.X86_64, FormNop5, "x86-64-nop5"},
	{stapsdt.X86_64, FormNop10, "x86-64-nop10"},
	{stapsdt.ARM64, FormNop1, "arm64"},
	{stapsdt.RISCV64, FormNop1, "riscv64"},
	{stapsdt.S390X, FormNop1, "s390x"},
	{stapsdt.PPC64LE, FormNop1, "ppc64le"},
}
