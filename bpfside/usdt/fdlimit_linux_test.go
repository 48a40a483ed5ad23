package usdt_test

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// withDescriptors calls f while n more files can be opened.
func withDescriptors(t *testing.T, n int, f func()) {
	t.Helper()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	var fds []*os.File
	for range n {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		fds = append(fds, f)
	}
	// Descriptors are given out from the lowest on.
	low := old
	low.Cur = uint64(fds[n-1].Fd()) + 1
	for _, f := range fds {
		f.Close()
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
			t.Fatal(err)
		}
	}()
	f()
}

// A process whose files cannot be opened for want of descriptors has not unmapped
// them: what was not looked at is a problem, and never silently nothing.
func TestDiscoverWithoutDescriptors(t *testing.T) {
	testutils.Root(t)
	c := testutils.Start(t, buildSDT(t))
	c.ReadLine()
	for _, n := range []int{1, 2} { // the list of the mappings takes one, a file another
		var res *usdt.Result
		var err error
		withDescriptors(t, n, func() { res, err = usdt.ProcessTargets(c.PID, "app:values") })
		if err == nil && len(res.Targets) == 1 {
			continue // two are enough
		}
		told := errors.Is(err, syscall.EMFILE)
		for _, p := range res.Problems {
			told = told || errors.Is(p, syscall.EMFILE)
		}
		if !told {
			t.Errorf("%d descriptors: %d targets, problems %v, error %v, want it to say %v", n, len(res.Targets), res.Problems, err, syscall.EMFILE)
		}
	}
}
