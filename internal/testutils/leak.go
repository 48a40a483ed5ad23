package testutils

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// CountFDs returns the number of file descriptors that this process has open.
// The test is skipped where /proc is missing.
func CountFDs(t testing.TB) int {
	t.Helper()
	fds, err := openFDs()
	if err != nil {
		t.Skipf("skipped: count file descriptors: %v", err)
	}
	return len(fds)
}

// CountMaps returns the number of mappings of this process whose line in
// /proc/self/maps contains substr; "" counts them all. The test is skipped where
// /proc is missing.
func CountMaps(t testing.TB, substr string) int {
	t.Helper()
	data, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skipf("skipped: count mappings: %v", err)
	}
	n := 0
	for line := range bytes.Lines(data) {
		if bytes.Contains(line, []byte(substr)) {
			n++
		}
	}
	return n
}

// openFDs returns what each open file descriptor of this process stands for.
func openFDs() (map[int]string, error) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil, err
	}
	fds := make(map[int]string)
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		// The descriptor that ReadDir itself used is gone by now.
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			fds[fd] = target
		}
	}
	return fds, nil
}

// ofRuntime tells descriptors that the Go runtime opens when it first needs them
// and never closes.
func ofRuntime(target string) bool {
	return target == "anon_inode:[eventpoll]" || target == "anon_inode:[eventfd]"
}

// leakedFDs returns a line for each descriptor that is open now and was not
// before, once finalizers have had their chance.
func leakedFDs(before map[int]string) []string {
	var leaked []string
	for range 10 {
		now, err := openFDs()
		if err != nil {
			return nil
		}
		leaked = leaked[:0]
		for fd, target := range now {
			if _, ok := before[fd]; !ok && !ofRuntime(target) {
				leaked = append(leaked, fmt.Sprintf("fd %d: %s", fd, target))
			}
		}
		if len(leaked) == 0 {
			return nil
		}
		runtime.GC()
		time.Sleep(20 * time.Millisecond)
	}
	slices.Sort(leaked)
	return leaked
}

// Main runs the tests of a package, and makes the run fail if they leave file
// descriptors open. Use it as
//
//	func TestMain(m *testing.M) { testutils.Main(m) }
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run is Main for a TestMain that has to clean up: it returns the exit status.
func Run(m *testing.M) int {
	if !flag.Parsed() {
		flag.Parse()
	}
	before, err := openFDs()
	code := m.Run()
	// The fuzzing engine holds pipes and files of its own.
	fuzzing := false
	for _, name := range []string{"test.fuzz", "test.fuzzworker"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" && f.Value.String() != "false" {
			fuzzing = true
		}
	}
	if code != 0 || err != nil || fuzzing {
		return code
	}
	if leaked := leakedFDs(before); len(leaked) > 0 {
		fmt.Fprintf(os.Stderr, "FAIL: leaked file descriptors:\n\t%s\n", strings.Join(leaked, "\n\t"))
		return 1
	}
	return code
}

// errTimeout is returned by Child.ReadLine.
var errTimeout = errors.New("no line in time")
