package elfgen

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/elfgen/internal/site"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

var update = flag.Bool("update", false, "write testdata/golden.txt anew")

// Build's forms are those of package site, number by number.
var _ = [1]struct{}{}[uint8(FormNop1)-uint8(site.Nop1)]
var _ = [1]struct{}{}[uint8(FormNop5)-uint8(site.Nop5)]
var _ = [1]struct{}{}[uint8(FormNop10)-uint8(site.Nop10)]
var _ = [1]struct{}{}[MaxArgs-site.MaxArgs]

func mustBuild(t testing.TB, spec *ProviderSpec, m stapsdt.Machine, form NopForm) *Object {
	t.Helper()
	o, err := Build(spec, m, form)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func openELF(t testing.TB, o *Object) *elf.File {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(o.Image))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func notesOf(t testing.TB, o *Object) (notes []stapsdt.Note) {
	t.Helper()
	data, err := openELF(t, o).Section(stapsdt.Section).Data()
	if err != nil {
		t.Fatal(err)
	}
	for n, err := range stapsdt.Notes(o.Machine, data) {
		if err != nil {
			t.Fatal(err)
		}
		notes = append(notes, n)
	}
	return notes
}

// fileOffset returns the offset of an address through the segments, and their
// permissions.
func fileOffset(f *elf.File, addr uint64) (int, elf.ProgFlag) {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Vaddr <= addr && addr < p.Vaddr+p.Filesz {
			return int(addr - p.Vaddr + p.Off), p.Flags
		}
	}
	return -1, 0
}

// Notes, site table, symbols and code tell the same story.
func TestSitesAgreeWithNotes(t *testing.T) {
	for _, row := range objects {
		t.Run(row.name, func(t *testing.T) {
			spec := fullSpec()
			o := mustBuild(t, spec, row.machine, row.form)
			f := openELF(t, o)
			notes := notesOf(t, o)
			if len(notes) != len(spec.Probes) || len(o.Sites) != len(notes) {
				t.Fatalf("%d probes, %d notes, %d sites", len(spec.Probes), len(notes), len(o.Sites))
			}
			base := f.Section(stapsdt.BaseSection)
			syms, err := f.Symbols()
			if err != nil {
				t.Fatal(err)
			}
			code := site.Lookup(row.machine, site.Form(row.form))
			semaphores := map[uint64]bool{}
			for i, n := range notes {
				s, p := o.Sites[i], spec.Probes[i]
				if n.Provider != spec.Name || n.Name != p.Name {
					t.Errorf("note %d is %s:%s", i, n.Provider, n.Name)
				}
				off, flags := fileOffset(f, n.Location)
				if off != s.Location || flags != elf.PF_R|elf.PF_X {
					t.Errorf("%s: location at offset %#x %v, site says %#x", p.Name, off, flags, s.Location)
				}
				if n.Base == 0 || n.Base != base.Addr || n.Location-uint64(s.Location) != base.Addr-base.Offset {
					t.Errorf("%s: base %#x, section at %#x", p.Name, n.Base, base.Addr)
				}
				if got := string(o.Image[s.Entry : s.Entry+code.End-code.Entry]); got != code.Bytes[code.Entry:code.End] {
					t.Errorf("%s: code % x", p.Name, got)
				}
				if word := row.machine.ByteOrder().Uint64(o.Image[s.Word:]); word != s.Pristine || s.Word%8 != 0 {
					t.Errorf("%s: word at %#x is %#x, pristine %#x", p.Name, s.Word, word, s.Pristine)
				}
				for _, at := range []int{s.Entry, s.Location, s.Word} {
					if at < o.Text.Off || at >= o.Text.Off+o.Text.Len {
						t.Errorf("%s: offset %#x outside of %+v", p.Name, at, o.Text)
					}
				}
				if p.Semaphore {
					off, flags := fileOffset(f, n.Semaphore)
					if off != s.Semaphore || flags != elf.PF_R|elf.PF_W || off < o.Semaphores.Off ||
						off+2 > o.Semaphores.Off+o.Semaphores.Len || semaphores[n.Semaphore] {
						t.Errorf("%s: semaphore at offset %#x %v, site says %#x", p.Name, off, flags, s.Semaphore)
					}
					semaphores[n.Semaphore] = true
				} else if n.Semaphore != 0 || s.Semaphore != 0 {
					t.Errorf("%s: unwanted semaphore %#x", p.Name, n.Semaphore)
				}
				sym := findSymbol(syms, string(appendSymbol(nil, spec.Name, p.Name)))
				if off, _ := fileOffset(f, sym.Value); off != s.Entry || sym.Size != uint64(code.End-code.Entry) ||
					elf.ST_TYPE(sym.Info) != elf.STT_FUNC {
					t.Errorf("%s: symbol %+v", p.Name, sym)
				}
			}
			if o.Text.Off/pageSize(row.machine) == o.Semaphores.Off/pageSize(row.machine) {
				t.Errorf("text %+v and semaphores %+v share a page", o.Text, o.Semaphores)
			}
		})
	}
}

