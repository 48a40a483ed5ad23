package usdt

import (
	"errors"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/internal/procmaps"
	"github.com/nopfire/nopfire/internal/testutils"
)

// A process whose first thread is gone shows its mappings and does not open them, as one
// that ends does. While it lives that is a fault; when it has ended, there is nothing
// to tell.
func TestMappingOfEndingProcess(t *testing.T) {
	prog := testutils.BuildC(t, `
		#define _GNU_SOURCE
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/mman.h>
		#include <unistd.h>
		static void *run(void *first)
		{
			pthread_join(*(pthread_t *)first, NULL);
			puts("ready");
			fflush(stdout);
			getchar();
			exit(0);
		}
		static pthread_t first;
		int main(void)
		{
			pthread_t t;
			int fd = memfd_create("ending", 0);
			if (ftruncate(fd, 4096) || mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) return 1;
			close(fd);
			first = pthread_self();
			pthread_create(&t, NULL, run, &first);
			pthread_exit(NULL);
		}`, "-pthread")
	c := testutils.Start(t, prog)
	c.ReadLine()
	var m procmaps.Mapping
	for one, err := range procmaps.Of(c.PID) {
		if err == nil && strings.HasPrefix(one.Path, "/memfd:ending") {
			m = one
		}
	}
	if m.Path == "" {
		t.Fatal("no mapping of the memfd")
	}
	if _, _, err := openMapped(c.PID, m); err == nil || errors.Is(err, errUnmapped) {
		t.Errorf("while the process lives: error %v, want one that says why the file cannot be opened", err)
	}
	if ends(c.PID, m) {
		t.Error("the process ends, they say, and yet it lives")
	}
	c.CloseInput()
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	if !ends(c.PID, m) {
		t.Error("the process has ended, and its mapping has not")
	}
	if _, _, err := openMapped(c.PID, m); !errors.Is(err, errUnmapped) {
		t.Errorf("when the process has ended: error %v, want one that it is not mapped", err)
	}
}
