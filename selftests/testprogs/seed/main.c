// The program of the seed scenario, over loop.c and value.c. Each line on standard
// input is a command; the answer is one line.
//
//	enabled        is loop_iter traced?          → enabled N, the semaphore
//	fire N         loop_iter N times, i from 0   → fired N
//	storm MS       loop_iter as fast as it goes  → fired N
//	pace RATE MS   loop_iter RATE times a second → fired N
//	values N       value N times                 → fired N
//	value S L      value with S and L            → fired 1
//
// loop_iter has i and "message I", I counted up to a million and then from 0 again.
// value has i % 100 - 10 and i * i, i from 0.
#include <stdio.h>
#include <string.h>
#include <time.h>

int loop_enabled(void);
void loop_fire(int i, const char *msg);
void value_fire(int small, unsigned long large);

// fire writes the number by hand: snprintf would take longer than the probe.
static void fire(long i)
{
	static char msg[32] = "message ";
	char digits[8], *d = digits + sizeof digits, *m = msg + 8;
	unsigned n = i % 1000000;
	do *--d = '0' + n % 10; while (n /= 10);
	while (d < digits + sizeof digits) *m++ = *d++;
	*m = 0;
	loop_fire(i, msg);
}

static double now(void) // in milliseconds
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

// pace fires in bursts, a thousand a second: as many as are due. Where the probe is
// too slow for the rate it fires less.
static long pace(long rate, long ms)
{
	long fired = 0;
	double start = now(), t;
	while ((t = now() - start) < ms) {
		for (long due = t * rate / 1e3, k = 0; fired < due && k < 4096; k++) fire(fired++);
		struct timespec ts = {0, 1000000};
		nanosleep(&ts, NULL);
	}
	return fired;
}

int main(void)
{
	char line[64];
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof line, stdin)) {
		long n, ms, fired = 0;
		unsigned long large;
		if (sscanf(line, "fire %ld", &n) == 1) {
			while (fired < n) fire(fired++);
		} else if (sscanf(line, "storm %ld", &ms) == 1) {
			for (double end = now() + ms; now() < end;)
				for (int k = 0; k < 64; k++) fire(fired++);
		} else if (sscanf(line, "pace %ld %ld", &n, &ms) == 2) {
			fired = pace(n, ms);
		} else if (sscanf(line, "values %ld", &n) == 1) {
			for (; fired < n; fired++) value_fire(fired % 100 - 10, (unsigned long)fired * fired);
		} else if (sscanf(line, "value %ld %lu", &n, &large) == 2) {
			value_fire(n, large);
			fired = 1;
		} else if (!strcmp(line, "enabled\n")) {
			printf("enabled %d\n", loop_enabled());
			continue;
		} else {
			fprintf(stderr, "seed: no command %s", line);
			return 2;
		}
		printf("fired %ld\n", fired);
	}
	return 0;
}
