package elfgen

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/internal/testutils"
	"github.com/nopfire/nopfire/urdt/abi"
)

var urdtMachines = []stapsdt.Machine{stapsdt.X86_64, stapsdt.ARM64}

func mustBuildURDT(t testing.TB, m stapsdt.Machine) *Object {
	t.Helper()
	o, err := BuildURDT(m)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// writeURDT writes the library into a directory of its own, with the name that
// a linker looks for, and returns the path.
func writeURDT(t testing.TB, m stapsdt.Machine) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), abi.Library)
	if err := os.WriteFile(file, mustBuildURDT(t, m).Image, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(abi.Library, filepath.Join(filepath.Dir(file), "liburdt.so")); err != nil {
		t.Fatal(err)
	}
	return file
}

// The library is frozen: processes of different releases share the file, and
// each compares it with what it would have written. This test fails when its
// bytes change; then it is another library and needs another name.
func TestURDTGolden(t *testing.T) {
	var b strings.Builder
	for _, m := range urdtMachines {
		o := mustBuildURDT(t, m)
		fmt.Fprintf(&b, "%s %d bytes build-id %x sha256 %x\n", m, len(o.Image), o.BuildID, sha256.Sum256(o.Image))
	}
	checkGolden(t, "testdata/urdt.txt", b.String())
}

func TestURDTMachines(t *testing.T) {
	for m := range stapsdt.MIPS64LE + 2 {
		_, err := BuildURDT(m)
		if m == stapsdt.X86_64 || m == stapsdt.ARM64 {
			if err != nil {
				t.Errorf("%s: %v", m, err)
			}
		} else if !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", m, err)
		}
	}
	if _, err := Build(&ProviderSpec{Name: "p", Probes: []ProbeSpec{{Name: "a"}}}, stapsdt.X86_64, FormShared); !errors.Is(err, ErrUnsupported) {
		t.Errorf("Build with FormShared: %v", err)
	}
}

// The specification names the library's bytes.
func TestURDTSpec(t *testing.T) {
	text, err := os.ReadFile("../docs/urdt-spec.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range urdtMachines {
		o := mustBuildURDT(t, m)
		row := fmt.Sprintf("| %s | %d | `%x` |", m, len(o.Image), sha256.Sum256(o.Image))
		if !strings.Contains(string(text), row) {
			t.Errorf("docs/urdt-spec.md has no row %s", row)
		}
	}
}

// The notes are those of the contract: sixteen of each arity, with the hashes as
// the last argument.
func TestURDTNotes(t *testing.T) {
	for m, want := range map[stapsdt.Machine][2]string{
		stapsdt.X86_64: {"8@%rdi", "-8@%rsi -8@%rdx -8@%rcx -8@%r8 -8@%r9 -8@%rax -8@%r10 -8@%r11 -8@%rbx -8@%r12 -8@%r13 8@%rdi"},
		stapsdt.ARM64:  {"8@x0", "-8@x1 -8@x2 -8@x3 -8@x4 -8@x5 -8@x6 -8@x7 -8@x8 -8@x9 -8@x10 -8@x11 8@x0"},
	} {
		o := mustBuildURDT(t, m)
		notes := notesOf(t, o)
		if len(notes) != 192 || len(o.Sites) != 192 {
			t.Fatalf("%s: %d notes, %d sites", m, len(notes), len(o.Sites))
		}
		text := openELF(t, o).Section(".text")
		for i, n := range notes {
			arity, ok := abi.Arity(n.Name)
			if n.Provider != "urdt" || !ok || arity != i/16 || n.Semaphore != 0 {
				t.Errorf("%s: note %d is %+v", m, i, n)
			}
			if args := strings.Fields(n.Args); len(args) != arity+1 || args[arity] != want[0] {
				t.Errorf("%s: %s has arguments %q", m, n.Name, n.Args)
			}
			s := o.Sites[i]
			if off := int(n.Location - text.Addr + text.Offset); off != s.Location || off%32 != 0 || s.Word != off || s.Entry != off {
				t.Errorf("%s: note %d at offset %#x, site %+v", m, i, off, s)
			}
			if i > 0 && n.Location <= notes[i-1].Location {
				t.Errorf("%s: note %d is out of order", m, i)
			}
			if w := m.ByteOrder().Uint64(o.Image[s.Word:]); w != s.Pristine {
				t.Errorf("%s: site %d holds %#x, pristine is %#x", m, i, w, s.Pristine)
			}
			if s.Location < o.Text.Off || s.Location+32 > o.Text.Off+o.Text.Len {
				t.Errorf("%s: site %d is outside of the text", m, i)
			}
		}
		if got := notes[191].Args; got != want[1] {
			t.Errorf("%s: arguments of arity 11\n got %s\nwant %s", m, got, want[1])
		}
	}
}

