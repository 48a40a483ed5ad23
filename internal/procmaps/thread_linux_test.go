package procmaps

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/internal/testutils"
)

// The first thread of a process ends before the others: /proc/PID/maps is empty
// then, and the process is read through another thread.
func TestOfProcessWithoutFirstThread(t *testing.T) {
	prog := testutils.BuildC(t, `
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
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
			first = pthread_self();
			pthread_create(&t, NULL, run, &first);
			pthread_exit(NULL);
		}`, "-pthread")
	c := testutils.Start(t, prog)
	c.ReadLine()
	if data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(c.PID), "maps")); err == nil && len(data) > 0 {
		t.Logf("the kernel shows mappings all the same:\n%s", data)
	}
	found := false
	for m, err := range Of(c.PID) {
		if err != nil {
			t.Fatal(err)
		}
		found = found || m.Perms&Exec != 0 && strings.HasSuffix(m.Path, "/prog")
	}
	if !found {
		t.Error("the program is not among the mappings")
	}
	c.CloseInput()
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, err := range Of(c.PID) {
		if err == nil {
			t.Error("a mapping of a process that has ended")
		}
	}
}
