// Fires through a library that it opens itself: argv[1]. Each line of standard
// input is a number N: app:request (N, -N) is fired twice.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*probe2)(const char *, const char *, long, long);
	long n;

	if (!lib || !(probe2 = dlsym(lib, "bpf_urdt__probe2"))) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	puts("ready");
	fflush(stdout);
	while (scanf("%ld", &n) == 1) {
		probe2("app", "request", n, -n);
		probe2("app", "request", n, -n);
		puts("ok");
		fflush(stdout);
	}
	return 0;
}
