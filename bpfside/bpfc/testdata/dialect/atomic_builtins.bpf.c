// __atomic builtins with orders: fetch_op, op_fetch, exchange, compare_exchange.
// needs: v3, atomic operations that return the old value
// want: fetched = 6 16 15 0xe
// want: opped = 0x1e 0x10 0x11
// want: ex = 17 40
// want: cas = 1 0
// want: expected = 41
// want: word = 41
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

long v = 6, fetched[4], opped[3], ex[2], word, expected;
int cas[2];

SEC("raw_tp")
int prog(void *ctx)
{
	fetched[0] = __atomic_fetch_add(&v, 10, __ATOMIC_SEQ_CST);
	fetched[1] = __atomic_fetch_sub(&v, 1, __ATOMIC_RELAXED);
	fetched[2] = __atomic_fetch_and(&v, 0xe, __ATOMIC_RELAXED);
	fetched[3] = __atomic_fetch_or(&v, 0x10, __ATOMIC_ACQUIRE);
	opped[0] = __atomic_add_fetch(&v, 0, __ATOMIC_RELEASE);
	opped[1] = __atomic_and_fetch(&v, 0x10, __ATOMIC_SEQ_CST);
	opped[2] = __atomic_xor_fetch(&v, 1, __ATOMIC_SEQ_CST);
	ex[0] = __atomic_exchange_n(&v, 40, __ATOMIC_ACQ_REL);
	ex[1] = v;
	expected = 40;
	cas[0] = __atomic_compare_exchange_n(&v, &expected, 41, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	expected = 7;
	cas[1] = __atomic_compare_exchange_n(&v, &expected, 42, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	word = v;
	return 0;
}
