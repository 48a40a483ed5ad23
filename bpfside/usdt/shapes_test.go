package usdt_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// machineArgs is an argument string of each machine with operands of every form,
// none of which is a fault.
var machineArgs = map[stapsdt.Machine]string{
	stapsdt.X86_64:   "-4@$-1 8@%r10 1@%ah 8@-8(%rbp,%rcx,4) 4@NBuffers(%rip)",
	stapsdt.I386:     "-4@$-1 4@%ecx 1@%ah 4@-8(%ebp,%ecx,4) 4@NBuffers@GOTOFF(%ebx)",
	stapsdt.ARM64:    "-4@-1 8@x10 -4@w3 8@[sp, 16] 8@[x1, x2, lsl 3] 4@[x0, #:lo12:NBuffers]",
	stapsdt.ARM:      "-4@#-1 4@r10 4@[fp, #-16] 4@[r1, r2]",
	stapsdt.ARMBE:    "-4@#-1 4@r10 4@[fp, #-16] 4@[r1, r2]",
	stapsdt.RISCV64:  "-4@-1 8@a0 8@-20(s0)",
	stapsdt.S390X:    "-4@-1 8@%r2 8@160(%r15) 8@8(%r1,%r2)",
	stapsdt.PPC64LE:  "-4@i-1 8@9 8@%r31 8@96(31) 8@3,9",
	stapsdt.PPC64:    "-4@i-1 8@9 8@%r31 8@96(31) 8@3,9",
	stapsdt.MIPS64:   "-4@-1 8@$4 8@16($29)",
	stapsdt.MIPS64LE: "-4@-1 8@$4 8@16($29)",
}

// Files of every machine, of 32 and 64 bits and either byte order, moved or not,
// are read on any host.
func TestOpenEveryMachine(t *testing.T) {
	for m := stapsdt.X86_64; m <= stapsdt.MIPS64LE; m++ {
		for _, typ := range []elf.Type{elf.ET_EXEC, elf.ET_DYN} {
			for _, moved := range []uint64{0, 0x1000} {
				t.Run(fmt.Sprintf("%s/%s/%#x", m, typ, moved), func(t *testing.T) {
					args := machineArgs[m]
					f := &fabric{machine: m, typ: typ, size: fabricSize, segments: []elf.ProgHeader{codeSegment, dataSegment},
						sections: []fabricSection{
							notesSection(t, m, stapsdt.Note{Provider: "app", Name: "here", Location: 0x11010 - moved, Base: 0x23300 - moved, Semaphore: 0x23020 - moved, Args: args}),
							baseSection(0x23300),
						}}
					got := open(t, f.write(t))
					if len(got.Problems) > 0 || len(got.Probes) != 1 {
						t.Fatalf("%d probes, problems %v", len(got.Probes), got.Problems)
					}
					want := usdt.Location{Machine: m, Address: 0x11010, Offset: 0x1010, Semaphore: 0x23020, RefCtrOffset: 0x2020, ArgString: args}
					if diff := cmp.Diff(want, got.Probes[0].Locations[0]); diff != "" {
						t.Errorf("-want +got:\n%s", diff)
					}
					for i, a := range got.Probes[0].Locations[0].Args() {
						if a.Err != nil {
							t.Errorf("argument %d: %v", i+1, a.Err)
						}
					}
				})
			}
		}
	}
}

