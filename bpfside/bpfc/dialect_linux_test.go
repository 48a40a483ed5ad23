package bpfc_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"

	"github.com/nopfire/nopfire/bpfside/bpfc"
	"github.com/nopfire/nopfire/bpfside/bpfc/internal/vmlinux"
	"github.com/nopfire/nopfire/bpfside/include"
	"github.com/nopfire/nopfire/bpfside/internal/kconfig"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// A file of testdata/dialect is a program, or several, that leave results in their
// global variables. Comments say how they are run, and what comes out:
//
//	// set: NAME = VALUE        a variable, before the programs are loaded; $PID is the
//	//                          number of this process
//	// noload: PROGRAM…         programs that many kernels do not take, such as those
//	//                          on trampolines: that both compilers see the same kind
//	//                          of program in them is all that is asked
//	// run: PROGRAM [ctx=N,…]   runs it, in this order; without such a line all
//	//                          programs that can be run are, in the order of their
//	//                          names. ctx are the 64-bit words of the context.
//	// attach: PROGRAM [cookie=N]
//	//                          attaches it to what its section names, a uprobe to
//	//                          dialectTarget. Then that is called, and a system call
//	//                          is made.
//	// want: NAME = VALUE       a variable when all have run: a number, several for
//	//                          an array, or a "string". NAME may end in .member and
//	//                          [index].
//	// want: PROGRAM() = VALUE  what a program returned
//	// want: len(MAP) = N       the number of elements of a map
//	// clang: none, WHY         clang-14 cannot build it
//	// needs: v3, WHY           older levels of the instruction set cannot do it
//	// needs: Linux 6.2, WHY    older kernels cannot do it
//
// The file is built by clang and by bpfc. Both have to give what is wanted, and equal
// values in every variable and every map.
type dialectFile struct {
	path     string
	sets     []assignment
	runs     []run
	attaches []attachment
	noload   []string
	noClang  bool
	needs    int    // level of the instruction set
	kernel   uint32 // version, as LINUX_KERNEL_VERSION counts it
	why      string // that version
	wants    []assignment
}

type assignment struct{ name, value string }

type run struct {
	program string
	ctx     []uint64
}

type attachment struct {
	program string
	cookie  uint64
}

func readDialect(path string) (*dialectFile, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := &dialectFile{path: path}
	sc := bufio.NewScanner(bytes.NewReader(text))
	for sc.Scan() {
		line, ok := strings.CutPrefix(strings.TrimSpace(sc.Text()), "// ")
		if !ok {
			continue
		}
		verb, rest, ok := strings.Cut(line, ": ")
		if !ok {
			continue
		}
		words := strings.Fields(rest)
		switch verb {
		case "set", "want":
			name, value, ok := strings.Cut(rest, " = ")
			if !ok {
				return nil, fmt.Errorf("%s: no \" = \" in %q", path, line)
			}
			a := assignment{strings.TrimSpace(name), strings.TrimSpace(value)}
			if verb == "set" {
				f.sets = append(f.sets, a)
			} else {
				f.wants = append(f.wants, a)
			}
		case "clang":
			f.noClang = strings.HasPrefix(rest, "none, ")
		case "needs":
			var major, minor uint32
			if _, err := fmt.Sscanf(rest, "Linux %d.%d,", &major, &minor); err == nil {
				f.kernel, f.why = major<<16|minor<<8, rest
			} else if _, err := fmt.Sscanf(rest, "v%d,", &f.needs); err != nil {
				return nil, fmt.Errorf("%s: %q is neither vN nor Linux N.N, WHY", path, rest)
			}
		case "noload":
			f.noload = append(f.noload, words...)
		case "run":
			r := run{program: words[0]}
			for _, w := range words[1:] {
				list, ok := strings.CutPrefix(w, "ctx=")
				if !ok {
					return nil, fmt.Errorf("%s: %q is not ctx=…", path, w)
				}
				for n := range strings.SplitSeq(list, ",") {
					v, err := strconv.ParseUint(n, 0, 64)
					if err != nil {
						return nil, err
					}
					r.ctx = append(r.ctx, v)
				}
			}
			f.runs = append(f.runs, r)
		case "attach":
			a := attachment{program: words[0]}
			for _, w := range words[1:] {
				n, ok := strings.CutPrefix(w, "cookie=")
				if !ok {
					return nil, fmt.Errorf("%s: %q is not cookie=…", path, w)
				}
				if a.cookie, err = strconv.ParseUint(n, 0, 64); err != nil {
					return nil, err
				}
			}
			f.attaches = append(f.attaches, a)
		}
	}
	if len(f.wants) == 0 {
		return nil, fmt.Errorf("%s: nothing is wanted", path)
	}
	return f, sc.Err()
}

