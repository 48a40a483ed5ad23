package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/internal/arity"
)

// The committed file is what the generator writes.
func TestGenerated(t *testing.T) {
	want, err := arity.Generate(file, elfgen.MaxArgs)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../probes.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("emit/probes.go is out of date: run go generate ./emit")
	}
}
