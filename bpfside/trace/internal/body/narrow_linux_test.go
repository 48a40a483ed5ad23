package body

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// Pointers of a process of 32 bits, as arguments and in memory: they are half as wide
// as those that C for BPF has.
func TestNarrowPointers(t *testing.T) {
	testutils.NeedBPF(t)
	const low = 0x1000_0000
	p, err := unix.MmapPtr(-1, 0, unsafe.Add(nil, low), 4096, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED_NOREPLACE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.MunmapPtr(p, 4096) }()
	mem := unsafe.Slice((*byte)(p), 4096)

	// struct node { int id; struct node *next; char *text; int *numbers; }
	node := &usdt.Type{Kind: usdt.Struct, Size: 16, Name: "node"}
	narrow := func(to *usdt.Type) *usdt.Type { return &usdt.Type{Kind: usdt.Pointer, Size: 4, Elem: to} }
	text := &usdt.Type{Kind: usdt.String, Size: 4}
	node.Fields = []usdt.Field{
		{Name: "id", Type: i32t}, {Name: "next", Offset: 4, Type: narrow(node)},
		{Name: "text", Offset: 8, Type: text}, {Name: "numbers", Offset: 12, Type: narrow(i32t)},
	}
	for i, word := range []uint32{
		1, low + 16, low + 64, 0,
		2, 0, low + 64, low + 32,
		10, 20, 30,
	} {
		binary.LittleEndian.PutUint32(mem[4*i:], word)
	}
	copy(mem[64:], "text\x00")

	args := []Arg{{Name: "p", Size: 4, Type: narrow(node)}, {Name: "s", Size: 4, Type: text}, {Size: 4}}
	values := [MaxArgs]uint64{low, low + 64, low + 64}
	rows := []struct{ expr, want, typ string }{
		{"p->id", "1", "int32"},
		{"p->next->id", "2", "int32"},
		{"(*p).next->numbers[2]", "30", "int32"},
		{"*p->next->numbers", "10", "int32"},
		{"p[1].id", "2", "int32"},
		{"p->next", "0x10000010", "*node"},
		{"p->text", "0x10000040", "string"},
		{"p->text[1]", "101", "int8"},
		{"*s", "116", "int8"},
		{`s == "text"`, "1", "int32"},
		{`p->next->text == "text"`, "1", "int32"},
		{`strcmp(arg3, "text")`, "0", "int32"},
		{`(char *)arg3 == "text"`, "1", "int32"},
		{"sizeof(struct node)", "16", "uint64"},
	}
	for _, r := range rows {
		_, got, f := runWith(t, &Input{Args: args, Values: []string{r.expr}}, values)
		if v := f.Values[0]; show(v, got[0]) != r.want || v.Type != r.typ {
			t.Errorf("%s: %s, a %s, wanted %s, a %s", r.expr, show(v, got[0]), v.Type, r.want, r.typ)
		}
	}
}