// What is odd about a file costs what is odd, with the reason and the place.
func TestOpenOddShapes(t *testing.T) {
	const m = stapsdt.X86_64
	note := func(name string, loc, base, sem uint64) stapsdt.Note {
		return stapsdt.Note{Provider: "app", Name: name, Location: loc, Base: base, Semaphore: sem}
	}
	good := note("good", 0x11010, 0, 0)
	both := []elf.ProgHeader{codeSegment, dataSegment}
	allocated := notesSection(t, m, good)
	allocated.Flags, allocated.Addr = elf.SHF_ALLOC, 0x11800
	compressed := notesSection(t, m, note("lost", 0x11020, 0, 0))
	compressed.Flags = elf.SHF_COMPRESSED
	noBits := notesSection(t, m, note("lost", 0x11020, 0, 0))
	noBits.Type = elf.SHT_NOBITS
	wrap := codeSegment
	wrap.Vaddr, wrap.Filesz = 0xfffffffffffff000, 0x2000
	overlap := dataSegment
	overlap.Vaddr, overlap.Filesz, overlap.Memsz = 0x10000, 0x2000, 0x2000
	beyond := codeSegment
	beyond.Off = 0x10000000
	for _, tc := range []struct {
		name     string
		segments []elf.ProgHeader
		sections []fabricSection
		want     string   // the probes with the offsets of location and semaphore
		problems []string // a part of each
	}{
		{"allocated notes", both, []fabricSection{allocated}, "good 0x1010 0x0", nil},
		{"three sections of notes", both,
			[]fabricSection{notesSection(t, m, good), allocated, notesSection(t, m, note("more", 0x11020, 0, 0x23000))},
			"good 0x1010 0x0, good 0x1010 0x0, more 0x1020 0x2000", nil},
		{"one of two sections is compressed", both, []fabricSection{compressed, notesSection(t, m, good)},
			"good 0x1010 0x0", []string{"section is compressed"}},
		{"one of two sections is not in the file", both, []fabricSection{noBits, notesSection(t, m, good)},
			"good 0x1010 0x0", []string{"no bytes in the file"}},
		{"moved down", both, []fabricSection{notesSection(t, m, note("good", 0x21010, 0x33000, 0x33020)), baseSection(0x23000)},
			"good 0x1010 0x2020", nil},
		{"no base in the note: not moved", both, []fabricSection{notesSection(t, m, note("good", 0x11010, 0, 0x23020)), baseSection(0x29000)},
			"good 0x1010 0x2020", nil},
		{"no base in the file: not moved", both, []fabricSection{notesSection(t, m, note("good", 0x11010, 0x9000, 0x23020))},
			"good 0x1010 0x2020", nil},
		{"tombstone with a base", both, []fabricSection{notesSection(t, m, note("dead", 0, 0x9000, 0), good), baseSection(0x29000)},
			"good 0x1010 0x0", []string{"app:dead: the linker discarded"}},
		{"tombstone with a semaphore", both, []fabricSection{notesSection(t, m, note("dead", 0, 0, 0x23020), good)},
			"good 0x1010 0x0", []string{"app:dead: the linker discarded"}},
		{"last byte of the code", both, []fabricSection{notesSection(t, m, note("last", 0x11fff, 0, 0))}, "last 0x1fff 0x0", nil},
		{"first byte behind the code", both, []fabricSection{notesSection(t, m, note("behind", 0x12000, 0, 0))},
			"behind! 0x0 0x0", []string{"app:behind: location is not in an executable segment: address 0x12000"}},
		{"location in the data", both, []fabricSection{notesSection(t, m, note("data", 0x23000, 0, 0), good)},
			"data! 0x0 0x0, good 0x1010 0x0", []string{"app:data: location is not in an executable segment"}},
		{"last semaphore in the file", both, []fabricSection{notesSection(t, m, note("sem", 0x11010, 0, 0x237fe))}, "sem 0x1010 0x27fe", nil},
		{"semaphore half in the file", both, []fabricSection{notesSection(t, m, note("sem", 0x11010, 0, 0x237ff))},
			"sem! 0x1010 0x0", []string{"app:sem: semaphore is not in a writable segment"}},
		{"semaphore in .bss", both, []fabricSection{notesSection(t, m, note("sem", 0x11010, 0, 0x23880))},
			"sem! 0x1010 0x0", []string{"app:sem: semaphore is not in a writable segment"}},
		{"odd semaphore", both, []fabricSection{notesSection(t, m, note("sem", 0x11010, 0, 0x23021))},
			"sem! 0x1010 0x0", []string{"app:sem: semaphore is not aligned"}},
		{"no segments, as in an object file", nil, []fabricSection{notesSection(t, m, good)},
			"good! 0x0 0x0", []string{"not in an executable segment"}},
		{"segment around the end of the address space", []elf.ProgHeader{wrap, dataSegment}, []fabricSection{notesSection(t, m, note("w", 0x10, 0, 0))},
			"w! 0x0 0x0", []string{"not in an executable segment"}},
		{"segments overlap", []elf.ProgHeader{overlap, codeSegment}, []fabricSection{notesSection(t, m, note("both", 0x11010, 0, 0x11020))},
			"both! 0x1010 0x0", []string{"semaphore is not in a writable segment"}},
		{"segment beyond the file", []elf.ProgHeader{beyond, dataSegment}, []fabricSection{notesSection(t, m, good)},
			"good! 0x0 0x0", []string{"not in an executable segment"}},
		{"no notes in the section", both, []fabricSection{notesSection(t, m)}, "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := open(t, (&fabric{machine: m, typ: elf.ET_DYN, size: fabricSize, segments: tc.segments, sections: tc.sections}).write(t))
			var got []string
			for _, p := range f.Probes {
				for _, loc := range p.Locations {
					mark := ""
					if loc.Err != nil {
						mark = "!"
					}
					got = append(got, fmt.Sprintf("%s%s %#x %#x", p.Name, mark, loc.Offset, loc.RefCtrOffset))
				}
			}
			if got := strings.Join(got, ", "); got != tc.want {
				t.Errorf("locations %q, want %q", got, tc.want)
			}
			if len(f.Problems) != len(tc.problems) {
				t.Fatalf("problems %v, want %q", f.Problems, tc.problems)
			}
			for i, p := range f.Problems {
				var fe *usdt.FileError
				if !strings.Contains(p.Error(), tc.problems[i]) || !errors.As(p, &fe) || fe.Off <= 0 {
					t.Errorf("problem %v, want %q with an offset", p, tc.problems[i])
				}
			}
		})
	}
}

