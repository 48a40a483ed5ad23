package difftest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/cilium/ebpf"

	"github.com/nopfire/nopfire/bpfside/bpfc"
	"github.com/nopfire/nopfire/internal/testutils"
)

// A compiler makes an object of C text.
type compiler interface {
	compile(source string) (*ebpf.CollectionSpec, error)
	String() string
}

// clang is the reference. Signed overflow wraps, and signed division, which it
// lacks before CPU level v4, is what the prelude makes of it.
type clang struct {
	path  string
	dir   string // for its output
	flags []string
	files atomic.Int64 // made so far
}

// clangPatience bounds the compilation of one file by clang, which has no end with
// some programs.
const clangPatience = 10 * time.Second

// newClang returns the reference compiler.
func newClang(t testing.TB, flags ...string) *clang {
	return &clang{path: testutils.Oracle(t, "clang-14", "clang"), dir: t.TempDir(), flags: flags}
}

func (c *clang) String() string { return "clang " + strings.Join(c.flags, " ") }

func (c *clang) compile(source string) (*ebpf.CollectionSpec, error) {
	path := filepath.Join(c.dir, fmt.Sprintf("%d.o", c.files.Add(1)))
	defer os.Remove(path)
	args := append([]string{"-g", "-w", "-fwrapv", "-fno-crash-diagnostics", "-DREFERENCE", "-target", "bpf", "-x", "c", "-c", "-", "-o", path}, c.flags...)
	ctx, cancel := context.WithTimeout(context.Background(), clangPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.path, args...)
	cmd.Stdin = strings.NewReader(source)
	// When clang fails within, it takes its time to say where.
	cmd.Env = append(os.Environ(), "LLVM_DISABLE_CRASH_REPORT=1", "LLVM_DISABLE_SYMBOLIZATION=1", "DEBUGINFOD_URLS=")
	if msg, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("clang: %w\n%s", err, bytes.TrimSpace(msg))
	}
	return ebpf.LoadCollectionSpec(path)
}

// ours is bpfc, for a CPU level. Old kernels do not carry over what a comparison
// says to the copy of a register in the frame.
type ours struct {
	cpu int
	old bool
}

func (c *ours) String() string {
	s := fmt.Sprintf("bpfc v%d", c.cpu)
	if c.old {
		s += " for Linux 6.1"
	}
	return s
}

// patience bounds the compilation of one file.
const patience = 30 * time.Second

// panicError is a fault of ours in its plainest form.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

func (c *ours) compile(source string) (cs *ebpf.CollectionSpec, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v, debug.Stack()}
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	opts := &bpfc.Options{CPU: c.cpu}
	if c.old {
		opts.KernelVersion = 6<<16 | 1<<8
	}
	return bpfc.Compile(ctx, fstest.MapFS{"fuzz.bpf.c": {Data: []byte(source)}}, "fuzz.bpf.c", opts)
}

// A finding is what two compilers disagree on.
type finding struct {
	kind    string // see compare
	program *Program
	seed    uint64
	with    compiler
	text    string
}

const (
	differs  = "different results"
	refused  = "refused by the verifier"
	rejected = "not compiled"
)

// compare runs p as the reference made it and as another compiler did. It returns
// nil if they agree, and skip if the reference's is no program: then there is
// nothing to compare with.
func compare(p *Program, seed uint64, reference, other compiler) (f *finding, skip error) {
	source := Source(p)
	cs, err := reference.compile(source)
	if err != nil {
		return nil, err
	}
	want, err := runOne(cs, p, seed)
	if err != nil {
		return nil, err
	}
	return check(p, seed, want, other), nil
}

// check compiles p by itself and compares it with what is wanted.
func check(p *Program, seed uint64, want outcome, c compiler) *finding {
	cs, err := c.compile(Source(p))
	if err != nil {
		return &finding{rejected, p, seed, c, err.Error()}
	}
	return checkObject(cs, p, seed, want, c)
}

// checkObject is check of a program that is compiled.
func checkObject(cs *ebpf.CollectionSpec, p *Program, seed uint64, want outcome, c compiler) *finding {
	got, err := runOne(cs, p, seed)
	var no *refusedError
	switch {
	case errors.As(err, &no):
		return &finding{refused, p, seed, c, no.Error()}
	case err != nil:
		return &finding{differs, p, seed, c, err.Error()}
	}
	if diff := want.diff(got); diff != "" {
		return &finding{differs, p, seed, c, diff}
	}
	return nil
}

// diff tells in which lines another outcome differs from the reference. Variables
// that the reference does not have are not looked at: clang tells of none that
// nobody names.
func (o outcome) diff(other outcome) string {
	mine, its := o.byName(), other.byName()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(mine)) {
		if mine[name] != its[name] {
			fmt.Fprintf(&b, "%s: want %q, got %q\n", name, mine[name], its[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(its)) {
		if _, ok := mine[name]; !ok && strings.Contains(name, "[") {
			fmt.Fprintf(&b, "%s: want nothing, got %q\n", name, its[name])
		}
	}
	return b.String()
}

// byName splits the lines of an outcome at what they tell about: a variable, an
// element of a map, a round.
func (o outcome) byName() map[string]string {
	m := make(map[string]string)
	for _, line := range o {
		name, value, _ := strings.Cut(line, " = ")
		m[name] = value
	}
	return m
}

// write keeps a finding as a file, for its reader: the program, and what came of
// it.
func (f *finding) write(dir string) (string, error) {
	path := filepath.Join(dir, fmt.Sprintf("%s-%d.bpf.c", strings.ReplaceAll(f.kind, " ", "-"), f.seed))
	comment := "// " + strings.ReplaceAll(strings.TrimSpace(f.text), "\n", "\n// ")
	head := fmt.Sprintf("// %s: %s, seed %d\n%s\n\n", f.kind, f.with, f.seed, comment)
	return path, os.WriteFile(path, []byte(head+Source(f.program)), 0o644)
}
