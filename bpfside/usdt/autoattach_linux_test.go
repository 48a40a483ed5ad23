package usdt_test

import (
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// A probe is not found because its notes cannot be read: the error tells both.
func TestAutoAttachTellsFaultOfFile(t *testing.T) {
	testutils.NeedBPF(t)
	notes := notesSection(t, stapsdt.X86_64, stapsdt.Note{Provider: "app", Name: "p", Location: 0x1000})
	notes.Flags = elf.SHF_COMPRESSED
	image := (&fabric{machine: stapsdt.X86_64, typ: elf.ET_DYN, size: fabricSize, sections: []fabricSection{notes}}).write(t)
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, image, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := usdt.NewCollection(&ebpf.CollectionSpec{Programs: map[string]*ebpf.ProgramSpec{"on_p": {
		Name: "on_p", Type: ebpf.Kprobe, License: "GPL", SectionName: "usdt/" + path + ":app:p",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = usdt.AutoAttach(c, nil)
	var fault *usdt.FileError
	if !errors.Is(err, usdt.ErrNoProbe) || !errors.As(err, &fault) || fault.Section != stapsdt.Section {
		t.Errorf("error %v, want that there is no such probe, and the fault of the section", err)
	}
}
