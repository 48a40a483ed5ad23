//go:build amd64 || arm64

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/internal/testutils"
)

// Of a command that is started nothing is missed: not what the initialization of a
// library does before main.
func TestTraceCommandFromItsStart(t *testing.T) {
	testutils.NeedBPF(t)
	if headers, _ := filepath.Glob("/usr/include/*/sys/sdt.h"); headers == nil && !fileExists("/usr/include/sys/sdt.h") {
		testutils.SkipOrFail(t, "no sys/sdt.h, of systemtap-sdt-dev")
	}
	lib := testutils.BuildC(t, `#include <sys/sdt.h>
		__attribute__((constructor)) static void init(void) { for (int i = 0; i < 3; i++) DTRACE_PROBE1(early, init, i); }
		void work(void) { DTRACE_PROBE1(early, work, 4); }`, "-shared", "-fPIC")
	prog := testutils.BuildC(t, `#include <sys/sdt.h>
		void work(void);
		int main(void) { DTRACE_PROBE1(early, main, 3); work(); return 5; }`, lib, "-Wl,-rpath,"+filepath.Dir(lib))
	trace := exec.Command(nopfire(t), "trace", `early:* "%d", arg1`, "--", prog)
	out, err := trace.Output()
	if trace.ProcessState.ExitCode() != 5 {
		t.Errorf("trace ends with %v, want the status of the command, 5", err)
	}
	var got []string
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		got = append(got, strings.Join(f[len(f)-2:], " "))
	}
	want := "FUNC -|early:init 0|early:init 1|early:init 2|early:main 3|early:work 4"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}
