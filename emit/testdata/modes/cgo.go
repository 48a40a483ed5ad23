//go:build cgo

package main

/*
#include <pthread.h>
#include <stdint.h>

extern void callback(int64_t n);

static void *thread(void *arg) {
	for (int64_t n = 0; n < (int64_t)(intptr_t)arg; n++)
		callback(n);
	return 0;
}

static int fire_on_thread(int64_t n) {
	pthread_t t;
	int err = pthread_create(&t, 0, thread, (void *)(intptr_t)n);
	return err ? err : pthread_join(t, 0);
}
*/
import "C"

import "sync/atomic"

var current atomic.Pointer[func(n int64)]

func init() {
	fireFromC = func(n int64, call func(n int64)) {
		current.Store(&call)
		if err := C.fire_on_thread(C.int64_t(n)); err != 0 {
			panic("no thread")
		}
	}
}

//export callback
func callback(n C.int64_t) { (*current.Load())(int64(n)) }

// Run is the entry of the c-shared build.
//
//export Run
func Run() { run() }
