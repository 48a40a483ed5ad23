//go:build linux && (amd64 || arm64)

package selftests

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/internal/testutils"
)

// A static program with nothing in its PATH compiles BPF C, attaches it and gets
// exactly the events that it should.
func TestCompileWithoutTools(t *testing.T) {
	testutils.NeedBPF(t)
	prog := testutils.GoBuild(t, "./testprogs/bpfccompile")
	f, err := elf.Open(prog)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the program is not static: it has a %v", p.Type)
		}
	}
	const fires, minStatus = 1000, 3
	cmd := exec.Command(prog, fmt.Sprint(fires), fmt.Sprint(minStatus))
	cmd.Env = []string{"PATH="}
	cmd.Dir = t.TempDir()
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	count := make(map[int]int)
	for i := range fires {
		if status := i % 5; status >= minStatus {
			count[status]++
			fmt.Fprintf(&want, "true %d %d /%d\n", status, count[status], i)
		}
	}
	fmt.Fprintln(&want, "seen", fires)
	if diff := cmp.Diff(want.String(), string(out)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