// parallel lets the test run beside others, unless what it attaches would see them.
func (f *dialectFile) parallel(t *testing.T) {
	if len(f.attaches) == 0 {
		t.Parallel()
	}
}

// needKernel skips the test on a kernel that is too old for it.
func (f *dialectFile) needKernel(t *testing.T) {
	t.Helper()
	v, err := kconfig.Running.Version()
	if err != nil {
		t.Fatal(err)
	}
	if v < f.kernel {
		testutils.SkipOrFail(t, "needs %s", f.why)
	}
}

// outcome is what is left when the programs have run.
type outcome struct {
	kinds   map[string]string // of the programs
	vars    map[string]value
	maps    map[string][]string // each element as text, sorted
	returns map[string]uint32
}

type value struct {
	typ   btf.Type
	bytes []byte
}

// dialectTarget is what uprobes are attached to. On x86-64 Go passes the parameters in
// rax, rbx, rcx, rdi, rsi, r8, r9.
//
//go:noinline
func dialectTarget(ax, bx, cx, di, si, r8, r9 uint64) uint64 {
	return ax + bx + cx + di + si + r8 + r9
}

// execute loads a collection, runs its programs, and collects what they left.
func (f *dialectFile) execute(t *testing.T, spec *ebpf.CollectionSpec) *outcome {
	t.Helper()
	for _, s := range f.sets {
		v := spec.Variables[s.name]
		if v == nil {
			t.Fatalf("set %s: no such variable", s.name)
		}
		if err := v.Set(encode(t, v.Size(), s.value)); err != nil {
			t.Fatalf("set %s: %v", s.name, err)
		}
	}
	out := &outcome{kinds: make(map[string]string), vars: make(map[string]value), maps: make(map[string][]string), returns: make(map[string]uint32)}
	for name, p := range spec.Programs {
		out.kinds[name] = fmt.Sprintf("section %q: type %v, attach type %v to %q, flags %#x", p.SectionName, p.Type, p.AttachType, p.AttachTo, p.Flags)
	}
	for _, name := range f.noload {
		delete(spec.Programs, name)
	}
	c, err := usdt.NewCollection(spec, nil)
	if err != nil {
		var verr *ebpf.VerifierError
		if errors.As(err, &verr) {
			log := verr.Log[max(0, len(verr.Log)-12):]
			t.Fatalf("load: %v\n%s", err, strings.Join(log, "\n"))
		}
		t.Fatalf("load: %v", err)
	}
	defer c.Close()
	for _, a := range f.attaches {
		prog := c.Programs[a.program]
		if prog == nil {
			t.Fatalf("attach %s: no such program", a.program)
		}
		l, err := attach(prog, spec.Programs[a.program].SectionName, a.cookie)
		if err != nil {
			t.Fatalf("attach %s: %v", a.program, err)
		}
		defer l.Close()
	}
	runs := f.runs
	if runs == nil {
		for name, p := range c.Programs {
			if canRun(p.Type()) {
				runs = append(runs, run{program: name})
			}
		}
		slices.SortFunc(runs, func(a, b run) int { return strings.Compare(a.program, b.program) })
	}
	for _, r := range runs {
		prog := c.Programs[r.program]
		if prog == nil {
			t.Fatalf("run %s: no such program", r.program)
		}
		ret, err := prog.Run(runOptions(prog.Type(), r.ctx))
		if err != nil {
			t.Fatalf("run %s: %v", r.program, err)
		}
		out.returns[r.program] = ret
	}
	if len(f.attaches) > 0 {
		_ = dialectTarget(0xa, 0xb, 0xc, 1, 2, 5, 6)
		_ = os.Getppid()
	}

	for name, v := range c.Variables {
		if v.Type() == nil {
			continue
		}
		buf := make([]byte, v.Size())
		if err := v.Get(&buf); err != nil {
			t.Fatalf("read %s: %v", name, err)
		}
		out.vars[name] = value{v.Type().Type, buf}
	}
	for name, m := range c.Maps {
		if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "license") {
			continue
		}
		out.maps[name] = dump(t, m)
	}
	return out
}

