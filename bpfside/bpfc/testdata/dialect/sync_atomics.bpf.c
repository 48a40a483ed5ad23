// __sync builtins on 4 and 8 bytes, in globals and in map values; with and without use of
// the result.
// needs: v3, atomic operations that return the old value
// want: w = 0xf5
// want: l = 1007
// want: old = 1000 1005 7
// want: new = 1007
// want: logic = 0xf0 0xff 0xf5 0xf
// want: cas = 11 10 20
// want: bools = 1 0
// want: swapped = 20 99
// want: counted = 3
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, int);
	__type(value, long);
} counter SEC(".maps");

unsigned int w = 0xf0, logic[4];
long l = 1000, old[3], new, cas[3], swapped[2], counted;
int bools[2];
static long cell = 10;

SEC("raw_tp")
int prog(void *ctx)
{
	int key = 0;
	long *v = bpf_map_lookup_elem(&counter, &key);

	old[0] = __sync_fetch_and_add(&l, 5);
	old[1] = __sync_fetch_and_sub(&l, -2);
	new = __sync_add_and_fetch(&l, 0);
	old[2] = new - 1000;
	logic[0] = __sync_fetch_and_or(&w, 0x0f);
	logic[1] = __sync_fetch_and_and(&w, 0xfa);
	__sync_fetch_and_or(&w, 0xff);
	__sync_fetch_and_xor(&w, 0x0a);
	logic[2] = w;
	logic[3] = __sync_and_and_fetch(&w, 0xff) & 0xf;
	logic[3] = __sync_xor_and_fetch(&w, 0) == 0xf5 ? 0xf : 0;
	cas[0] = __sync_val_compare_and_swap(&cell, 1, 2) + 1;
	cas[1] = __sync_val_compare_and_swap(&cell, 10, 20);
	cas[2] = cell;
	bools[0] = __sync_bool_compare_and_swap(&cell, 20, 30);
	bools[1] = __sync_bool_compare_and_swap(&cell, 20, 31);
	cell -= 10;
	swapped[0] = __sync_lock_test_and_set(&cell, 99);
	swapped[1] = cell;
	if (v) {
		__sync_fetch_and_add(v, 1);
		__sync_fetch_and_add(v, 2);
		counted = *v;
	}
	return 0;
}
