package testutils

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestMain(m *testing.M) { Main(m) }

func TestCounts(t *testing.T) {
	fds, maps := CountFDs(t), CountMaps(t, "")
	f, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if got := CountFDs(t); got != fds+1 {
		t.Errorf("%d descriptors after one open, want %d", got, fds+1)
	}
	f.Close()
	if got := CountFDs(t); got != fds {
		t.Errorf("%d descriptors after close, want %d", got, fds)
	}
	if maps == 0 || CountMaps(t, "no such mapping") != 0 {
		t.Errorf("CountMaps counts %d of all, %d of none", maps, CountMaps(t, "no such mapping"))
	}
}

func TestLeakedFDsNamesTheLeak(t *testing.T) {
	before, err := openFDs()
	if err != nil {
		t.Skip(err)
	}
	f, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	leaked := leakedFDs(before)
	if len(leaked) != 1 || !strings.Contains(leaked[0], os.Args[0]) {
		t.Errorf("leaked %q, want one line that names %s", leaked, os.Args[0])
	}
}

func TestOracleIsEarned(t *testing.T) {
	if path := Oracle(t, "no-such-tool-at-all", "go"); path == "" {
		t.Error("second name not found")
	}
	for _, ci := range []string{"", "1"} {
		var skipped, failed bool
		t.Run("CI="+ci, func(t *testing.T) {
			t.Setenv("NOPFIRE_CI", ci)
			rec := &recorder{TB: t}
			func() {
				defer func() { recover() }()
				Oracle(rec, "no-such-tool-at-all")
			}()
			skipped, failed = rec.skipped, rec.failed
		})
		if skipped != (ci == "") || failed != (ci == "1") {
			t.Errorf("NOPFIRE_CI=%q: skipped %t, failed %t", ci, skipped, failed)
		}
	}
}

// recorder notes how a helper ends a test, without ending it.
type recorder struct {
	testing.TB
	skipped, failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Skipf(string, ...any)  { r.skipped = true; panic("skip") }
func (r *recorder) Fatalf(string, ...any) { r.failed = true; panic("fatal") }

func TestChild(t *testing.T) {
	c := Start(t, Oracle(t, "cat"))
	for _, line := range []string{"one", "two"} {
		c.WriteLine(line)
		if got := c.ReadLine(); got != line {
			t.Errorf("cat says %q, want %q", got, line)
		}
	}
	c.CloseInput()
	if err := c.Wait(); err != nil {
		t.Errorf("cat ends with %v", err)
	}
}

func TestBuildC(t *testing.T) {
	prog := BuildC(t, `#include <stdio.h>
		int main(void) { puts(WORD); return 3; }`, `-DWORD="hello"`)
	out, err := exec.Command(prog).Output()
	if string(out) != "hello\n" || err == nil {
		t.Errorf("output %q, error %v; want hello and exit status 3", out, err)
	}
}
