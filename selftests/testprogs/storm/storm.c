// A program whose processes are many and short. Each line on standard input is a
// command; the answer is one line.
//
//	enabled     are the probes traced?                            → enabled N, the smallest semaphore
//	fork N K    N children, each fires storm:child(i, k), K times → forked N
//	exec N K    N children, each executes this program, which
//	            fires storm:image(i, k), K times                  → execed N
//	here K      fires storm:here(0, k), K times                   → fired K
//
// i is the number of the child, k that of the hit. A probe is fired if its semaphore
// says so, and not otherwise. A child that fails ends the program.
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

unsigned short storm_child_semaphore __attribute__((section(".probes")));
unsigned short storm_image_semaphore __attribute__((section(".probes")));
unsigned short storm_here_semaphore __attribute__((section(".probes")));

static int on(unsigned short *semaphore) { return *(volatile unsigned short *)semaphore; }

static void die(const char *what)
{
	perror(what);
	exit(1);
}

// collect waits for n children.
static void collect(long n)
{
	int status;
	while (n-- > 0)
		if (wait(&status) < 0 || status != 0) die("child");
}

// breed makes n children, at most 16 at a time, each of which fires k times.
static void breed(long n, long k, int execute)
{
	char number[24], hits[24];
	long alive = 0;
	for (long i = 0; i < n; i++) {
		if (alive == 16) {
			collect(1);
			alive--;
		}
		pid_t pid = fork();
		if (pid < 0) die("fork");
		alive++;
		if (pid > 0) continue;
		if (execute) {
			snprintf(number, sizeof number, "%ld", i);
			snprintf(hits, sizeof hits, "%ld", k);
			execl("/proc/self/exe", "storm", number, hits, (char *)0);
			_exit(127);
		}
		for (long j = 0; j < k; j++)
			if (on(&storm_child_semaphore)) STAP_PROBE2(storm, child, i, j);
		_exit(0);
	}
	collect(alive);
}

int main(int argc, char **argv)
{
	char line[64];
	long n, k;
	if (argc == 3) {
		n = atol(argv[1]);
		k = atol(argv[2]);
		for (long j = 0; j < k; j++)
			if (on(&storm_image_semaphore)) STAP_PROBE2(storm, image, n, j);
		return 0;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof line, stdin)) {
		if (sscanf(line, "fork %ld %ld", &n, &k) == 2) {
			breed(n, k, 0);
			printf("forked %ld\n", n);
		} else if (sscanf(line, "exec %ld %ld", &n, &k) == 2) {
			breed(n, k, 1);
			printf("execed %ld\n", n);
		} else if (sscanf(line, "here %ld", &k) == 1) {
			for (long j = 0; j < k; j++)
				if (on(&storm_here_semaphore)) STAP_PROBE2(storm, here, 0L, j);
			printf("fired %ld\n", k);
		} else {
			int least = on(&storm_child_semaphore);
			if (least > on(&storm_image_semaphore)) least = on(&storm_image_semaphore);
			if (least > on(&storm_here_semaphore)) least = on(&storm_here_semaphore);
			printf("enabled %d\n", least);
		}
	}
	return 0;
}
