// SPDX-License-Identifier: MIT OR GPL-2.0
// Programs for tracepoints of URDT, which note what they see in variables. It is
// built three ways: on libbpf's usdt.bpf.h, on ours (OWN_USDT), and in the lean style
// (URDT_LEAN). OBJECT is the path in the sections, given when it is compiled.
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#ifdef OWN_USDT
#include "usdt.bpf.h"
#endif
#include "urdt.bpf.h"

// What a program has seen of one name.
struct seen {
	__u64 hits;
	__u64 calls; // whatever the name
	__u32 cookie;
	__u32 hash, hash2;
	__s32 argc;
	__s64 rc[13]; // of bpf_urdt_arg
	__s64 arg[13];
	__s64 param[11]; // of BPF_URDT
};

enum { BASIC, THREE, ALT, ELEVEN, MANUAL, RFC, NAMES };
struct seen seen[NAMES];

// A macro, as in the lean style the functions are macros that want to stand in the
// body of the program.
#define NOTE(i)                                                       \
	do {                                                          \
		struct seen *s = &seen[i];                            \
		__sync_fetch_and_add(&s->hits, 1);                    \
		s->cookie = bpf_urdt_cookie(ctx);                     \
		s->hash = bpf_urdt_hash(ctx);                         \
		s->hash2 = bpf_urdt_hash2(ctx);                       \
		s->argc = bpf_urdt_arg_cnt(ctx);                      \
		_Pragma("unroll")                                     \
		for (int n = 0; n < 13; n++) {                        \
			long v = -1;                                  \
			s->rc[n] = bpf_urdt_arg(ctx, n, &v);          \
			s->arg[n] = v;                                \
		}                                                     \
	} while (0)

// The RFC's basic test: no BPF_URDT, attached by hand, an argument that is not there.
SEC("urdt")
int basic(struct pt_regs *ctx)
{
	long x = 1;
#ifdef URDT_LEAN
	URDT_NARGS(0);
#endif
	__sync_fetch_and_add(&seen[BASIC].calls, 1);
	if (!bpf_urdt_match(ctx))
		return 0;
	NOTE(BASIC);
	seen[BASIC].param[0] = bpf_urdt_arg(ctx, bpf_get_prandom_u32(), &x);
	seen[BASIC].param[1] = x;
	return 0;
}

SEC("urdt/" OBJECT ":3:dyn:urdt3")
int BPF_URDT(on_three, int x, unsigned long y, const long *z)
{
	NOTE(THREE);
	seen[THREE].param[0] = x;
	seen[THREE].param[1] = y;
	seen[THREE].param[2] = (long)z;
	return 0;
}

SEC("urdt/" OBJECT ":3:dyn:urdt3alt")
int BPF_URDT(on_alt, long x, long y, long z)
{
	NOTE(ALT);
	return 0;
}

SEC("urdt/" OBJECT ":11:dyn:urdt11")
int BPF_URDT(on_eleven, long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k)
{
	NOTE(ELEVEN);
	seen[ELEVEN].param[0] = a;
	seen[ELEVEN].param[1] = b;
	seen[ELEVEN].param[2] = c;
	seen[ELEVEN].param[3] = d;
	seen[ELEVEN].param[4] = e;
	seen[ELEVEN].param[5] = f;
	seen[ELEVEN].param[6] = g;
	seen[ELEVEN].param[7] = h;
	seen[ELEVEN].param[8] = i;
	seen[ELEVEN].param[9] = j;
	seen[ELEVEN].param[10] = k;
	return 0;
}

// Attached by hand: a test chooses name, path, pid and cookie.
SEC("urdt")
int BPF_URDT(manual, long a, long b, long c, long d)
{
	NOTE(MANUAL);
	seen[MANUAL].param[0] = a;
	seen[MANUAL].param[1] = b;
	seen[MANUAL].param[2] = c;
	seen[MANUAL].param[3] = d;
	return 0;
}

#ifndef URDT_LEAN
// As the RFC's own header does it: the last USDT argument, as an int, against the
// upper half of the cookie.
SEC("urdt/" OBJECT ":3:dyn:urdt3")
int rfc_way(struct pt_regs *ctx)
{
	struct seen *s = &seen[RFC];
	int n = bpf_usdt_arg_cnt(ctx) - 1;
	long hash = 0;

	__sync_fetch_and_add(&s->calls, 1);
	bpf_usdt_arg(ctx, n, &hash);
	if ((int)hash != (int)(bpf_usdt_cookie(ctx) >> 32))
		return 0;
	__sync_fetch_and_add(&s->hits, 1);
	s->cookie = bpf_usdt_cookie(ctx);
	s->argc = n;
#pragma unroll
	for (int i = 0; i < 3; i++) {
		long v = 0;

		s->rc[i] = bpf_usdt_arg(ctx, i, &v);
		s->arg[i] = v;
	}
	return 0;
}
#endif

char _license[] SEC("license") = "Dual MIT/GPL";
