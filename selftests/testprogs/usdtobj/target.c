// SPDX-License-Identifier: MIT
// A program with USDT probes of every kind. It fires each of them once for every
// line that it reads, always with the same values, and then prints the semaphore
// of app:sem as it was while it fired.
#include <stdint.h>
#include <stdio.h>

#define _SDT_HAS_SEMAPHORES 1
#define NONE(p) __extension__ unsigned short app_##p##_semaphore __attribute__((section(".probes")))
NONE(sem);
#define app_sizes_semaphore app_sem_semaphore
#define app_none_semaphore app_sem_semaphore
#define app_text_semaphore app_sem_semaphore
#define app_same_semaphore app_sem_semaphore
#define app_many_semaphore app_sem_semaphore
#define app_few_semaphore app_sem_semaphore
#include <sys/sdt.h>

#define OPAQUE __attribute__((noipa))

struct values {
	int8_t s8;
	uint8_t u8;
	int16_t s16;
	uint16_t u16;
	int32_t s32;
	uint32_t u32;
	int64_t s64;
	uint64_t u64;
};

// In registers and in memory, signed and unsigned, and constants: twelve.
OPAQUE static void sizes(const struct values *v, int8_t s8, uint8_t u8, int16_t s16, uint16_t u16, uint64_t u64)
{
	DTRACE_PROBE12(app, sizes, s8, u8, s16, u16, v->s32, v->u32, v->s64, u64,
		       v->s8, v->u16, -9, (uint8_t)250);
}

OPAQUE static void text(long n, const char *s) { DTRACE_PROBE2(app, text, n, s); }

OPAQUE static void sem(int n) { DTRACE_PROBE1(app, sem, n); }

OPAQUE static void none(void) { DTRACE_PROBE(app, none); }

#define TEN(x) x x x x x x x x x x

// 400 places with the same argument.
OPAQUE static void same(int n) { TEN(TEN(DTRACE_PROBE1(app, same, n); DTRACE_PROBE1(app, same, n);
					 DTRACE_PROBE1(app, same, n); DTRACE_PROBE1(app, same, n);)) }

// 300 places, each with another constant: 1000 to 1299.
OPAQUE static void many(void)
{
#define ONE(n) DTRACE_PROBE1(app, many, 1##n);
#define DIGITS(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7) m(n##8) m(n##9)
#define TENS(n) DIGITS(ONE, n)
#define HUNDRED(n) TENS(n##0) TENS(n##1) TENS(n##2) TENS(n##3) TENS(n##4) \
	TENS(n##5) TENS(n##6) TENS(n##7) TENS(n##8) TENS(n##9)
	HUNDRED(0) HUNDRED(1) HUNDRED(2)
}

// Ten of that kind: 10 to 19.
OPAQUE static void few(void)
{
#define FEW(n) DTRACE_PROBE1(app, few, 1##n);
	DIGITS(FEW, )
}

// Functions for uprobes.
OPAQUE int plain_one(int n) { __asm__ volatile(""); return n + 1; }
OPAQUE int plain_two(int n) { __asm__ volatile(""); return n + 2; }

int main(void)
{
	static const struct values v = { -8, 208, -16000, 60000, -320000, 4000000000u, -64000000000, 1ull << 63 };
	char line[16];

	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		int now = app_sem_semaphore;

		sizes(&v, v.s8, v.u8, v.s16, v.u16, v.u64);
		text(-5, "a text of the target");
		sem(77);
		none();
		same(3);
		many();
		few();
		plain_one(1);
		plain_two(2);
		printf("%d\n", now);
	}
	return 0;
}
