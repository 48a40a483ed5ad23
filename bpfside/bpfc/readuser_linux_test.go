package bpfc_test

import (
	"encoding/binary"
	"runtime"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
)

// __builtin_read_user, with the memory of the process that runs the program: its
// own, as a program of type syscall runs where it is asked for.
func TestReadUser(t *testing.T) {
	const program = `
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct inner { short small; long large; };
struct node {
	int x;
	unsigned int low : 3, high : 7, signed_bits : 22;
	unsigned char name[8];
	struct node *next;
	struct inner inner[2];
};
struct args { struct node *node; long i; long out[9]; };

SEC("syscall")
int prog(struct args *a)
{
	struct node *p = a->node, *null = 0;
	struct inner all = __builtin_read_user(p->inner[1]);
	long own[2] = { 40, 2 }, i = a->i;

	a->out[0] = __builtin_read_user(p->x);
	a->out[1] = __builtin_read_user(p->next->x + p->next->next->x);
	a->out[2] = __builtin_read_user(p->high * 1000 + p->low);
	a->out[3] = __builtin_read_user((*p->next).name[i]);
	a->out[4] = (long)__builtin_read_user(p->inner + 1) - (long)p; /* an address */
	a->out[5] = all.small + all.large;
	a->out[6] = __builtin_read_user(null->x);
	a->out[7] = __builtin_read_user(own[0] + own[i & 1]);
	a->out[8] = __builtin_read_user(p ? *(short *)&p->next->inner[0] : -1);
	return 0;
}
char LICENSE[] SEC("license") = "GPL";
`
	type inner struct {
		small int16
		large int64
	}
	type node struct {
		x     int32
		bits  uint32
		name  [8]byte
		next  *node
		inner [2]inner
	}
	last := &node{x: 100}
	next := &node{x: -7, name: [8]byte{'n', 'a', 'm', 'e'}, next: last, inner: [2]inner{{small: -3}}}
	p := &node{x: 42, bits: 5 | 99<<3, next: next, inner: [2]inner{{}, {small: -2, large: 1 << 40}}}

	coll := load(t, compile(t, program, nil))
	ctx := make([]byte, 11*8)
	binary.LittleEndian.PutUint64(ctx, uint64(uintptr(unsafe.Pointer(p))))
	binary.LittleEndian.PutUint64(ctx[8:], 1)
	out := make([]byte, len(ctx))
	if _, err := coll.Programs["prog"].Run(&ebpf.RunOptions{Context: ctx, ContextOut: out}); err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(p)
	for i, want := range []int64{42, 93, 99005, 'a', 40, 1<<40 - 2, 0, 42, -3} {
		if got := int64(binary.LittleEndian.Uint64(out[16+8*i:])); got != want {
			t.Errorf("out[%d] is %d, not %d", i, got, want)
		}
	}
}
