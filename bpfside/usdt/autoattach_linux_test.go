package usdt_test

import (
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// sectionCollection loads a program that does nothing, in the given section.
func sectionCollection(t *testing.T, section string) *usdt.Collection {
	t.Helper()
	testutils.NeedBPF(t)
	c, err := usdt.NewCollection(&ebpf.CollectionSpec{Programs: map[string]*ebpf.ProgramSpec{"on_p": {
		Name: "on_p", Type: ebpf.Kprobe, License: "GPL", SectionName: section,
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// A probe is not found because its notes cannot be read: the error tells both.
func TestAutoAttachTellsFaultOfFile(t *testing.T) {
	notes := notesSection(t, stapsdt.X86_64, stapsdt.Note{Provider: "app", Name: "p", Location: 0x1000})
	notes.Flags = elf.SHF_COMPRESSED
	image := (&fabric{machine: stapsdt.X86_64, typ: elf.ET_DYN, size: fabricSize, sections: []fabricSection{notes}}).write(t)
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, image, 0o600); err != nil {
		t.Fatal(err)
	}
	c := sectionCollection(t, "usdt/"+path+":app:p")
	_, err := usdt.AutoAttach(c, nil)
	var fault *usdt.FileError
	if !errors.Is(err, usdt.ErrNoProbe) || !errors.As(err, &fault) || fault.Section != stapsdt.Section {
		t.Errorf("error %v, want that there is no such probe, and the fault of the section", err)
	}
}

// Of two locations one can be attached to: the other is told of, with the program.
func TestAutoAttachTellsLeftOut(t *testing.T) {
	const m = stapsdt.X86_64
	if host, ok := usdt.HostMachine(); !ok || host != m {
		t.Skip("the file is for x86-64")
	}
	at := codeSegment.Vaddr + 0x10
	notes := notesSection(t, m, stapsdt.Note{Provider: "app", Name: "p", Location: at}, stapsdt.Note{Provider: "app", Name: "p", Location: 0x7fff0000})
	f := &fabric{machine: m, typ: elf.ET_DYN, size: fabricSize, segments: []elf.ProgHeader{codeSegment}, sections: []fabricSection{notes}}
	image := f.write(t)
	image[codeSegment.Off+0x10] = 0x90 // nop
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, image, 0o600); err != nil {
		t.Fatal(err)
	}
	c := sectionCollection(t, "usdt/"+path+":app:p")
	a, err := usdt.AutoAttach(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if len(a.Links["on_p"]) != 1 {
		t.Errorf("links %v", a.Links)
	}
	if len(a.Problems) != 1 || !errors.Is(a.Problems[0], usdt.ErrNotExecutable) || !strings.Contains(a.Problems[0].Error(), "program on_p") {
		t.Errorf("problems %v, want the location that is not in the program, and whose program", a.Problems)
	}

	res, err := usdt.FileTargets(path, "app:p")
	if err != nil {
		t.Fatal(err)
	}
	prog := c.Programs["on_p"]
	c.Close()
	if _, err := usdt.AttachUSDT(prog, res.Targets[0], nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("attach a closed program: %v, want %v", err, os.ErrClosed)
	}
}
