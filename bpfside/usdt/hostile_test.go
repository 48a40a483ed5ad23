package usdt_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// measure returns the time that f takes and the bytes that it allocates, which
// are no fewer than it has at any one time.
func measure(f func()) (time.Duration, uint64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	f()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	return took, after.TotalAlloc - before.TotalAlloc
}

// Files that are made to cost time or memory cost what their size allows: before
// their limits, each of these took minutes or gigabytes.
func TestHostileFilesAreCheap(t *testing.T) {
	const m = stapsdt.X86_64
	le := binary.LittleEndian
	both := []elf.ProgHeader{codeSegment, dataSegment}
	note := func(name, args string) stapsdt.Note {
		return stapsdt.Note{Provider: "app", Name: name, Location: 0x11010, Args: args}
	}
	plain := func(sections ...fabricSection) []byte {
		return (&fabric{machine: m, typ: elf.ET_DYN, size: fabricSize, segments: both, sections: sections}).write(t)
	}
	args := func(s string) func() []byte {
		return func() []byte { return plain(notesSection(t, m, note("p", s))) }
	}
	long := strings.Repeat("x", 1<<20)
	table := func(name string, typ elf.SectionType, link uint32, data []byte) fabricSection {
		return fabricSection{SectionHeader: elf.SectionHeader{Name: name, Type: typ, Link: link}, data: data}
	}
	for _, tc := range []struct {
		name string
		file func() []byte
	}{
		{"20,000 sections name one megabyte", func() []byte {
			image := plain(append(make([]fabricSection, 20_000), table(long, elf.SHT_PROGBITS, 0, nil))...)
			shoff := le.Uint64(image[40:])
			for i := range uint64(20_000) {
				le.PutUint32(image[shoff+64*(i+1):], 20_010) // into the long name, which stands behind the empty ones
			}
			return image
		}},
		{"3,000 symbol tables over one megabyte", func() []byte {
			sections := []fabricSection{
				notesSection(t, m, note("p", "4@v(%rip)")), table(".strtab", elf.SHT_STRTAB, 0, []byte("\x00v\x00")),
				table(".symtab", elf.SHT_SYMTAB, 2, make([]byte, 1<<20)),
			}
			for range 3000 {
				sections = append(sections, table(".symtab", elf.SHT_SYMTAB, 2, nil))
			}
			image := plain(sections...)
			shoff := le.Uint64(image[40:])
			for i := range uint64(3000) {
				copy(image[shoff+64*(i+4)+24:], image[shoff+64*3+24:shoff+64*3+40])
			}
			return image
		}},
		{"100,000 symbols name one megabyte", func() []byte {
			var syms []byte
			for i := range uint32(100_000) {
				syms = le.AppendUint32(syms, 1+i)
				syms = append(syms, 0x12, 0, 1, 0) // global function in section 1
				syms = le.AppendUint64(le.AppendUint64(syms, 0x11000), 1)
			}
			return plain(notesSection(t, m, note("p", "4@v(%rip)")), table(".symtab", elf.SHT_SYMTAB, 3, syms),
				table(".strtab", elf.SHT_STRTAB, 0, []byte("\x00"+long+"\x00")))
		}},
		{"100,000 tags with one megabyte", func() []byte {
			text := "\x00nopfire:probe=" + long + "\x00"
			var types []byte
			for range 100_000 {
				types = le.AppendUint32(types, 1)
				types = le.AppendUint32(types, 17<<24) // DECL_TAG
				types = le.AppendUint32(le.AppendUint32(types, 1), 1<<32-1)
			}
			head := []byte{0x9f, 0xeb, 1, 0}
			for _, v := range []int{24, 0, len(types), len(types), len(text)} {
				head = le.AppendUint32(head, uint32(v))
			}
			return plain(notesSection(t, m, note("p", "")), table(".BTF", elf.SHT_PROGBITS, 0, append(append(head, types...), text...)))
		}},
		{"a megabyte of open brackets", args(strings.Repeat("8@[ ", 1<<18))},
		{"a megabyte of brackets and blanks", args(strings.Repeat("[ ", 1<<19))},
		{"a megabyte of digits and blanks in brackets", args("[" + strings.Repeat("1 ", 1<<19))},
		{"a megabyte of commas", args("8@(" + strings.Repeat(",", 1<<20) + ")")},
		{"a megabyte of sums", args("8@" + strings.Repeat("1+", 1<<19) + "1(%rax)")},
		{"a megabyte of arguments", args(strings.Repeat("8@x(%rip) ", 1<<17))},
		{"200 segments before 100,000 notes", func() []byte {
			s := notesSection(t, m, note("p", ""))
			s.data = bytes.Repeat(s.data, 100_000)
			f := &fabric{machine: m, typ: elf.ET_DYN, size: fabricSize, sections: []fabricSection{s}}
			for range 200 {
				f.segments = append(f.segments, elf.ProgHeader{Type: elf.PT_LOAD, Flags: elf.PF_R | elf.PF_X, Vaddr: 0x1000, Filesz: 1})
			}
			return f.write(t)
		}},
		{"100,000 discarded probes", func() []byte {
			s := notesSection(t, m, stapsdt.Note{Provider: "app", Name: "dead"})
			s.data = bytes.Repeat(s.data, 100_000)
			return plain(s)
		}},
		{"more sections than there can be", func() []byte {
			image := plain(notesSection(t, m, note("p", "")))
			shoff := le.Uint64(image[40:])
			le.PutUint16(image[60:], 0)               // the number stands in the first section
			le.PutUint64(image[shoff+32:], 1<<32)     // its sh_size
			return append(image, make([]byte, 64)...) // not the end of the file
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			image := tc.file()
			var f *usdt.File
			var err error
			took, size := measure(func() {
				if f, err = usdt.NewFile(bytes.NewReader(image), int64(len(image))); err != nil {
					return
				}
				for _, p := range f.Probes {
					for i := range p.Locations {
						if i < 10 {
							_ = fmt.Sprint(p.Locations[i].Args())
						}
					}
				}
			})
			// What they take on a quiet machine is below 0.1 s and 100 MB.
			if took > 5*time.Second || size > 300<<20 {
				t.Errorf("%d bytes took %s and %d MB", len(image), took, size>>20)
			}
			probes := 0
			if f != nil {
				probes = len(f.Probes)
			}
			t.Logf("%d bytes: %s, %d MB, %d probes, error %v", len(image), took, size>>20, probes, err)
		})
	}
}

// 400,000 notes fit the memory that they are promised; the time is that of
// BenchmarkNewFile400k.
func TestManyNotes(t *testing.T) {
	const n = 400_000
	image := manyNotes(t, n)
	var f *usdt.File
	took, size := measure(func() { f = open(t, image) })
	if len(f.Probes) != n || len(f.Problems) > 0 {
		t.Errorf("%d probes, problems %v", len(f.Probes), f.Problems)
	}
	if size > 300<<20 || took > 10*time.Second {
		t.Errorf("%d notes took %s and %d MB", n, took, size>>20)
	}
	t.Logf("%d notes: %s, %d MB", n, took, size>>20)
}
