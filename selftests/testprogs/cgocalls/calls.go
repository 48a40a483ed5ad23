//go:build cgo

// Package cgocalls keeps C threads and calls from C into Go and back going, so
// that a test can show that they do not mind nopfire and it does not mind them.
package cgocalls

/*
#include <pthread.h>
#include <time.h>

static long sum;

static void *run(void *stop)
{
	struct timespec pause = { 0, 100000 };

	while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED)) {
		__atomic_add_fetch(&sum, 1, __ATOMIC_RELAXED);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static int never;

static int start(int threads)
{
	while (threads--) {
		pthread_t t;

		if (pthread_create(&t, NULL, run, &never))
			return -1;
		pthread_detach(t);
	}
	return 0;
}

static long add(long n)
{
	return __atomic_add_fetch(&sum, n, __ATOMIC_RELAXED);
}
*/
import "C"

import "time"

// Start starts C threads, and goroutines that call C, for the rest of the
// process's life.
func Start() {
	if C.start(4) != 0 {
		panic("cgocalls: cannot start threads")
	}
	for range 4 {
		go func() {
			for {
				for range 100 {
					C.add(1)
				}
				time.Sleep(time.Millisecond)
			}
		}()
	}
}