// A file that was cut off anywhere is an error or a fault that says where, or has
// lost nothing that concerns its probes.
func TestOpenTruncated(t *testing.T) {
	for _, m := range []stapsdt.Machine{stapsdt.X86_64, stapsdt.S390X} {
		image := build(t, m)
		whole := describeAll(open(t, image))
		refused, faults := 0, 0
		for n := range image {
			f, err := usdt.NewFile(bytes.NewReader(image[:n]), int64(n))
			var fe *usdt.FileError
			switch {
			case err != nil:
				refused++
				if !errors.As(err, &fe) || fe.Off < 0 || fe.Off > int64(len(image)) {
					t.Errorf("%s, %d of %d bytes: %v has no offset", m, n, len(image), err)
				}
			case len(f.Problems) > 0:
				faults++
				for _, p := range f.Problems {
					if !errors.As(p, &fe) || fe.Off < 0 || fe.Off > int64(len(image)) {
						t.Errorf("%s, %d of %d bytes: fault %v has no offset", m, n, len(image), p)
					}
				}
			case describeAll(f) != whole:
				t.Errorf("%s, %d of %d bytes: no error, and yet:\n%s", m, n, len(image), describeAll(f))
			}
		}
		t.Logf("%s: of %d lengths %d are refused, %d have faults", m, len(image), refused, faults)
	}
}

// describeAll prints all that was read of a file.
func describeAll(f *usdt.File) string {
	var b strings.Builder
	for _, p := range f.Probes {
		for _, loc := range p.Locations {
			fmt.Fprintf(&b, "%s %#x %#x %s %v\n", p, loc.Offset, loc.RefCtrOffset, loc.ArgString, loc.Err)
		}
	}
	return b.String() + describe(f)
}
