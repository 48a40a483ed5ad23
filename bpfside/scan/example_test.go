package scan_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/nopfire/nopfire/bpfside/scan"
	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

func ExampleFiles() {
	// A directory with one file that has a probe.
	dir, err := os.MkdirTemp("", "scan")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	obj, err := elfgen.Build(&elfgen.ProviderSpec{Name: "app", Probes: []elfgen.ProbeSpec{{Name: "request"}}},
		stapsdt.X86_64, elfgen.FormNop5)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "libapp.so"), obj.Image, 0o644); err != nil {
		log.Fatal(err)
	}

	res, err := scan.Files(context.Background(), []string{dir}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range res.Files {
		for _, p := range f.Probes {
			fmt.Println(filepath.Base(f.Path), p)
		}
	}
	// Output: libapp.so app:request
}
