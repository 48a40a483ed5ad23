// SPDX-License-Identifier: MIT
// The C peer of testprogs/urdtfire: it fires through the functions of the object at
// the path that it is given. The name that shares its hash is storm:BB.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void (*probe0)(const char *, const char *);
static void (*probe1)(const char *, const char *, long);
static void (*probe2)(const char *, const char *, long, long);
static void (*probe3)(const char *, const char *, long, long, long);
static void (*probe4)(const char *, const char *, long, long, long, long);
static void (*probe11)(const char *, const char *, long, long, long, long, long, long, long, long, long, long, long);

static int rounds, names;

static void *storm(void *arg)
{
	char name[16];

	for (int r = 0; r < rounds; r++) {
		for (int i = 0; i < names; i++) {
			snprintf(name, sizeof(name), "n%d", i);
			probe1("storm", name, r);
		}
		probe1("storm", "BB", r);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread[16];
	char line[128], name[64];
	void *lib;
	long a, b;
	int threads;

	lib = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!lib) {
		fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "usage: peer OBJECT");
		return 1;
	}
	probe0 = dlsym(lib, "bpf_urdt__probe0");
	probe1 = dlsym(lib, "bpf_urdt__probe1");
	probe2 = dlsym(lib, "bpf_urdt__probe2");
	probe3 = dlsym(lib, "bpf_urdt__probe3");
	probe4 = dlsym(lib, "bpf_urdt__probe4");
	probe11 = dlsym(lib, "bpf_urdt__probe11");
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts(argv[1]);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strncmp(line, "set", 3)) {
			probe0("dyn", "basic");
			probe3("dyn", "urdt3", 1, 42, 0x7fff12345678);
			probe3("dyn", "urdt3alt", -1, -2, -3);
			probe3("dyn", "urdt3", 1, 42, 0x7fff12345678);
			probe4("dyn", "shared", -4, 1L << 62, 77, 4);
			probe11("dyn", "urdt11", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
		} else if (sscanf(line, "two %63s %ld %ld", name, &a, &b) == 3) {
			probe2("dyn", name, a, b);
		} else if (sscanf(line, "storm %d %d %d", &threads, &rounds, &names) == 3 && threads <= 16) {
			for (int i = 0; i < threads; i++)
				if (pthread_create(&thread[i], NULL, storm, NULL))
					return 1;
			for (int i = 0; i < threads; i++)
				pthread_join(thread[i], NULL);
		}
		puts("fired");
	}
	return 0;
}