// canRun reports whether the kernel runs programs of a type without an event.
func canRun(typ ebpf.ProgramType) bool {
	switch typ {
	case ebpf.Syscall, ebpf.SocketFilter, ebpf.XDP, ebpf.SchedCLS, ebpf.RawTracepoint:
		return true
	}
	return false
}

func runOptions(typ ebpf.ProgramType, ctx []uint64) *ebpf.RunOptions {
	o := new(ebpf.RunOptions)
	switch typ {
	case ebpf.Syscall, ebpf.RawTracepoint:
		if ctx == nil {
			ctx = []uint64{1, 2, 3, 4, 5, 6, 7, 8}
		}
		var b []byte
		for _, w := range ctx {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		o.Context = b
	case ebpf.SocketFilter, ebpf.XDP, ebpf.SchedCLS:
		for i := range 64 {
			o.Data = append(o.Data, byte(i))
		}
	}
	return o
}

// attach attaches a program by what its section says.
func attach(prog *ebpf.Program, section string, cookie uint64) (link.Link, error) {
	kind, target, _ := strings.Cut(section, "/")
	switch kind {
	case "fentry", "fexit", "fmod_ret", "tp_btf", "lsm":
		return link.AttachTracing(link.TracingOptions{Program: prog, Cookie: cookie})
	case "raw_tp", "raw_tracepoint":
		return link.AttachRawTracepoint(link.RawTracepointOptions{Program: prog, Name: target})
	case "uprobe", "usdt", "urdt", "kprobe":
		exe, err := link.OpenExecutable("/proc/self/exe")
		if err != nil {
			return nil, err
		}
		at, err := fileOffset(reflect.ValueOf(dialectTarget).Pointer())
		if err != nil {
			return nil, err
		}
		// Which of the two it is depends on the attach type that package usdt chose
		// for this kernel.
		l, err := exe.UprobeMulti(nil, prog, &link.UprobeMultiOptions{Addresses: []uint64{at}, Cookies: []uint64{cookie}, PID: uint32(os.Getpid())})
		if err != nil {
			l, err = exe.Uprobe("dialectTarget", prog, &link.UprobeOptions{Address: at, Cookie: cookie, PID: os.Getpid()})
		}
		return l, err
	}
	return nil, fmt.Errorf("section %q: no way to attach it is known", section)
}

// fileOffset returns where the code at an address of this process is in its file. Test
// binaries have no symbols.
func fileOffset(pc uintptr) (uint64, error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(maps)) {
		var start, end, off uint64
		var mode string
		if n, _ := fmt.Sscanf(line, "%x-%x %s %x", &start, &end, &mode, &off); n == 4 && uint64(pc) >= start && uint64(pc) < end {
			return uint64(pc) - start + off, nil
		}
	}
	return 0, fmt.Errorf("no mapping has %#x", pc)
}

// dump returns the elements of a map as text.
func dump(t *testing.T, m *ebpf.Map) []string {
	t.Helper()
	var elems []string
	switch m.Type() {
	case ebpf.Hash, ebpf.LRUHash, ebpf.Array, ebpf.LPMTrie:
		var k, v []byte
		it := m.Iterate()
		for it.Next(&k, &v) {
			elems = append(elems, fmt.Sprintf("%x = %x", k, v))
		}
		if err := it.Err(); err != nil {
			t.Fatalf("iterate %v: %v", m, err)
		}
	case ebpf.PerCPUHash, ebpf.PerCPUArray, ebpf.LRUCPUHash:
		var k []byte
		var vs [][]byte
		it := m.Iterate()
		for it.Next(&k, &vs) {
			// Which CPU a program ran on is chance: the values in order.
			slices.SortFunc(vs, bytes.Compare)
			elems = append(elems, fmt.Sprintf("%x = %x", k, vs))
		}
		if err := it.Err(); err != nil {
			t.Fatalf("iterate %v: %v", m, err)
		}
	case ebpf.Queue, ebpf.Stack:
		v := make([]byte, m.ValueSize())
		for m.LookupAndDelete(nil, &v) == nil {
			elems = append(elems, fmt.Sprintf("%x", v))
		}
		return elems // their order is a result
	}
	sort.Strings(elems)
	return elems
}

