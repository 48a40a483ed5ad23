// An object as the RFC has it: one site for each arity, here urdt:probe3, for all
// names. A line "N" times N fires of a name that nobody traces, in nanoseconds of
// processor time each.
#include <stdio.h>
#include <sys/sdt.h>
#include <time.h>

static double used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(void)
{
	long n, i;

	puts("ready");
	fflush(stdout);
	while (scanf("%ld", &n) == 1) {
		double start = used();

		for (i = 0; i < n; i++)
			DTRACE_PROBE4(urdt, probe3, i, 2L, 3L, 0x12345678u);
		printf("%f\n", (used() - start) / n);
		fflush(stdout);
	}
	return 0;
}
