package stapsdt

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// record lays a note record out by field.
func record(order binary.AppendByteOrder, owner string, typ uint32, desc string) string {
	b := order.AppendUint32(nil, uint32(len(owner)))
	b = order.AppendUint32(b, uint32(len(desc)))
	b = order.AppendUint32(b, typ)
	return string(b) + pad(owner) + pad(desc)
}

func pad(s string) string { return s + strings.Repeat("\x00", -len(s)&3) }

const (
	owner = "stapsdt\x00"
	// Three addresses of 8 bytes, little endian.
	addrs = "\x10\x11\x00\x00\x00\x00\x00\x00" +
		"\x00\x20\x00\x00\x00\x00\x00\x00" +
		"\x04\x30\x00\x00\x00\x00\x00\x00"
)

// notesTable is the encoding, both ways.
var notesTable = []struct {
	name    string
	machine Machine
	note    Note
	bytes   string
}{
	{
		"64 bits, little endian", X86_64,
		Note{Provider: "prov", Name: "probe", Location: 0x1110, Base: 0x2000, Semaphore: 0x3004, Args: "-4@%eax 8@%rdi"},
		"\x08\x00\x00\x00" + "\x32\x00\x00\x00" + "\x03\x00\x00\x00" +
			"stapsdt\x00" + addrs + "prov\x00" + "probe\x00" + "-4@%eax 8@%rdi\x00" + "\x00\x00",
	},
	{
		"64 bits, big endian, no arguments", S390X,
		Note{Provider: "p", Name: "q", Location: 0x1110, Base: 0x2000},
		"\x00\x00\x00\x08" + "\x00\x00\x00\x1d" + "\x00\x00\x00\x03" + "stapsdt\x00" +
			"\x00\x00\x00\x00\x00\x00\x11\x10" + "\x00\x00\x00\x00\x00\x00\x20\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00" +
			"p\x00" + "q\x00" + "\x00" + "\x00\x00\x00",
	},
	{
		"32 bits, little endian", I386,
		Note{Provider: "p", Name: "q", Location: 0x8048110, Base: 0x80482a0, Semaphore: 0x804a01c, Args: "4@%ah"},
		"\x08\x00\x00\x00" + "\x16\x00\x00\x00" + "\x03\x00\x00\x00" + "stapsdt\x00" +
			"\x10\x81\x04\x08" + "\xa0\x82\x04\x08" + "\x1c\xa0\x04\x08" +
			"p\x00" + "q\x00" + "4@%ah\x00" + "\x00\x00",
	},
	{
		"32 bits, big endian", ARMBE,
		Note{Provider: "p", Name: "q", Location: 1, Base: 2, Semaphore: 3, Args: "4@r0"},
		"\x00\x00\x00\x08" + "\x00\x00\x00\x15" + "\x00\x00\x00\x03" + "stapsdt\x00" +
			"\x00\x00\x00\x01" + "\x00\x00\x00\x02" + "\x00\x00\x00\x03" +
			"p\x00" + "q\x00" + "4@r0\x00" + "\x00\x00\x00",
	},
}

func TestAppendNote(t *testing.T) {
	for _, row := range notesTable {
		got, err := AppendNote([]byte("front"), row.machine, &row.note)
		if err != nil || string(got) != "front"+row.bytes {
			t.Errorf("%s: %v\n got %q\nwant %q", row.name, err, got, "front"+row.bytes)
		}
		if n := NoteSize(row.machine, &row.note); n != len(row.bytes) {
			t.Errorf("%s: size %d, want %d", row.name, n, len(row.bytes))
		}
	}
}

func TestAppendNoteErrors(t *testing.T) {
	for _, row := range []struct {
		machine Machine
		note    Note
		want    string
	}{
		{Machine(0), Note{}, "unknown machine"},
		{X86_64, Note{Provider: "a\x00b"}, "NUL"},
		{X86_64, Note{Name: "\x00"}, "NUL"},
		{X86_64, Note{Args: "8@%rax\x00"}, "NUL"},
		{I386, Note{Location: 1 << 32}, "exceeds 32 bits"},
		{ARM, Note{Semaphore: 1 << 40}, "exceeds 32 bits"},
	} {
		got, err := AppendNote([]byte("x"), row.machine, &row.note)
		if err == nil || !strings.Contains(err.Error(), row.want) || string(got) != "x" {
			t.Errorf("%s %+v: %q, %v", row.machine, row.note, got, err)
		}
	}
	if _, err := AppendNote(nil, 0, &Note{}); !errors.Is(err, ErrMachine) {
		t.Errorf("unknown machine: %v", err)
	}
}