func pageSize(m stapsdt.Machine) int {
	t, _ := target(m)
	return t.PageSize
}

func findSymbol(syms []elf.Symbol, name string) elf.Symbol {
	for _, s := range syms {
		if s.Name == name {
			return s
		}
	}
	return elf.Symbol{}
}

// Without semaphores there is no .probes section.
func TestNoProbesSection(t *testing.T) {
	spec := &ProviderSpec{Name: "p", Probes: []ProbeSpec{{Name: "a"}}}
	for _, m := range allMachines {
		o := mustBuild(t, spec, m, FormNop1)
		if o.Semaphores != (Extent{}) || openELF(t, o).Section(stapsdt.ProbesSection) != nil {
			t.Errorf("%s: %+v", m, o.Semaphores)
		}
		if len(o.Image) > 8192 {
			t.Errorf("%s: image of %d bytes", m, len(o.Image))
		}
	}
}

func TestArgumentStrings(t *testing.T) {
	for _, row := range []struct {
		args []ArgSpec
		want map[stapsdt.Machine]string
	}{
		{nil, map[stapsdt.Machine]string{stapsdt.X86_64: "", stapsdt.ARM64: ""}},
		{args(sint(4), usint(1), sint(2), usint(8)), map[stapsdt.Machine]string{
			stapsdt.X86_64:  "-4@%rax 1@%rbx -2@%rcx 8@%rdx",
			stapsdt.ARM64:   "-4@x0 1@x1 -2@x2 8@x3",
			stapsdt.RISCV64: "-4@a0 1@a1 -2@a2 8@a3",
			stapsdt.S390X:   "-4@%r2 1@%r3 -2@%r4 8@%r5",
			stapsdt.PPC64LE: "-4@3 1@4 -2@5 8@6",
		}},
		{args(kind(Bool), ieee(4), ieee(8), kind(String), kind(Bytes), kind(Error), pointer(nil)), map[stapsdt.Machine]string{
			stapsdt.X86_64: "1@%rax 4@%rbx 8@%rcx 8@%rdx 8@%rsi 8@%rdi 8@%r8 8@%r9",
			stapsdt.ARM64:  "1@x0 4@x1 8@x2 8@x3 8@x4 8@x5 8@x6 8@x7",
		}},
	} {
		for m, want := range row.want {
			o := mustBuild(t, &ProviderSpec{Name: "p", Probes: []ProbeSpec{{Name: "a", Args: row.args}}}, m, FormNop1)
			if got := notesOf(t, o)[0].Args; got != want {
				t.Errorf("%s: %q, want %q", m, got, want)
			}
		}
	}
}

// All twelve arguments parse as registers on every machine.
func TestTwelveRegisters(t *testing.T) {
	spec := &ProviderSpec{Name: "p", Probes: []ProbeSpec{{Name: "a"}}}
	for range MaxArgs {
		spec.Probes[0].Args = append(spec.Probes[0].Args, ArgSpec{Type: sint(4)})
	}
	for _, m := range allMachines {
		note := notesOf(t, mustBuild(t, spec, m, FormNop1))[0]
		seen := map[string]bool{}
		for _, a := range stapsdt.ParseArgs(m, note.Args) {
			if a.Err != nil || a.Operand.Kind != stapsdt.Register || a.Size != 4 || !a.Signed {
				t.Errorf("%s: %+v", m, a)
			}
			seen[a.Operand.Base] = true
		}
		if len(seen) != MaxArgs {
			t.Errorf("%s: %q names %d registers", m, note.Args, len(seen))
		}
	}
}

func TestBuildErrors(t *testing.T) {
	good := &ProviderSpec{Name: "p", Probes: []ProbeSpec{{Name: "a"}}}
	for _, row := range []struct {
		machine stapsdt.Machine
		form    NopForm
	}{
		{stapsdt.ARM64, FormNop5}, {stapsdt.ARM64, FormNop10}, {stapsdt.S390X, FormNop5},
		{stapsdt.X86_64, 0}, {stapsdt.X86_64, 9}, {stapsdt.I386, FormNop1}, {0, FormNop1}, {200, FormNop1},
	} {
		if o, err := Build(good, row.machine, row.form); !errors.Is(err, ErrUnsupported) || o != nil {
			t.Errorf("%s form %d: %v", row.machine, row.form, err)
		}
	}
	for _, spec := range []*ProviderSpec{
		{Name: "p"},
		{Name: "", Probes: good.Probes},
		{Name: "p", Probes: []ProbeSpec{{Name: "a"}, {Name: "a"}}},
	} {
		var se *SpecError
		if o, err := Build(spec, stapsdt.X86_64, FormNop1); !errors.As(err, &se) || o != nil {
			t.Errorf("%+v: %v", spec, err)
		}
	}
}

