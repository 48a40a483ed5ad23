package spec

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nopfire/nopfire/internal/testutils"
)

// libbpf loads it and runs it, bpftool shows the lines of C and makes a skeleton.
func TestBpftool(t *testing.T) {
	bpftool := testutils.Oracle(t, "bpftool")
	testutils.Root(t)
	testutils.NeedBPF(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "fixture.o")
	if err := os.WriteFile(path, build(t), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(bpftool, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("bpftool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	contains := func(text string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}
	contains(run("btf", "dump", "file", path), "FUNC 'add' type_id=", "DATASEC '.maps' size=32 vlen=1", "(VAR 'z')", "STRUCT 'sent' size=4 vlen=1")
	contains(run("gen", "skeleton", path), "struct bpf_map *events;", "struct bpf_program *prog;", "int LINUX_KERNEL_VERSION;")
	run("gen", "object", filepath.Join(dir, "linked.o"), path)

	bpffs := t.TempDir()
	if err := unix.Mount("bpf", bpffs, "bpf", 0, ""); err != nil {
		t.Fatalf("mount bpffs: %v", err)
	}
	defer unix.Unmount(bpffs, unix.MNT_DETACH)
	pins := filepath.Join(bpffs, "fixture") // directly below: else bpftool mounts another
	run("prog", "loadall", path, pins)
	contains(run("prog", "dump", "xlated", "pinned", pins+"/prog", "linum"),
		"bpf_loop(10, add, &sum, 0); [file:fixture.bpf.c line_num:15 line_col:2]",
		"long add(unsigned int i, int * sum):", "int twice(int x):")
	contains(run("prog", "run", "pinned", pins+"/prog", "repeat", "0"), "Return value: 5")
}