// A result is what one step of Notes gives.
type result struct {
	name  string // of the note
	fault string // part of the error
	off   int
}

func TestNotes(t *testing.T) {
	le := binary.LittleEndian
	good := record(le, owner, 3, addrs+"p\x00good\x00\x00")
	size := len(good)
	for _, row := range []struct {
		name  string
		bytes string
		want  []result
	}{
		{"empty section", "", nil},
		{"one", good, []result{{name: "good"}}},
		{"two", good + good, []result{{name: "good"}, {name: "good"}}},
		{"padding at the end", good + "\x00\x00\x00\x00", []result{{name: "good"}}},
		{"last one not padded", strings.TrimRight(record(le, owner, 3, addrs+"p\x00good\x00x\x00"), "\x00") + "\x00", []result{{name: "good"}}},
		{"bytes behind the arguments", record(le, owner, 3, addrs+"p\x00good\x00\x00more"), []result{{name: "good"}}},
		{"another owner", record(le, "GNU\x00", 3, "x") + good, []result{{name: "good"}}},
		{"owner without NUL", record(le, "stapsdt", 3, "x") + good, []result{{name: "good"}}},
		{"owner with padding", record(le, "stapsdt\x00\x00", 3, "x") + good, []result{{name: "good"}}},
		{"no owner, no content", record(le, "", 0, "") + good, []result{{name: "good"}}},
		{"another type", record(le, owner, 4, "x") + good, []result{{name: "good"}}},

		{"short addresses", record(le, owner, 3, addrs[:23]) + good,
			[]result{{fault: "descriptor of 23 bytes", off: 20}, {name: "good"}}},
		{"provider open", record(le, owner, 3, addrs+"p") + good,
			[]result{{fault: "provider not terminated", off: 20 + 24}, {name: "good"}}},
		{"name open", record(le, owner, 3, addrs+"p\x00q") + good,
			[]result{{fault: "name not terminated", off: 20 + 26}, {name: "good"}}},
		{"arguments open", good + record(le, owner, 3, addrs+"p\x00q\x00-4@%eax") + good,
			[]result{{name: "good"}, {name: "q", fault: "arguments not terminated", off: size + 20 + 28}, {name: "good"}}},

		{"header cut", good + "\x08\x00\x00\x00",
			[]result{{name: "good"}, {fault: "4 bytes left", off: size}}},
		{"record cut", good + good[:size-4],
			[]result{{name: "good"}, {fault: "exceeds the section", off: size}}},
		{"huge name", good + "\xff\xff\xff\xff" + "\xff\xff\xff\xff" + "\x03\x00\x00\x00" + good,
			[]result{{name: "good"}, {fault: "exceeds the section", off: size}}},
	} {
		var got []result
		for n, err := range Notes(X86_64, []byte(row.bytes)) {
			r := result{name: n.Name}
			if err != nil {
				var fe *FormatError
				if !errors.As(err, &fe) {
					t.Fatalf("%s: %T", row.name, err)
				}
				r.off, r.fault = fe.Off, fe.Error()
			}
			got = append(got, r)
		}
		ok := len(got) == len(row.want)
		for i := 0; ok && i < len(got); i++ {
			w := row.want[i]
			ok = got[i].name == w.name && got[i].off == w.off && (got[i].fault != "") == (w.fault != "") &&
				strings.Contains(got[i].fault, w.fault)
		}
		if !ok {
			t.Errorf("%s:\n got %+v\nwant %+v", row.name, got, row.want)
		}
	}
}

