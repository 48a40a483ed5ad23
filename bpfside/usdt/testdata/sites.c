/* SPDX-License-Identifier: MIT
 * Instructions with a note each, provider "site". The program runs the one that
 * its argument names: 1000 times for each line that it reads, and then prints the
 * nanoseconds that one time took. SITES is a header with SITE(name, before, code,
 * after) for each and ROWS, a list of SITE_ROW(name).
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A function that runs the code, whose note points at its first instruction. The
 * note has no base: nothing has moved the addresses since they were linked. */
#define SITE(name, before, code, after)                                        \
	__attribute__((noinline)) static void run_##name(void)                 \
	{                                                                      \
		__asm__ volatile(                                              \
			".balign 32\n" before "\n"                             \
			"990: " code "\n"                                      \
			after "\n"                                             \
			".pushsection .note.stapsdt,\"\",\"note\"\n"           \
			".balign 4\n"                                          \
			".4byte 8, 994f-993f, 3\n"                             \
			".asciz \"stapsdt\"\n"                                 \
			"993: .8byte 990b, 0, 0\n"                             \
			".asciz \"site\"\n"                                    \
			".asciz \"" #name "\"\n"                               \
			".byte 0\n"                                            \
			"994: .balign 4\n"                                     \
			".popsection"                                          \
			::: "rax", "rcx", "rdx", "xmm0", "memory", "cc");      \
	}

#include SITES

#define SITE_ROW(name) { #name, run_##name },
static const struct {
	const char *name;
	void (*run)(void);
} rows[] = { ROWS };

int main(int argc, char **argv)
{
	void (*run)(void) = 0;
	char line[16];

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (argc > 1 && !strcmp(argv[1], rows[i].name))
			run = rows[i].run;
	if (!run)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		struct timespec a, b;

		clock_gettime(CLOCK_MONOTONIC, &a);
		for (int i = 0; i < 1000; i++)
			run();
		clock_gettime(CLOCK_MONOTONIC, &b);
		printf("%ld\n", ((b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec) / 1000);
	}
	return 0;
}