func TestURDTSymbols(t *testing.T) {
	for _, m := range urdtMachines {
		f := openELF(t, mustBuildURDT(t, m))
		symbols, err := f.DynamicSymbols()
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]bool{"urdt_enabled": true}
		for n := range 12 {
			want[fmt.Sprint("urdt_fire", n)] = true
			want[fmt.Sprint("bpf_urdt__probe", n)] = true
		}
		for _, s := range symbols {
			if !want[s.Name] || s.Size == 0 || elf.ST_TYPE(s.Info) != elf.STT_FUNC || elf.ST_BIND(s.Info) != elf.STB_GLOBAL {
				t.Errorf("%s: symbol %+v", m, s)
			}
			delete(want, s.Name)
		}
		if len(want) > 0 {
			t.Errorf("%s: no symbols %v", m, want)
		}
		if soname, err := f.DynString(elf.DT_SONAME); err != nil || len(soname) != 1 || soname[0] != "liburdt.so.1" {
			t.Errorf("%s: SONAME %v, %v", m, soname, err)
		}
		for _, tag := range []elf.DynTag{elf.DT_HASH, elf.DT_GNU_HASH} {
			if v, err := f.DynValue(tag); err != nil || len(v) != 1 {
				t.Errorf("%s: %v: %v, %v", m, tag, v, err)
			}
		}
		marker, err := f.Section(abi.MarkerSection).Data()
		if want := "\x08\x00\x00\x00\x0c\x00\x00\x00\x01\x00\x00\x00nopfire\x00\x01\x00\x00\x00\x02\x00\x00\x00\x10\x00\x00\x00"; err != nil || string(marker) != want {
			t.Errorf("%s: marker % x, %v", m, marker, err)
		}
	}
}

func TestURDTIsPure(t *testing.T) {
	first := mustBuildURDT(t, stapsdt.X86_64)
	kept := bytes.Clone(first.Image)
	for i := range first.Image {
		first.Image[i] = 0xff
	}
	if !bytes.Equal(mustBuildURDT(t, stapsdt.X86_64).Image, kept) {
		t.Error("overwriting an image changed the next one")
	}
}

// Readers of files find nothing to complain of.
func TestURDTElflint(t *testing.T) {
	path := testutils.Oracle(t, "eu-elflint")
	for _, m := range urdtMachines {
		out, _ := exec.Command(path, "--gnu-ld", writeURDT(t, m)).CombinedOutput()
		for line := range strings.Lines(string(out)) {
			if !strings.Contains(line, "unknown object file note type") && strings.TrimSpace(line) != "No errors" {
				t.Errorf("%s: %s", m, line)
			}
		}
	}
}

func TestURDTReadelf(t *testing.T) {
	path := testutils.Oracle(t, "readelf")
	for m, property := range map[stapsdt.Machine]string{stapsdt.X86_64: "x86 feature: IBT, SHSTK", stapsdt.ARM64: "AArch64 feature: BTI"} {
		out := run(t, path, "-aW", "--debug-dump=frames", writeURDT(t, m))
		if lower := strings.ToLower(out); strings.Contains(lower, "warning") || strings.Contains(lower, "error:") || strings.Contains(lower, "corrupt") {
			t.Errorf("%s:\n%s", m, out)
		}
		if !strings.Contains(out, property) {
			t.Errorf("%s: no %q", m, property)
		}
		if n := strings.Count(out, " FDE "); n != 26 {
			t.Errorf("%s: %d frame descriptions, want 26", m, n)
		}
	}
}

// urdtProgram is a C program that is linked with the library.
const urdtProgram = `
#include <stdint.h>
#include <stdio.h>
void bpf_urdt__probe11(const char *, const char *, long, long, long, long, long, long, long, long, long, long, long);
void urdt_fire2(uint64_t, long, long);
int urdt_enabled(uint64_t, int);
__attribute__((noinline)) void outer(long x)
{
	bpf_urdt__probe11("dyn", "urdt11", x, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
	__asm__ volatile("");
}
int main(void)
{
	outer(1);
	urdt_fire2(42, 1, 2);
	printf("%d %d\n", urdt_enabled(42, 2), urdt_enabled(42, 99));
	return 0;
}
`

// linkURDT builds the C program with -lurdt and returns it and the library.
func linkURDT(t *testing.T) (prog, lib string) {
	t.Helper()
	needHost(t)
	lib = writeURDT(t, stapsdt.X86_64)
	dir := filepath.Dir(lib)
	return testutils.BuildC(t, urdtProgram, "-L"+dir, "-lurdt", "-Wl,-rpath,"+dir, "-Wl,--fatal-warnings"), lib
}

