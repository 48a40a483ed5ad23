package usdt_test

import (
	"debug/elf"
	"os"
	"path/filepath"
	"testing"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// No file makes a diagnosis panic, contradict itself or leave a fault without a remedy.
func FuzzDiagnose(f *testing.F) {
	const m = stapsdt.X86_64
	whole := &fabric{machine: m, typ: elf.ET_DYN, size: fabricSize, segments: []elf.ProgHeader{codeSegment, dataSegment},
		sections: []fabricSection{
			notesSection(f, m, stapsdt.Note{Provider: "app", Name: "p", Location: sickAt, Base: 0x12000, Semaphore: 0x23010, Args: "-4@%eax 8@%xmm0"}),
			baseSection(0x12000),
		}}
	image := whole.write(f)
	f.Add(image)
	f.Add(image[:0x1000])
	f.Add([]byte("#!/bin/sh\n"))
	f.Add([]byte("!<arch>\n"))
	f.Add([]byte(nil))
	path := filepath.Join(f.TempDir(), "file")
	f.Fuzz(func(t *testing.T, image []byte) {
		if err := os.WriteFile(path, image, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, pattern := range []string{"", "app:p"} {
			all, err := usdt.Diagnose(path, &usdt.DiagnoseOptions{Pattern: pattern})
			if err != nil || len(all) != 1 || len(all[0].Checks) == 0 {
				t.Fatalf("%+v, error %v", all, err)
			}
			d := all[0]
			faults := 0
			for _, c := range d.Checks {
				if c.Severity == usdt.Fault {
					faults++
					if c.Reason == "" || c.Remedy == "" {
						t.Errorf("fault without reason or remedy: %+v", c)
					}
				}
			}
			if d.Traceable < 0 || d.Traceable > d.Probes || faults == 0 && !d.Fine() {
				t.Errorf("%d of %d probes with %d faults: %+v", d.Traceable, d.Probes, faults, d.Checks)
			}
		}
	})
}
