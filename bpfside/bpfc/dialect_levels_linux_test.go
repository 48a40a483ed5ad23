package bpfc_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf/features"

	"github.com/nopfire/nopfire/bpfside/bpfc"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// What a program does depends neither on the level of the instruction set that it is
// compiled for, nor on what the verifier of an older kernel has to be helped with.
func TestDialectLevels(t *testing.T) {
	testutils.NeedBPF(t)
	for _, level := range []struct {
		name string
		opts bpfc.Options
		need func() error
	}{
		{"v1", bpfc.Options{CPU: 1}, func() error { return nil }},
		{"v2", bpfc.Options{CPU: 2}, features.HaveV2ISA},
		{"v4", bpfc.Options{CPU: 4}, features.HaveV4ISA},
		{"v3 for 6.1", bpfc.Options{CPU: 3, KernelVersion: 6<<16 | 1<<8}, features.HaveV3ISA},
	} {
		t.Run(level.name, func(t *testing.T) {
			if err := level.need(); err != nil {
				testutils.SkipOrFail(t, "%v", err)
			}
			for _, path := range dialectFiles(t) {
				name := strings.TrimSuffix(filepath.Base(path), ".bpf.c")
				t.Run(name, func(t *testing.T) {
					f, err := readDialect(path)
					if err != nil {
						t.Fatal(err)
					}
					f.needKernel(t)
					f.parallel(t)
					object, err := bpfc.CompileELF(context.Background(), os.DirFS("."), path, &level.opts)
					if level.opts.CPU < 3 && f.needs >= 3 {
						if err == nil || !strings.Contains(err.Error(), "v3") {
							t.Errorf("for v%d: %v, and not that it needs v3", level.opts.CPU, err)
						}
						return
					}
					if err != nil {
						t.Fatalf("bpfc: %v", err)
					}
					spec, err := usdt.LoadCollectionSpecFromReader(bytes.NewReader(object))
					if err != nil {
						t.Fatal(err)
					}
					f.check(t, f.execute(t, spec))
				})
			}
		})
	}
}