// The build-id tells objects apart and is where it is said to be.
func TestBuildID(t *testing.T) {
	ids := map[[20]byte]string{}
	for _, row := range objects {
		o := mustBuild(t, fullSpec(), row.machine, row.form)
		if other, ok := ids[o.BuildID]; ok {
			t.Errorf("%s and %s have the same build-id", row.name, other)
		}
		ids[o.BuildID] = row.name
		note, err := openELF(t, o).Section(".note.gnu.build-id").Data()
		if err != nil || !bytes.HasSuffix(note, o.BuildID[:]) || !bytes.Contains(note, []byte("GNU\x00")) {
			t.Errorf("%s: note % x, %v", row.name, note, err)
		}
	}
	changed := fullSpec()
	changed.Probes[1].Args[0].Name = "counT" // in the metadata only
	o := mustBuild(t, changed, stapsdt.X86_64, FormNop1)
	if other, ok := ids[o.BuildID]; ok {
		t.Errorf("the name of an argument does not enter the build-id of %s", other)
	}
}

func TestMarker(t *testing.T) {
	for _, m := range allMachines {
		data, err := openELF(t, mustBuild(t, fullSpec(), m, FormNop1)).Section(".note.nopfire").Data()
		if err != nil {
			t.Fatal(err)
		}
		word := func(v uint32) string {
			b := make([]byte, 4)
			m.ByteOrder().PutUint32(b, v)
			return string(b)
		}
		want := word(8) + word(12) + word(1) + "nopfire\x00" + word(1) + word(1) + word(1)
		if string(data) != want {
			t.Errorf("%s: % x", m, data)
		}
	}
}

// The bytes of an object are the same in every process, on every host and from
// every release: golden.txt changes only when the format does, on purpose.
func TestGolden(t *testing.T) {
	var b strings.Builder
	for _, row := range objects {
		o := mustBuild(t, fullSpec(), row.machine, row.form)
		sum := sha256.Sum256(o.Image)
		fmt.Fprintf(&b, "%s %d bytes build-id %x sha256 %s\n", row.name, len(o.Image), o.BuildID, hex.EncodeToString(sum[:]))
	}
	checkGolden(t, "testdata/golden.txt", b.String())
}

// checkGolden compares with a committed file, which -update writes.
func checkGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: changed; if that is meant, run go test ./elfgen -update\n got %s\nwant %s", file, got, want)
	}
}

// Build reads its input only, and its output shares nothing with it.
func TestBuildIsPure(t *testing.T) {
	spec := fullSpec()
	first := mustBuild(t, spec, stapsdt.X86_64, FormNop5)
	kept := bytes.Clone(first.Image)
	done := make(chan *Object)
	for range 4 {
		go func() {
			o, _ := Build(spec, stapsdt.X86_64, FormNop5)
			done <- o
		}()
	}
	for range 4 {
		if o := <-done; o == nil || !bytes.Equal(o.Image, kept) {
			t.Error("another Build of the same spec gave another image")
		}
	}
	for i := range first.Image {
		first.Image[i] = 0xff
	}
	if again := mustBuild(t, spec, stapsdt.X86_64, FormNop5); !bytes.Equal(again.Image, kept) {
		t.Error("overwriting an image changed the next one")
	}
}

func manyProbes(n int) *ProviderSpec {
	spec := &ProviderSpec{Name: "bench", Probes: make([]ProbeSpec, n)}
	for i := range spec.Probes {
		spec.Probes[i] = ProbeSpec{
			Name: fmt.Sprintf("probe%d", i),
			Args: []ArgSpec{{"id", sint(8)}, {"path", kind(String)}},
		}
	}
	return spec
}

func TestManyProbes(t *testing.T) {
	const n = 10000
	spec := manyProbes(n)
	for i := range spec.Probes {
		spec.Probes[i].Semaphore = i%2 == 0
	}
	for _, m := range allMachines {
		o := mustBuild(t, spec, m, FormNop1)
		if notes := notesOf(t, o); len(notes) != n || notes[n-1].Name != "probe9999" {
			t.Errorf("%s: %d notes", m, len(notes))
		}
		if syms, err := openELF(t, o).DynamicSymbols(); err != nil || len(syms) != n {
			t.Errorf("%s: %d symbols, %v", m, len(syms), err)
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{1, 100, 10000} {
		spec := manyProbes(n)
		b.Run(fmt.Sprintf("probes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				o, err := Build(spec, stapsdt.X86_64, FormNop5)
				if err != nil {
					b.Fatal(err)
				}
				size = len(o.Image)
			}
			b.ReportMetric(float64(size), "image-bytes")
		})
	}
}
