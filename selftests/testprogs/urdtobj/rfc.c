// SPDX-License-Identifier: MIT
// An emitter as libbpf's RFC has it: one site for each number of arguments, the
// arguments as long, the hash last as an int; here with the hash computed at run
// time. Built as a library, its functions are what a patched libbpf exports. With
// INLINED they are inlined wherever they are called, so that a probe has many sites
// and the hash is a constant in most of them.
//
// For each line that it reads the program fires (see main) and says so.
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>

#ifdef INLINED
#define EMIT static inline __attribute__((always_inline))
#else
#define EMIT __attribute__((noipa))
#endif

static inline __attribute__((always_inline)) unsigned hash(const char *provider, const char *name)
{
	unsigned h = 0;

	while (*provider)
		h = h * 31 + (signed char)*provider++;
	while (*name)
		h = h * 31 + (signed char)*name++;
	return h;
}

EMIT void bpf_urdt__probe0(const char *p, const char *n) { DTRACE_PROBE1(urdt, probe0, hash(p, n)); }
EMIT void bpf_urdt__probe3(const char *p, const char *n, long a, long b, long c)
{
	DTRACE_PROBE4(urdt, probe3, a, b, c, hash(p, n));
}
EMIT void bpf_urdt__probe4(const char *p, const char *n, long a, long b, long c, long d)
{
	DTRACE_PROBE5(urdt, probe4, a, b, c, d, hash(p, n));
}
EMIT void bpf_urdt__probe11(const char *p, const char *n, long a, long b, long c, long d, long e, long f, long g,
			    long h, long i, long j, long k)
{
	DTRACE_PROBE12(urdt, probe11, a, b, c, d, e, f, g, h, i, j, k, hash(p, n));
}

static long var = 1234;

__attribute__((noipa)) static void again(void) { bpf_urdt__probe3("dyn", "urdt3", 1, 42, (long)&var); }

int main(void)
{
	char line[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("%ld\n", (long)&var);
	while (fgets(line, sizeof(line), stdin)) {
		bpf_urdt__probe0("dyn", "basic");
		bpf_urdt__probe3("dyn", "urdt3", 1, 42, (long)&var);
		bpf_urdt__probe3("dyn", "urdt3alt", -1, -2, -3);
		again();
		bpf_urdt__probe4("dyn", "shared", -4, 1L << 62, atol(line), 4);
		bpf_urdt__probe11("dyn", "urdt11", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
		puts("fired");
	}
	return 0;
}
