// The library of the seed scenario: a probe with an integer and a string, and a
// semaphore that tracers raise.
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

unsigned short seed_loop_iter_semaphore __attribute__((section(".probes")));

int loop_enabled(void) { return *(volatile unsigned short *)&seed_loop_iter_semaphore; }

void loop_fire(int i, const char *msg)
{
	if (loop_enabled())
		STAP_PROBE2(seed, loop_iter, i, msg);
}