// encode makes the bytes of a number, or of a string, for a variable of the size.
func encode(t *testing.T, size uint32, text string) []byte {
	t.Helper()
	buf := make([]byte, size)
	if s, err := strconv.Unquote(text); err == nil {
		copy(buf, s)
		return buf
	}
	words := strings.Fields(strings.ReplaceAll(text, "$PID", strconv.Itoa(os.Getpid())))
	each := int(size) / len(words)
	for i, w := range words {
		n, err := parseInt(w)
		if err != nil {
			t.Fatalf("value %q: %v", text, err)
		}
		for j := range each {
			buf[i*each+j] = byte(n >> (8 * j))
		}
	}
	return buf
}

func parseInt(s string) (uint64, error) {
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return uint64(n), nil
	}
	return strconv.ParseUint(s, 0, 64)
}

// check compares an outcome with what is wanted.
func (f *dialectFile) check(t *testing.T, out *outcome) {
	t.Helper()
	for _, w := range f.wants {
		if prog, ok := strings.CutSuffix(w.name, "()"); ok {
			got, ran := out.returns[prog]
			want, err := parseInt(w.value)
			if err != nil || !ran || got != uint32(want) {
				t.Errorf("%s returned %d (ran: %v), want %s", prog, int32(got), ran, w.value)
			}
			continue
		}
		if name, ok := strings.CutPrefix(w.name, "len("); ok {
			name = strings.TrimSuffix(name, ")")
			if got := strconv.Itoa(len(out.maps[name])); got != w.value {
				t.Errorf("map %s has %s elements, want %s: %v", name, got, w.value, out.maps[name])
			}
			continue
		}
		v, err := out.lookup(w.name)
		if err != nil {
			t.Errorf("want %s: %v", w.name, err)
			continue
		}
		if want := encode(t, uint32(len(v.bytes)), w.value); !bytes.Equal(v.bytes, want) {
			t.Errorf("%s = %s, want %s", w.name, v, w.value)
		}
	}
}

// lookup finds a variable, or a member or an element of one.
func (o *outcome) lookup(path string) (value, error) {
	end := strings.IndexAny(path, ".[")
	name := path
	if end >= 0 {
		name = path[:end]
	}
	v, ok := o.vars[name]
	if !ok {
		return value{}, errors.New("no such variable")
	}
	for rest := path[len(name):]; rest != ""; {
		typ := btf.UnderlyingType(v.typ)
		if inner, ok := strings.CutPrefix(rest, "["); ok {
			text, after, _ := strings.Cut(inner, "]")
			i, err := strconv.Atoi(text)
			arr, isArray := typ.(*btf.Array)
			if err != nil || !isArray || i >= int(arr.Nelems) {
				return value{}, fmt.Errorf("no element %s", text)
			}
			size := len(v.bytes) / int(arr.Nelems)
			v, rest = value{arr.Type, v.bytes[i*size:][:size]}, after
			continue
		}
		rest = rest[1:]
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		var members []btf.Member
		switch typ := typ.(type) {
		case *btf.Struct:
			members = typ.Members
		case *btf.Union:
			members = typ.Members
		}
		i := slices.IndexFunc(members, func(m btf.Member) bool { return m.Name == rest[:end] })
		if i < 0 {
			return value{}, fmt.Errorf("no member %s", rest[:end])
		}
		size, err := btf.Sizeof(members[i].Type)
		if err != nil {
			return value{}, err
		}
		v, rest = value{members[i].Type, v.bytes[members[i].Offset.Bytes():][:size]}, rest[end:]
	}
	return v, nil
}

func (v value) String() string {
	typ := btf.UnderlyingType(v.typ)
	arr, ok := typ.(*btf.Array)
	if ok {
		typ = btf.UnderlyingType(arr.Type)
	}
	each := len(v.bytes)
	if ok && arr.Nelems > 0 {
		each /= int(arr.Nelems)
	}
	if each == 0 || each > 8 {
		return fmt.Sprintf("% x", v.bytes)
	}
	signed := false
	if i, ok := typ.(*btf.Int); ok {
		signed = i.Encoding == btf.Signed
	}
	var words []string
	for b := range slices.Chunk(v.bytes, each) {
		word := binary.LittleEndian.Uint64(append(slices.Clone(b), make([]byte, 8)...))
		if signed {
			shift := 64 - 8*each
			words = append(words, strconv.FormatInt(int64(word<<shift)>>shift, 10))
		} else {
			words = append(words, strconv.FormatUint(word, 10))
		}
	}
	return strings.Join(words, " ")
}

