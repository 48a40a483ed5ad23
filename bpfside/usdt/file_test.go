package usdt_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// node is a struct that refers to itself.
var node = func() *elfgen.Type {
	n := &elfgen.Type{Kind: elfgen.Struct, Size: 24, Name: "node"}
	n.Fields = []elfgen.Field{
		{Name: "id", Offset: 0, Type: &elfgen.Type{Kind: elfgen.Int, Size: 4}},
		{Name: "next", Offset: 8, Type: &elfgen.Type{Kind: elfgen.Pointer, Elem: n}},
		{Name: "tail", Offset: 16, Type: &elfgen.Type{Kind: elfgen.Array, Len: 4, Elem: &elfgen.Type{Kind: elfgen.Uint, Size: 2}}},
	}
	return n
}()

// spec has an argument of every kind.
var spec = &elfgen.ProviderSpec{Name: "app", Probes: []elfgen.ProbeSpec{
	{Name: "request", Semaphore: true, Args: []elfgen.ArgSpec{
		{Name: "status", Type: &elfgen.Type{Kind: elfgen.Int, Size: 4}},
		{Name: "path", Type: &elfgen.Type{Kind: elfgen.String}},
		{Name: "body", Type: &elfgen.Type{Kind: elfgen.Bytes}},
		{Name: "ok", Type: &elfgen.Type{Kind: elfgen.Bool}},
		{Name: "load", Type: &elfgen.Type{Kind: elfgen.Float, Size: 8}},
		{Name: "err", Type: &elfgen.Type{Kind: elfgen.Error}},
	}},
	{Name: "visit", Args: []elfgen.ArgSpec{
		{Name: "node", Type: &elfgen.Type{Kind: elfgen.Pointer, Elem: node}},
		{Name: "raw", Type: &elfgen.Type{Kind: elfgen.Pointer}},
		{Name: "took", Type: &elfgen.Type{Kind: elfgen.Int, Size: 8, Go: "time.Duration"}},
		{Name: "small", Type: &elfgen.Type{Kind: elfgen.Uint, Size: 1}},
	}},
	{Name: "bare"},
}}

func build(t testing.TB, m stapsdt.Machine) []byte {
	t.Helper()
	obj, err := elfgen.Build(spec, m, elfgen.FormNop1)
	if err != nil {
		t.Fatal(err)
	}
	return obj.Image
}

