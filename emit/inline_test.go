package emit

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The compiler's own word that the fast path of every handle is inlined, into
// the caller and to the last call, and that no argument is moved to the heap.
func TestFireInlines(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skipf("skipped: no go command to ask: %v", err)
	}
	cmd := exec.Command(goTool, "build", "-gcflags=-m", "-o", os.DevNull, "./testdata/inline")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	source, err := os.ReadFile("testdata/inline/main.go")
	if err != nil {
		t.Fatal(err)
	}
	call := regexp.MustCompile(`\b(p\d+|d)\.(Fire|FireFunc|Enabled)\(`)
	calls := 0
	for i, line := range strings.Split(string(source), "\n") {
		for _, m := range call.FindAllStringSubmatch(line, -1) {
			calls++
			said := linesAt(string(out), i+1)
			if !strings.Contains(said, "inlining call to emit.(*Probe") || !strings.Contains(said, "."+m[2]) {
				t.Errorf("line %d: %s.%s is not inlined:\n%s", i+1, m[1], m[2], said)
			}
			// The dynamic Fire is a call; all else ends in the check itself.
			if !(m[1] == "d" && m[2] == "Fire") && !strings.Contains(said, "inlining call to emit.(*probe).fast") {
				t.Errorf("line %d: the check of %s.%s is not inlined:\n%s", i+1, m[1], m[2], said)
			}
		}
	}
	if calls != 19 {
		t.Errorf("%d calls found in the source, want 19", calls)
	}
	for _, bad := range []string{"moved to heap", "escapes to heap"} {
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, bad) {
				t.Errorf("the compiler says: %s", line)
			}
		}
	}
}

// linesAt returns what the compiler says of a line of the source.
func linesAt(out string, n int) string {
	var said strings.Builder
	at := regexp.MustCompile(`^testdata/inline/main\.go:(\d+):`)
	for line := range strings.Lines(out) {
		if m := at.FindStringSubmatch(strings.TrimPrefix(line, "./")); m != nil && m[1] == strconv.Itoa(n) {
			said.WriteString(line)
		}
	}
	return said.String()
}