// compare compares what two compilers made of one file.
func compare(t *testing.T, clang, ours *outcome) {
	t.Helper()
	for name, c := range clang.kinds {
		if o := ours.kinds[name]; c != o {
			t.Errorf("program %s: clang %s, bpfc %s", name, c, o)
		}
	}
	for name, c := range clang.vars {
		if o, ok := ours.vars[name]; ok && !bytes.Equal(c.bytes, o.bytes) {
			t.Errorf("variable %s: clang %s, bpfc %s", name, c, o)
		}
	}
	for name, c := range clang.maps {
		if o, ok := ours.maps[name]; !ok {
			t.Errorf("map %s: clang's alone", name)
		} else if !slices.Equal(c, o) {
			t.Errorf("map %s: clang %v, bpfc %v", name, c, o)
		}
	}
	for name, c := range clang.returns {
		if o := ours.returns[name]; c != o {
			t.Errorf("program %s: returned %d by clang, %d by bpfc", name, int32(c), int32(o))
		}
	}
}

// dialectHeaders writes the headers that the files are built with by clang: ours, and
// a vmlinux.h of the running kernel.
func dialectHeaders(t *testing.T) (flags []string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, include.Files); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("/sys/kernel/btf/vmlinux")
	if err != nil {
		t.Fatal(err)
	}
	text, err := vmlinux.Generate(raw, dialectNames(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "vmlinux.h"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, p := range include.Path {
		flags = append(flags, "-I"+filepath.Join(dir, p))
	}
	return flags
}

// dialectNames are the identifiers of all files.
func dialectNames(t *testing.T) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	err := fs.WalkDir(os.DirFS("testdata"), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join("testdata", path))
		for word := range strings.FieldsFuncSeq(string(text), func(r rune) bool {
			return !(r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
		}) {
			names[word] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func targetArch() string {
	if runtime.GOARCH == "arm64" {
		return "arm64"
	}
	return "x86"
}

// buildByClang returns the object of a file.
func buildByClang(t *testing.T, clang string, flags []string, path string) *ebpf.CollectionSpec {
	t.Helper()
	obj := filepath.Join(t.TempDir(), "prog.o")
	args := append([]string{"-O2", "-g", "-fno-crash-diagnostics", "-w", "-target", "bpf", "-mcpu=v3",
		"-D__TARGET_ARCH_" + targetArch(), "-c", path, "-o", obj}, flags...)
	if msg, err := exec.Command(clang, args...).CombinedOutput(); err != nil {
		t.Fatalf("clang: %v\n%.2000s", err, msg)
	}
	spec, err := usdt.LoadCollectionSpec(obj)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// buildByUs returns what bpfc makes of a file: by way of an object, where package usdt
// has to see the sections.
func buildByUs(t *testing.T, path string) *ebpf.CollectionSpec {
	t.Helper()
	object, err := bpfc.CompileELF(context.Background(), os.DirFS("."), path, nil)
	if err != nil {
		t.Fatalf("bpfc: %v", err)
	}
	spec, err := usdt.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		t.Fatalf("read bpfc's object: %v", err)
	}
	return spec
}

func dialectFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/dialect/*.bpf.c")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	return files
}

// Each row of the dialect, run in the kernel.
func TestDialect(t *testing.T) {
	testutils.NeedBPF(t)
	clang := testutils.Oracle(t, "clang-14", "clang")
	flags := dialectHeaders(t)
	for _, path := range dialectFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".bpf.c"), func(t *testing.T) {
			f, err := readDialect(path)
			if err != nil {
				t.Fatal(err)
			}
			f.needKernel(t)
			f.parallel(t)
			var outcomes [2]*outcome
			for i, by := range []string{"clang", "bpfc"} {
				if by == "clang" && f.noClang {
					continue
				}
				t.Run(by, func(t *testing.T) {
					if by == "clang" {
						outcomes[i] = f.execute(t, buildByClang(t, clang, flags, path))
					} else {
						outcomes[i] = f.execute(t, buildByUs(t, path))
					}
					f.check(t, outcomes[i])
				})
			}
			if outcomes[0] != nil && outcomes[1] != nil {
				compare(t, outcomes[0], outcomes[1])
			}
		})
	}
}