func open(t testing.TB, image []byte) *usdt.File {
	t.Helper()
	f, err := usdt.NewFile(bytes.NewReader(image), int64(len(image)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// What elfgen writes for each machine is read on any host.
func TestOpenFabricated(t *testing.T) {
	for _, m := range []stapsdt.Machine{stapsdt.X86_64, stapsdt.ARM64, stapsdt.RISCV64, stapsdt.S390X, stapsdt.PPC64LE} {
		t.Run(m.String(), func(t *testing.T) {
			obj, err := elfgen.Build(spec, m, elfgen.FormNop1)
			if err != nil {
				t.Fatal(err)
			}
			f := open(t, obj.Image)
			if len(f.Problems) > 0 {
				t.Errorf("problems: %v", errors.Join(f.Problems...))
			}
			if f.Machine != m || !bytes.Equal(f.BuildID, obj.BuildID[:]) {
				t.Errorf("machine %s, build-id %x; want %s, %x", f.Machine, f.BuildID, m, obj.BuildID)
			}
			if len(f.Probes) != len(spec.Probes) {
				t.Fatalf("%d probes, want %d", len(f.Probes), len(spec.Probes))
			}
			for i, p := range f.Probes {
				if len(p.Locations) != 1 || p.Provider != "app" || p.Name != spec.Probes[i].Name {
					t.Fatalf("probe %+v", p)
				}
				loc, site := p.Locations[0], obj.Sites[i]
				if loc.Offset != uint64(site.Location) || loc.RefCtrOffset != uint64(site.Semaphore) || loc.Err != nil {
					t.Errorf("%s at %#x, semaphore at %#x (%v); want %#x, %#x", p, loc.Offset, loc.RefCtrOffset, loc.Err, site.Location, site.Semaphore)
				}
				for _, a := range loc.Args() {
					if a.Err != nil {
						t.Errorf("%s: %v", p, a.Err)
					}
				}
			}
			if diff := cmp.Diff(strings.Join(wantParams, "\n"), describe(f)); diff != "" {
				t.Errorf("parameters (-want +got):\n%s", diff)
			}
		})
	}
}

var wantParams = []string{
	"app:request status int/4",
	"app:request path string/8",
	"app:request body bytes/8 counted by 3",
	"app:request body_len uint/8",
	"app:request ok bool/1",
	"app:request load float/8",
	"app:request err error/8 go error",
	"app:visit node pointer/8 to struct node/24 {0 id int/4, 8 next pointer/8 to struct node, 16 tail array/8 4 of uint/2}",
	"app:visit raw pointer/8",
	"app:visit took int/8 go time.Duration",
	"app:visit small uint/1",
}

// describe prints the parameters of all probes, a line each.
func describe(f *usdt.File) string {
	var lines []string
	for _, p := range f.Probes {
		for _, param := range p.Params {
			line := fmt.Sprintf("%s %s %s", p, param.Name, typeText(param.Type, 0))
			if param.Len > 0 {
				line += fmt.Sprintf(" counted by %d", param.Len)
			}
			if param.Type.Go != "" {
				line += " go " + param.Type.Go
			}
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

func typeText(t *usdt.Type, depth int) string {
	s := fmt.Sprintf("%s/%d", t.Kind, t.Size)
	switch t.Kind {
	case usdt.Pointer:
		if t.Elem != nil {
			s += " to " + typeText(t.Elem, depth+1)
		}
	case usdt.Array:
		s += fmt.Sprintf(" %d of %s", t.Len, typeText(t.Elem, depth+1))
	case usdt.Struct:
		s = fmt.Sprintf("struct %s", t.Name)
		if depth > 1 {
			break
		}
		var fields []string
		for _, f := range t.Fields {
			fields = append(fields, fmt.Sprintf("%d %s %s", f.Offset, f.Name, typeText(f.Type, depth+1)))
		}
		s += fmt.Sprintf("/%d {%s}", t.Size, strings.Join(fields, ", "))
	}
	return s
}

// section returns the place of a section in an image.
func section(t testing.TB, image []byte, name string) *elf.Section {
	t.Helper()
	ef, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		t.Fatal(err)
	}
	s := ef.Section(name)
	if s == nil {
		t.Fatalf("no section %s", name)
	}
	return s
}

// A fault costs what has it: the other probes stay.
func TestOpenFaults(t *testing.T) {
	le := binary.LittleEndian
	for _, tc := range []struct {
		name    string
		section string
		edit    func(data []byte, sec *elf.Section, image []byte)
		problem string // "" if there is none; %x stands for the offset of the section, and so of the first note
		is      error
		probes  string // with location faults marked
		params  bool   // of app:visit
	}{
		{
			name: "untouched", section: stapsdt.Section, edit: func([]byte, *elf.Section, []byte) {},
			probes: "request visit bare", params: true,
		},
		{
			name: "tombstone", section: stapsdt.Section,
			edit:    func(d []byte, _ *elf.Section, _ []byte) { le.PutUint64(d[20:], 0) },
			problem: ".note.stapsdt: at %x: app:request: the linker discarded the probed code", is: usdt.ErrTombstone,
			probes: "visit bare", params: true,
		},
		{
			name: "location outside of the code", section: stapsdt.Section,
			edit:    func(d []byte, _ *elf.Section, _ []byte) { le.PutUint64(d[20:], 0x7fff0000) },
			problem: ".note.stapsdt: at %x: app:request: location is not in an executable segment: address 0x7fff0000", is: usdt.ErrNotExecutable,
			probes: "request! visit bare", params: true,
		},
		{
			name: "semaphore in the code", section: stapsdt.Section,
			edit: func(d []byte, _ *elf.Section, _ []byte) { copy(d[36:44], d[20:28]) },
			is:   usdt.ErrSemaphoreNotWritable, problem: ".note.stapsdt: at %x: app:request: semaphore is not in a writable segment of the file: address ",
			probes: "request! visit bare", params: true,
		},
		{
			name: "owner of the first note is another", section: stapsdt.Section,
			edit:   func(d []byte, _ *elf.Section, _ []byte) { copy(d[12:], "other") },
			probes: "visit bare", params: true,
		},
		{
			name: "first note too long", section: stapsdt.Section,
			edit:    func(d []byte, _ *elf.Section, _ []byte) { le.PutUint32(d[4:], 1<<31) },
			problem: ".note.stapsdt: at ", probes: "",
		},
		{
			name: "note section beyond the file", section: stapsdt.Section,
			edit: func(_ []byte, sec *elf.Section, image []byte) {
				editHeader(image, sec, func(h []byte) { le.PutUint64(h[32:], 1<<20) })
			},
			problem: ".note.stapsdt: at ", probes: "",
		},
		{
			name: "metadata of another version", section: ".BTF",
			edit:    func(d []byte, _ *elf.Section, _ []byte) { d[2] = 9 },
			problem: ".BTF: at ", probes: "request visit bare",
		},
		{
			name: "metadata without our tags", section: ".BTF",
			edit: func(d []byte, _ *elf.Section, _ []byte) {
				copy(d, bytes.ReplaceAll(d, []byte("nopfire:probe"), []byte("xopfire:probe")))
			},
			probes: "request visit bare",
		},
		{
			name: "metadata about another probe", section: ".BTF",
			edit: func(d []byte, _ *elf.Section, _ []byte) {
				copy(d, bytes.ReplaceAll(d, []byte("app:visit\x00"), []byte("app:visix\x00")))
			},
			probes: "request visit bare",
		},
		{
			name: "length in no parameter", section: ".BTF",
			edit: func(d []byte, _ *elf.Section, _ []byte) {
				copy(d, bytes.ReplaceAll(d, []byte("nopfire:len=3"), []byte("nopfire:len=9")))
			},
			problem: `: app:request: parameter 2: length in parameter "9"`, probes: "request visit bare", params: true,
		},
		{
			name: "fewer arguments than the metadata", section: stapsdt.Section,
			edit: func(d []byte, _ *elf.Section, _ []byte) {
				i := bytes.Index(d, []byte("visit\x00")) + len("visit\x00")
				j := i + bytes.IndexByte(d[i:], ' ')
				d[j] = 0
			},
			problem: ": app:visit: metadata has 4 arguments, the note 1", probes: "request visit bare",
		},
		{
			name: "other size than the metadata", section: stapsdt.Section,
			edit: func(d []byte, _ *elf.Section, _ []byte) {
				i := bytes.Index(d, []byte("visit\x00")) + len("visit\x00")
				d[i] = '4'
			},
			problem: ": app:visit: argument 0 has 8 bytes in the metadata, 4 in the note", probes: "request visit bare",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			image := bytes.Clone(build(t, stapsdt.X86_64))
			sec := section(t, image, tc.section)
			tc.edit(image[sec.Offset:sec.Offset+sec.Size], sec, image)
			f := open(t, image)

			var problem string
			if err := errors.Join(f.Problems...); err != nil {
				problem = err.Error()
			}
			want := strings.ReplaceAll(tc.problem, "%x", fmt.Sprintf("%#x", sec.Offset))
			if (problem == "") != (want == "") || !strings.Contains(problem, want) {
				t.Errorf("problems %q, want %q", problem, want)
			}
			if tc.is != nil && !errors.Is(errors.Join(f.Problems...), tc.is) {
				t.Errorf("problem %q is not %v", problem, tc.is)
			}
			var names []string
			params := false
			for _, p := range f.Probes {
				name := p.Name
				if p.Locations[0].Err != nil {
					name += "!"
				}
				names = append(names, name)
				params = params || p.Name == "visit" && p.Params != nil
			}
			if got := strings.Join(names, " "); got != tc.probes {
				t.Errorf("probes %q, want %q", got, tc.probes)
			}
			if params != tc.params {
				t.Errorf("app:visit has parameters: %t, want %t", params, tc.params)
			}
		})
	}
}

// editHeader edits the section header of a section (Elf64_Shdr).
func editHeader(image []byte, sec *elf.Section, edit func(h []byte)) {
	le := binary.LittleEndian
	shoff, n := le.Uint64(image[40:]), int(le.Uint16(image[60:]))
	for i := range n {
		h := image[shoff+uint64(64*i):]
		if le.Uint64(h[24:]) == sec.Offset && le.Uint64(h[32:]) == sec.Size {
			edit(h[:64])
		}
	}
}

// The base section of a file that was moved after linking shifts location and
// semaphore alike.
func TestOpenMoved(t *testing.T) {
	image := bytes.Clone(build(t, stapsdt.X86_64))
	before := open(t, image).Probes[0].Locations[0]
	le := binary.LittleEndian
	sec := section(t, image, stapsdt.Section)
	d := image[sec.Offset : sec.Offset+sec.Size]
	const moved = 0x10000
	for _, at := range []int{20, 28, 36} { // location, base, semaphore of the first note
		le.PutUint64(d[at:], le.Uint64(d[at:])-moved)
	}
	after := open(t, image).Probes[0].Locations[0]
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("location of a moved note (-before +after):\n%s", diff)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	s := &elfgen.ProviderSpec{Name: "app"}
	for i := range 500 {
		s.Probes = append(s.Probes, elfgen.ProbeSpec{Name: fmt.Sprintf("p%d", i)})
	}
	obj, err := elfgen.Build(s, stapsdt.X86_64, elfgen.FormNop1)
	if err != nil {
		t.Fatal(err)
	}
	image := obj.Image
	sec := section(t, image, stapsdt.Section)
	d := image[sec.Offset : sec.Offset+sec.Size]
	for len(d) > 0 {
		binary.LittleEndian.PutUint64(d[20:], 0)
		d = d[20+(binary.LittleEndian.Uint32(d[4:])+3)&^3:]
	}
	f := open(t, image)
	if len(f.Problems) != 100 || !strings.Contains(f.Problems[99].Error(), "401 more faults") {
		t.Errorf("%d problems, the last %q; want 100, the last about 401 more", len(f.Problems), f.Problems[len(f.Problems)-1])
	}
}

// A file without section headers or notes has no probes, which is no fault.
func TestOpenWithoutNotes(t *testing.T) {
	image := bytes.Clone(build(t, stapsdt.X86_64))
	clear(image[40:48]) // e_shoff
	clear(image[60:64]) // e_shnum, e_shstrndx
	if f := open(t, image); len(f.Probes) != 0 || len(f.Problems) != 0 {
		t.Errorf("%d probes, problems %v", len(f.Probes), f.Problems)
	}
}

func TestOpenUnknownMachine(t *testing.T) {
	image := bytes.Clone(build(t, stapsdt.X86_64))
	image[18] = 247 // EM_BPF
	_, err := usdt.NewFile(bytes.NewReader(image), int64(len(image)))
	if !errors.Is(err, usdt.ErrNotSupported) {
		t.Errorf("error %v, want ErrNotSupported", err)
	}
}

func FuzzNewFile(f *testing.F) {
	for _, m := range []stapsdt.Machine{stapsdt.X86_64, stapsdt.S390X} {
		f.Add(build(f, m))
	}
	// Small files of both word sizes and byte orders, with symbols.
	for _, m := range []stapsdt.Machine{stapsdt.X86_64, stapsdt.I386, stapsdt.ARMBE, stapsdt.MIPS64} {
		word := uint64(m.WordSize())
		code, data := codeSegment, dataSegment
		code.Off, code.Filesz, data.Off, data.Filesz = 64, 64, 128, 64
		symbols := make([]byte, 48)
		m.ByteOrder().PutUint32(symbols[3*word:], 1)
		f.Add((&fabric{machine: m, typ: elf.ET_DYN, segments: []elf.ProgHeader{code, data}, sections: []fabricSection{
			notesSection(f, m, stapsdt.Note{Provider: "p", Name: "q", Location: 0x11010, Base: 0x23020, Semaphore: 0x23010, Args: machineArgs[m]}),
			baseSection(0x23020),
			{SectionHeader: elf.SectionHeader{Name: ".symtab", Type: elf.SHT_SYMTAB, Link: 4}, data: symbols},
			{SectionHeader: elf.SectionHeader{Name: ".strtab", Type: elf.SHT_STRTAB}, data: []byte("\x00NBuffers\x00")},
		}}).write(f))
	}
	f.Fuzz(func(t *testing.T, image []byte) {
		file, err := usdt.NewFile(bytes.NewReader(image), int64(len(image)))
		if err != nil {
			var fe *usdt.FileError
			if !errors.As(err, &fe) {
				t.Errorf("error %v is no FileError", err)
			}
			return
		}
		for _, p := range file.Probes {
			if len(p.Locations) == 0 {
				t.Errorf("%s has no location", p)
			}
			for i := range p.Locations {
				loc := &p.Locations[i]
				if loc.Err == nil && (loc.Offset >= uint64(len(image)) || loc.RefCtrOffset+2 > uint64(len(image))) {
					t.Errorf("%s: location at %#x, semaphore at %#x of a file of %#x bytes", p, loc.Offset, loc.RefCtrOffset, len(image))
				}
				if loc.Offset > 0 && loc.Address == 0 {
					t.Errorf("%s: location at %#x without an address", p, loc.Offset)
				}
				if n := len(loc.Args()); p.Params != nil && n != len(p.Params) {
					t.Errorf("%s: %d arguments and %d parameters", p, n, len(p.Params))
				}
			}
		}
	})
}
