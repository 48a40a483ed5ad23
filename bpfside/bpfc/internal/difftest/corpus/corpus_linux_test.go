package corpus

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/bpfside/bpfc"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// A program is what one compiler made of a function, and what the kernel says.
type program struct {
	insns     int
	processed int   // by the verifier
	err       error // of loading
}

// An object is what one compiler made of a file.
type object struct {
	programs map[string]*program
	err      error // of compiling
	took     time.Duration
}

// loaded counts the programs that the verifier took.
func (o *object) loaded() (n int) {
	for _, p := range o.programs {
		if p.err == nil {
			n++
		}
	}
	return n
}

func TestCorpus(t *testing.T) {
	dir := os.Getenv("NOPFIRE_CORPUS")
	if dir == "" {
		t.Skip("skipped: NOPFIRE_CORPUS names no checkout of bcc's libbpf-tools")
	}
	testutils.Root(t)
	testutils.NeedBPF(t)
	clang := testutils.Oracle(t, "clang-14", "clang")
	files, err := filepath.Glob(filepath.Join(dir, "*.bpf.c"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no *.bpf.c in %s: %v", dir, err)
	}
	r := new(report)
	for _, file := range files {
		name := filepath.Base(file)
		if only := os.Getenv("NOPFIRE_CORPUS_ONLY"); only != "" && !strings.HasPrefix(name, only) {
			continue
		}
		r.add(name, byClang(t, clang, dir, name), byUs(dir, name))
	}
	text := r.String()
	t.Log("\n" + text)
	if out := os.Getenv("NOPFIRE_CORPUS_OUT"); out != "" {
		if err := os.WriteFile(out, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// targetArch is what libbpf's headers call this machine.
func targetArch() string {
	if runtime.GOARCH == "arm64" {
		return "arm64"
	}
	return "x86"
}

// byClang builds and loads a file of dir as its Makefile would.
func byClang(t *testing.T, clang, dir, name string) *object {
	out := filepath.Join(t.TempDir(), "prog.o")
	args := []string{"-O2", "-g", "-w", "-target", "bpf", "-mcpu=v3", "-D__TARGET_ARCH_" + targetArch(), "-c", name, "-o", out}
	if list := os.Getenv("NOPFIRE_CORPUS_INCLUDE"); list != "" {
		for _, d := range filepath.SplitList(list) {
			args = append(args, "-I"+d)
		}
	} else {
		args = append(args, "-I"+filepath.Join(dir, targetArch()), "-I/usr/include/"+map[string]string{"x86": "x86_64", "arm64": "aarch64"}[targetArch()]+"-linux-gnu")
	}
	start := time.Now()
	cmd := exec.Command(clang, append(args, "-I"+dir)...)
	cmd.Dir = dir
	if msg, err := cmd.CombinedOutput(); err != nil {
		return &object{err: fmt.Errorf("%w: %s", err, bytes.TrimSpace(msg))}
	}
	o := &object{took: time.Since(start)}
	o.load(usdt.LoadCollectionSpec(out))
	return o
}

// byUs builds and loads a file of dir with the headers that bpfc has, of which
// vmlinux.h is the running kernel's.
func byUs(dir, name string) *object {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	start := time.Now()
	cs, err := bpfc.Compile(ctx, os.DirFS(dir), name, nil)
	o := &object{took: time.Since(start)}
	o.load(cs, err)
	return o
}

// load loads each program of a specification by itself.
func (o *object) load(cs *ebpf.CollectionSpec, err error) {
	if err == nil {
		for _, p := range cs.Programs {
			// A section that names no file is one that the tool attaches
			// itself; whether it loads is asked here.
			if kind, rest, _ := strings.Cut(p.SectionName, "/"); strings.HasPrefix(kind, "u") && strings.HasSuffix(kind, "probe") && !strings.Contains(rest, ":") {
				p.SectionName = kind
			}
		}
		err = usdt.PrepareCollection(cs, usdt.Auto)
	}
	if err != nil {
		o.err = err
		return
	}
	o.programs = make(map[string]*program)
	for _, m := range cs.Maps {
		settle(m)
	}
	for name, p := range cs.Programs {
		o.programs[name] = &program{insns: instructions(p.Instructions)}
		one := cs.Copy()
		for other := range cs.Programs {
			if other != name {
				delete(one.Programs, other)
			}
		}
		coll, err := ebpf.NewCollectionWithOptions(one, ebpf.CollectionOptions{
			Programs: ebpf.ProgramOptions{LogLevel: ebpf.LogLevelStats, LogSizeStart: 1 << 20},
		})
		if err != nil {
			o.programs[name].err = err
			continue
		}
		o.programs[name].processed = processed(coll.Programs[name].VerifierLog)
		coll.Close()
	}
}

// settle gives a map what the program that loads it would have set.
func settle(m *ebpf.MapSpec) {
	if m.MaxEntries == 0 && m.Type != ebpf.PerfEventArray {
		m.MaxEntries = 1024
	}
	if m.Type == ebpf.StackTrace && m.ValueSize == 0 {
		m.KeySize, m.ValueSize = 4, 127*8
	}
	m.Pinning = ebpf.PinNone
}

// instructions counts as the kernel does: a 64-bit constant is two.
func instructions(insns asm.Instructions) (n int) {
	for _, ins := range insns {
		n += int(ins.Size()) / asm.InstructionSize
	}
	return n
}

var processedRE = regexp.MustCompile(`processed (\d+) insns`)

func processed(log string) int {
	m := processedRE.FindStringSubmatch(log)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// A report is the table of a run.
type report struct {
	rows     strings.Builder
	failures []string

	files, clangFiles, ourFiles          int
	programs, clangLoads, ourLoads, both int
	clangInsns, ourInsns                 int
	clangProcessed, ourProcessed         int
	clangTime, ourTime                   time.Duration
	growth                               []growth
}

// growth is how a program of ours compares with clang's.
type growth struct {
	name        string
	clang, ours int
}

func (r *report) add(name string, clang, ours *object) {
	r.files++
	r.clangTime += clang.took
	r.ourTime += ours.took
	short := strings.TrimSuffix(name, ".bpf.c")
	fail := func(format string, args ...any) {
		r.failures = append(r.failures, fmt.Sprintf("- %s: ", short)+fmt.Sprintf(format, args...))
	}
	if clang.err != nil {
		fail("clang: %s", firstLines(clang.err, 3))
	} else {
		r.clangFiles++
	}
	if ours.err != nil {
		fail("bpfc: %s", firstLines(ours.err, 6))
	} else {
		r.ourFiles++
	}
	r.programs += len(clang.programs)
	r.clangLoads += clang.loaded()
	r.ourLoads += ours.loaded()
	var ci, oi, cp, op, both int
	for _, p := range slices.Sorted(maps.Keys(clang.programs)) {
		theirs, mine := clang.programs[p], ours.programs[p]
		switch {
		case mine == nil && ours.err == nil:
			fail("program %s is missing", p)
		case theirs.err == nil && mine != nil && mine.err != nil:
			fail("%s: clang's loads, ours: %s", p, refusal(mine.err))
		case theirs.err != nil && mine != nil && mine.err != nil:
			fail("%s: neither loads: %s", p, firstLines(theirs.err, 1))
		case theirs.err != nil && mine != nil:
			fail("%s: ours loads, clang's: %s", p, firstLines(theirs.err, 1))
		}
		if mine == nil {
			continue
		}
		ci, oi = ci+theirs.insns, oi+mine.insns
		r.growth = append(r.growth, growth{short + "/" + p, theirs.insns, mine.insns})
		if theirs.err == nil && mine.err == nil {
			both++
			cp, op = cp+theirs.processed, op+mine.processed
		}
	}
	r.both += both
	r.clangInsns, r.ourInsns = r.clangInsns+ci, r.ourInsns+oi
	r.clangProcessed, r.ourProcessed = r.clangProcessed+cp, r.ourProcessed+op
	fmt.Fprintf(&r.rows, "| %s | %d | %d | %d | %d | %d | %s | %d | %d | %s |\n",
		short, len(clang.programs), clang.loaded(), ours.loaded(), ci, oi, ratio(oi, ci), cp, op, ratio(op, cp))
}

func ratio(a, b int) string {
	if b == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", float64(a)/float64(b))
}

// firstLines shortens an error.
func firstLines(err error, n int) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	return strings.Join(lines[:min(n, len(lines))], "\n  ")
}

// refusal is the end of what the verifier wrote.
func refusal(err error) string {
	var v *ebpf.VerifierError
	if !errors.As(err, &v) {
		return firstLines(err, 3)
	}
	return "`" + strings.Join(v.Log[max(0, len(v.Log)-6):], "`\n  `") + "`"
}

func (r *report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d files: clang builds %d, bpfc %d. %d programs in clang's objects: %d load, of bpfc's %d (%d load of both).\n",
		r.files, r.clangFiles, r.ourFiles, r.programs, r.clangLoads, r.ourLoads, r.both)
	fmt.Fprintf(&b, "Instructions: clang %d, bpfc %d, %s×. Processed by the verifier, where both load: %d and %d, %s×.\n",
		r.clangInsns, r.ourInsns, ratio(r.ourInsns, r.clangInsns), r.clangProcessed, r.ourProcessed, ratio(r.ourProcessed, r.clangProcessed))
	fmt.Fprintf(&b, "Time to compile: clang %v, bpfc %v.\n\n", r.clangTime.Round(time.Millisecond), r.ourTime.Round(time.Millisecond))
	b.WriteString("| file | programs | load (clang) | load (bpfc) | insns (clang) | insns (bpfc) | ratio | processed (clang) | processed (bpfc) | ratio |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|\n")
	b.WriteString(r.rows.String())
	fmt.Fprintf(&b, "\nWhat fails:\n\n%s\n", strings.Join(r.failures, "\n"))
	slices.SortFunc(r.growth, func(a, b growth) int { return cmp.Compare(b.ours-b.clang, a.ours-a.clang) })
	b.WriteString("\nWhere ours is larger by most instructions:\n\n")
	for _, g := range r.growth[:min(25, len(r.growth))] {
		fmt.Fprintf(&b, "- %s: %d, clang %d (%s×)\n", g.name, g.ours, g.clang, ratio(g.ours, g.clang))
	}
	return b.String()
}
