package usdt_test

import (
	"bytes"
	"errors"
	"fmt"
	"log"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// List the probes of a file, with names and types where the file tells them.
func ExampleNewFile() {
	obj, err := elfgen.Build(&elfgen.ProviderSpec{Name: "shop", Probes: []elfgen.ProbeSpec{
		{Name: "order", Args: []elfgen.ArgSpec{
			{Name: "id", Type: &elfgen.Type{Kind: elfgen.Int, Size: 8}},
			{Name: "item", Type: &elfgen.Type{Kind: elfgen.String}},
		}},
	}}, stapsdt.ARM64, elfgen.FormNop1)
	if err != nil {
		log.Fatal(err)
	}
	f, err := usdt.NewFile(bytes.NewReader(obj.Image), int64(len(obj.Image)))
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range f.Probes {
		fmt.Println(p, "for", f.Machine)
		for _, loc := range p.Locations {
			fmt.Println("  arguments:", loc.ArgString)
		}
		for _, param := range p.Params {
			fmt.Printf("  %s: %s of %d bytes\n", param.Name, param.Type.Kind, param.Type.Size)
		}
	}
	// Output:
	// shop:order for arm64
	//   arguments: -8@x0 8@x1
	//   id: int of 8 bytes
	//   item: string of 8 bytes
}

// Faults stand beside what was found.
func ExampleFileTargets() {
	res, err := usdt.FileTargets("/usr/bin/postgres", "postgresql:*")
	var none *usdt.NoProbeError
	if errors.As(err, &none) {
		fmt.Println("did you mean", none.Near)
	}
	for _, problem := range res.Problems {
		log.Print(problem)
	}
	for _, target := range res.Targets {
		fmt.Println(target)
	}
}

// Why is a probe not seen?
func ExampleDiagnose() {
	all, err := usdt.Diagnose("/nonexistent/libapp.so", &usdt.DiagnoseOptions{Pattern: "app:request"})
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range all {
		for _, c := range d.Checks {
			fmt.Printf("%s %s: %s\n", c.Severity, c.Step, c.Text)
		}
		fmt.Println("can be traced:", d.Fine())
	}
	// Output:
	// problem file: there is no file /nonexistent/libapp.so
	// can be traced: false
}
