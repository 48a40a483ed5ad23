// __atomic_load, store and their _n forms.
// clang: none, clang-14 has no atomic loads and stores for BPF
// needs: v3, atomic operations that return the old value
// want: loads = 5 6 7
// want: bytes = 8 9
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

long v = 5, loads[3];
unsigned char byte = 8, bytes[2];

SEC("raw_tp")
int prog(void *ctx)
{
	long seven = 7;

	loads[0] = __atomic_load_n(&v, __ATOMIC_RELAXED);
	__atomic_store_n(&v, 6, __ATOMIC_RELAXED);
	loads[1] = __atomic_load_n(&v, __ATOMIC_SEQ_CST);
	__atomic_store(&v, &seven, __ATOMIC_RELEASE);
	__atomic_load(&v, &loads[2], __ATOMIC_ACQUIRE);
	bytes[0] = __atomic_load_n(&byte, __ATOMIC_RELAXED);
	__atomic_store_n(&byte, 9, __ATOMIC_RELAXED);
	bytes[1] = byte;
	return 0;
}
