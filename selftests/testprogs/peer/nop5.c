// SPDX-License-Identifier: MIT
// The peer of our fire path: probe sites compiled into C, one with the nop of
// sys/sdt.h, one with the 5-byte nop that kernels since 6.18 replace by a call.
//
// For each line "NOP COUNT" on standard input (NOP is 1 or 5) it runs the loop
// and prints the nanoseconds per call.
#include <stdint.h>
#include <stdio.h>
#include <time.h>

// The base that a note refers to, as sys/sdt.h makes it.
__asm__(".ifndef _.stapsdt.base\n"
	".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
	".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"
	"_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n.popsection\n.endif\n");

#define PROBE(nop, name, a, b)                                                 \
	__asm__ volatile("990: " nop "\n"                                      \
			 ".pushsection .note.stapsdt,\"\",\"note\"\n"          \
			 ".balign 4\n.4byte 992f-991f, 994f-993f, 3\n"         \
			 "991: .asciz \"stapsdt\"\n992: .balign 4\n"           \
			 "993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte 0\n" \
			 ".asciz \"peer\"\n.asciz \"" name "\"\n"              \
			 ".asciz \"-8@%0 8@%1\"\n"                             \
			 "994: .balign 4\n.popsection\n" ::"r"(a), "r"(b))

__attribute__((noinline)) static void nop1(int64_t a, const char *b)
{
	PROBE("nop", "nop1", a, b);
}

__attribute__((noinline)) static void nop5(int64_t a, const char *b)
{
	PROBE(".byte 0x0f, 0x1f, 0x44, 0, 0", "nop5", a, b);
}

int main(void)
{
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		struct timespec t0, t1;
		int form;
		long n;

		if (sscanf(line, "%d %ld", &form, &n) != 2 || n <= 0)
			return 2;
		clock_gettime(CLOCK_MONOTONIC, &t0);
		for (long i = 0; i < n; i++) {
			if (form == 5)
				nop5(i, "/index.html");
			else
				nop1(i, "/index.html");
		}
		clock_gettime(CLOCK_MONOTONIC, &t1);
		printf("%.3f\n", ((t1.tv_sec - t0.tv_sec) * 1e9 + (t1.tv_nsec - t0.tv_nsec)) / n);
		fflush(stdout);
	}
	return 0;
}
