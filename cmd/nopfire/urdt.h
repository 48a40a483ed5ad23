/* urdt.h - runtime-defined tracepoints for C and C++, part of nopfire.
 *
 *	#include <urdt.h>
 *	URDT2("app", "request", status, (long)path);
 *
 * Link with -lurdt (pkg-config --cflags --libs urdt). There is nothing to set
 * up: whoever traces app:request sees the call and its arguments, in every
 * process that uses the library. While nobody does, no argument is evaluated.
 *
 * Provider and name are string literals, or other strings that the compiler
 * knows: it computes their hashes when it optimizes. Arguments are converted to
 * long; pass a double by its bits, a string by its address.
 *
 * The contract is docs/urdt-spec.md of nopfire. This file may be used, copied
 * and changed without any condition.
 */
#ifndef NOPFIRE_URDT_H
#define NOPFIRE_URDT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The functions of liburdt.so.1. hashes is what urdt_hashes returns. */
int urdt_enabled(uint64_t hashes, int nargs);

void urdt_fire0(uint64_t hashes);
void urdt_fire1(uint64_t hashes, long);
void urdt_fire2(uint64_t hashes, long, long);
void urdt_fire3(uint64_t hashes, long, long, long);
void urdt_fire4(uint64_t hashes, long, long, long, long);
void urdt_fire5(uint64_t hashes, long, long, long, long, long);
void urdt_fire6(uint64_t hashes, long, long, long, long, long, long);
void urdt_fire7(uint64_t hashes, long, long, long, long, long, long, long);
void urdt_fire8(uint64_t hashes, long, long, long, long, long, long, long, long);
void urdt_fire9(uint64_t hashes, long, long, long, long, long, long, long, long, long);
void urdt_fire10(uint64_t hashes, long, long, long, long, long, long, long, long, long, long);
void urdt_fire11(uint64_t hashes, long, long, long, long, long, long, long, long, long, long, long);

/* The same with names that are known at run time only: hashed at every call. */
void bpf_urdt__probe0(const char *provider, const char *probe);
void bpf_urdt__probe1(const char *provider, const char *probe, long);
void bpf_urdt__probe2(const char *provider, const char *probe, long, long);
void bpf_urdt__probe3(const char *provider, const char *probe, long, long, long);
void bpf_urdt__probe4(const char *provider, const char *probe, long, long, long, long);
void bpf_urdt__probe5(const char *provider, const char *probe, long, long, long, long, long);
void bpf_urdt__probe6(const char *provider, const char *probe, long, long, long, long, long, long);
void bpf_urdt__probe7(const char *provider, const char *probe, long, long, long, long, long, long, long);
void bpf_urdt__probe8(const char *provider, const char *probe, long, long, long, long, long, long, long, long);
void bpf_urdt__probe9(const char *provider, const char *probe, long, long, long, long, long, long, long, long, long);
void bpf_urdt__probe10(const char *provider, const char *probe, long, long, long, long, long, long, long, long, long, long);
void bpf_urdt__probe11(const char *provider, const char *probe, long, long, long, long, long, long, long, long, long, long, long);

#ifdef __cplusplus
}
#endif

/* One byte of a string in both hashes; len is a constant where s is a literal,
 * and then nothing of this is left in the program. */
#define URDT__BYTE(i)								\
	if ((i) < len) {							\
		h = h * 31 + (uint32_t)(int32_t)(signed char)s[i];		\
		f = (f ^ (unsigned char)s[i]) * 0x01000193u;			\
	}
#define URDT__BYTES4(i)  URDT__BYTE(i) URDT__BYTE((i) + 1) URDT__BYTE((i) + 2) URDT__BYTE((i) + 3)
#define URDT__BYTES16(i) URDT__BYTES4(i) URDT__BYTES4((i) + 4) URDT__BYTES4((i) + 8) URDT__BYTES4((i) + 12)

#define URDT__INLINE static inline __attribute__((always_inline, unused))

/* A loop over a literal longer than a compiler unrolls would stay in the
 * program: the first 64 bytes are written out. */
URDT__INLINE uint64_t urdt__mix(uint64_t hashes, const char *s, unsigned long len)
{
	uint32_t h = (uint32_t)hashes, f = (uint32_t)(hashes >> 32);
	unsigned long i;

	URDT__BYTES16(0) URDT__BYTES16(16) URDT__BYTES16(32) URDT__BYTES16(48)
	for (i = 64; i < len; i++) {
		URDT__BYTE(i)
	}
	return (uint64_t)f << 32 | h;
}

/* urdt_hashes returns the hashes of a name: 31*h + c in the low half, FNV-1a
 * with a zero byte between provider and name in the high half. */
URDT__INLINE uint64_t urdt_hashes(const char *provider, const char *probe)
{
	uint64_t hashes = urdt__mix((uint64_t)0x811c9dc5u << 32, provider, __builtin_strlen(provider));

	hashes = (uint64_t)((uint32_t)(hashes >> 32) * 0x01000193u) << 32 | (uint32_t)hashes;
	return urdt__mix(hashes, probe, __builtin_strlen(probe));
}

/* URDT_ENABLED tells whether somebody traces the name, or one that shares its
 * site: for arguments that take some work. */
#define URDT_ENABLED(provider, probe, nargs) urdt_enabled(urdt_hashes(provider, probe), nargs)

#define URDT__FIRE(provider, probe, nargs, ...)					\
	do {									\
		const uint64_t urdt__h = urdt_hashes(provider, probe);		\
		if (__builtin_expect(urdt_enabled(urdt__h, nargs), 0))		\
			urdt_fire##nargs(__VA_ARGS__);				\
	} while (0)

#define URDT0(p, n) URDT__FIRE(p, n, 0, urdt__h)
#define URDT1(p, n, a) URDT__FIRE(p, n, 1, urdt__h, (long)(a))
#define URDT2(p, n, a, b) URDT__FIRE(p, n, 2, urdt__h, (long)(a), (long)(b))
#define URDT3(p, n, a, b, c) URDT__FIRE(p, n, 3, urdt__h, (long)(a), (long)(b), (long)(c))
#define URDT4(p, n, a, b, c, d) URDT__FIRE(p, n, 4, urdt__h, (long)(a), (long)(b), (long)(c), (long)(d))
#define URDT5(p, n, a, b, c, d, e)						\
	URDT__FIRE(p, n, 5, urdt__h, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))
#define URDT6(p, n, a, b, c, d, e, f)						\
	URDT__FIRE(p, n, 6, urdt__h, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define URDT7(p, n, a, b, c, d, e, f, g)					\
	URDT__FIRE(p, n, 7, urdt__h, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f), (long)(g))
#define URDT8(p, n, a, b, c, d, e, f, g, h)					\
	URDT__FIRE(p, n, 8, urdt__h, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f), (long)(g),	\
		   (long)(h))
#define URDT9(p, n, a, b, c, d, e, f, g, h, i)					\
	URDT__FIRE(p, n, 9, urdt__h, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f), (long)(g),	\
		   (long)(h), (long)(i))
#define URDT10(p, n, a, b, c, d, e, f, g, h, i, j)				\
	URDT__FIRE(p, n, 10, urdt__h, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f), (long)(g),	\
		   (long)(h), (long)(i), (long)(j))
#define URDT11(p, n, a, b, c, d, e, f, g, h, i, j, k)				\
	URDT__FIRE(p, n, 11, urdt__h, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f), (long)(g),	\
		   (long)(h), (long)(i), (long)(j), (long)(k))

#endif