func TestURDTLink(t *testing.T) {
	prog, _ := linkURDT(t)
	if out := run(t, prog); out != "0 0\n" {
		t.Errorf("it prints %q", out)
	}
	needed := run(t, testutils.Oracle(t, "readelf"), "-dW", prog)
	if !strings.Contains(needed, "Shared library: [liburdt.so.1]") {
		t.Errorf("the program does not need the library:\n%s", needed)
	}
}

// A debugger that stops at a site of arity 11 knows who called, and what the
// caller's saved registers hold.
func TestURDTBacktrace(t *testing.T) {
	prog, _ := linkURDT(t)
	gdb := testutils.Oracle(t, "gdb")
	shard := abi.Shard(abi.Hash("dyn", "urdt11"), abi.Shards)
	site := fmt.Sprintf("*((char *)&urdt__probe11 + %d)", 32*shard)
	out := run(t, gdb, "-nx", "-batch", "-ex", "set breakpoint pending on", "-ex", "break main", "-ex", "run",
		"-ex", "printf \"before %#lx %#lx %#lx\\n\", $rbx, $r12, $r13",
		"-ex", "break "+site, "-ex", "continue", "-ex", "backtrace",
		"-ex", "printf \"args %ld %ld %ld %ld\\n\", $rsi, $rbx, $r12, $r13",
		"-ex", "frame function main", "-ex", "printf \"after %#lx %#lx %#lx\\n\", $rbx, $r12, $r13",
		"-ex", "kill", prog)
	// It takes the two underscores for those of Ada and prints a dot.
	trace := regexp.MustCompile(`(?s)#0 .*urdt(__|\.)probe11 .*\n#1 .*bpf_urdt(__|\.)probe11 .*\n#2 .*outer \(x=.*\n#3 .*main \(\)`)
	if !trace.MatchString(out) {
		t.Errorf("no backtrace through the library:\n%s", out)
	}
	if !strings.Contains(out, "args 1 9 10 11\n") {
		t.Errorf("arguments at the site:\n%s", out)
	}
	before := regexp.MustCompile(`before (.*)`).FindStringSubmatch(out)
	after := regexp.MustCompile(`after (.*)`).FindStringSubmatch(out)
	if before == nil || after == nil || before[1] != after[1] {
		t.Errorf("the caller's registers: before %v, seen from the site %v\n%s", before, after, out)
	}
}

// The unwinder of C programs finds its way too: it goes by .eh_frame_hdr.
func TestURDTUnwind(t *testing.T) {
	needHost(t)
	lib := writeURDT(t, stapsdt.X86_64)
	prog := testutils.BuildC(t, `
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
void bpf_urdt__probe11(const char *, const char *, long, long, long, long, long, long, long, long, long, long, long);
static char names[65536];
static void onTrap(int sig, siginfo_t *si, void *uc)
{
	void *pc[32];
	int n = backtrace(pc, 32);
	for (int i = 0; i < n; i++) {
		Dl_info d;
		if (dladdr(pc[i], &d) && d.dli_sname) { strcat(names, d.dli_sname); strcat(names, " "); }
	}
}
int main(int argc, char **argv)
{
	void *warm[4];
	backtrace(warm, 4); /* it loads libgcc on first use */
	struct sigaction sa = { .sa_sigaction = onTrap, .sa_flags = SA_SIGINFO };
	sigaction(SIGTRAP, &sa, 0);
	Dl_info d;
	dladdr((void *)bpf_urdt__probe11, &d);
	long page = 4096;
	char *base = d.dli_fbase;
	char *site = base + strtol(argv[1], 0, 0);
	if (mprotect((char *)((long)site & -page), page, PROT_READ | PROT_WRITE | PROT_EXEC)) return 1;
	*site = (char)0xcc; /* a breakpoint over the one-byte nop: execution goes on behind it */
	bpf_urdt__probe11("dyn", "urdt11", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
	puts(names);
	return 0;
}
`, "-D_GNU_SOURCE", "-include", "stdlib.h", "-rdynamic", "-L"+filepath.Dir(lib), "-lurdt", "-Wl,-rpath,"+filepath.Dir(lib))
	o := mustBuildURDT(t, stapsdt.X86_64)
	notes := notesOf(t, o)
	site := notes[11*16+abi.Shard(abi.Hash("dyn", "urdt11"), 16)].Location
	out := run(t, prog, fmt.Sprint(site))
	if !regexp.MustCompile(`bpf_urdt__probe11 main `).MatchString(out) {
		t.Errorf("the unwinder found %q", out)
	}
}

func BenchmarkBuildURDT(b *testing.B) {
	b.ReportAllocs()
	for range b.N {
		mustBuildURDT(b, stapsdt.X86_64)
	}
}