func TestNotesReadsWhatAppendWrites(t *testing.T) {
	for _, row := range notesTable {
		n := 0
		for got, err := range Notes(row.machine, []byte(row.bytes+row.bytes)) {
			want := row.note
			want.Off = n * len(row.bytes)
			n++
			if err != nil || got != want {
				t.Errorf("%s: %+v, %v", row.name, got, err)
			}
		}
		if n != 2 {
			t.Errorf("%s: %d notes", row.name, n)
		}
		for range Notes(row.machine, []byte(row.bytes+row.bytes)) {
			break // must not go on
		}
	}
	for _, err := range Notes(Machine(99), []byte("x")) {
		if !errors.Is(err, ErrMachine) {
			t.Errorf("unknown machine: %v", err)
		}
	}
}

func TestAdjusted(t *testing.T) {
	for _, row := range []struct {
		name string
		note Note
		base uint64
		loc  uint64
		sem  uint64
	}{
		{"not moved", Note{Location: 0x1000, Base: 0x500, Semaphore: 0x2000}, 0x500, 0x1000, 0x2000},
		{"moved up", Note{Location: 0x1000, Base: 0x500, Semaphore: 0x2000}, 0x700, 0x1200, 0x2200},
		{"moved down", Note{Location: 0x1000, Base: 0x500, Semaphore: 0x2000}, 0x400, 0xf00, 0x1f00},
		{"no semaphore", Note{Location: 0x1000, Base: 0x500}, 0x700, 0x1200, 0},
		{"no base section", Note{Location: 0x1000, Base: 0x500, Semaphore: 0x2000}, 0, 0x1000, 0x2000},
		{"no base in the note", Note{Location: 0x1000, Semaphore: 0x2000}, 0x700, 0x1000, 0x2000},
		{"tombstone", Note{Base: 0x500}, 0x700, 0, 0},
	} {
		got := row.note.Adjusted(row.base)
		if got.Location != row.loc || got.Semaphore != row.sem || got.Base != row.note.Base {
			t.Errorf("%s: %+v", row.name, got)
		}
		if got.Tombstone() != (row.name == "tombstone") {
			t.Errorf("%s: tombstone %v", row.name, got.Tombstone())
		}
	}
}

func TestMachineOf(t *testing.T) {
	for m := X86_64; m <= MIPS64LE; m++ {
		got, ok := MachineOf(m.ELFMachine(), m.WordSize(), m.ByteOrder())
		if !ok || got != m {
			t.Errorf("%s: %s, %v", m, got, ok)
		}
	}
	for _, row := range []struct {
		elf   uint16
		word  int
		order binary.ByteOrder
	}{{62, 4, binary.LittleEndian}, {62, 8, binary.BigEndian}, {0, 0, nil}, {9999, 8, binary.LittleEndian}} {
		if m, ok := MachineOf(row.elf, row.word, row.order); ok {
			t.Errorf("%+v: %s", row, m)
		}
	}
	if s := Machine(200).String(); s != "unknown" {
		t.Errorf("machine 200 is %q", s)
	}
}

func FuzzNotes(f *testing.F) {
	for _, row := range notesTable {
		f.Add(uint8(row.machine), []byte(row.bytes))
		f.Add(uint8(row.machine), []byte(row.bytes + row.bytes)[:len(row.bytes)+20])
	}
	f.Add(uint8(X86_64), []byte("\xff\xff\xff\xff\xff\xff\xff\xff\x03\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, machine uint8, section []byte) {
		m := Machine(machine)
		steps := 0
		for n, err := range Notes(m, section) {
			if steps++; steps > len(section)/noteHeader+1 {
				t.Fatal("more records than fit")
			}
			if err != nil {
				var fe *FormatError
				if errors.As(err, &fe) && (fe.Off < 0 || fe.Off > len(section)) {
					t.Fatalf("fault at %d of %d bytes", fe.Off, len(section))
				}
				continue
			}
			// What was read can be written, and is read back the same.
			b, err := AppendNote(nil, m, &n)
			if err != nil {
				t.Fatal(err)
			}
			n.Off = 0
			for back, err := range Notes(m, b) {
				if err != nil || back != n {
					t.Fatalf("%+v became %+v, %v", n, back, err)
				}
			}
			_ = n.Adjusted(0x1000)
		}
	})
}
