// Fires with the macros of urdt.h. Each line of standard input is a number N:
// app:request (N, -N) is fired by macro and by string. Before that it prints what
// the header makes of names, and whether an untraced macro left its arguments
// alone.
#include <stdio.h>
#include <urdt.h>

static int evaluated;

static long count(long v)
{
	evaluated++;
	return v;
}

int main(void)
{
	const uint64_t hashes = urdt_hashes("app", "request");
	long n;

	printf("%016llx %d\n", (unsigned long long)hashes, __builtin_constant_p(hashes));
	printf("%016llx %d\n",
	       (unsigned long long)urdt_hashes("p\xff", "0123456789012345678901234567890123456789012345678901234567890123456789"),
	       (int)URDT_ENABLED("app", "request", 2));
	URDT0("quiet", "x");
	URDT1("quiet", "x", count(1));
	URDT2("quiet", "x", count(1), 2);
	URDT3("quiet", "x", count(1), 2, 3);
	URDT4("quiet", "x", count(1), 2, 3, 4);
	URDT5("quiet", "x", count(1), 2, 3, 4, 5);
	URDT6("quiet", "x", count(1), 2, 3, 4, 5, 6);
	URDT7("quiet", "x", count(1), 2, 3, 4, 5, 6, 7);
	URDT8("quiet", "x", count(1), 2, 3, 4, 5, 6, 7, 8);
	URDT9("quiet", "x", count(1), 2, 3, 4, 5, 6, 7, 8, 9);
	URDT10("quiet", "x", count(1), 2, 3, 4, 5, 6, 7, 8, 9, 10);
	URDT11("quiet", "x", count(1), 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
	printf("evaluated %d\nready\n", evaluated);
	fflush(stdout);
	while (scanf("%ld", &n) == 1) {
		URDT2("app", "request", n, -n);
		bpf_urdt__probe2("app", "request", n, -n);
		puts("ok");
		fflush(stdout);
	}
	return 0;
}
