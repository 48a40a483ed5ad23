package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/nopfire/nopfire/internal/arity"
	"github.com/nopfire/nopfire/urdt/abi"
)

// The committed file is what the generator writes.
func TestGenerated(t *testing.T) {
	want, err := arity.Generate(file, abi.MaxArgs)
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("../../probes.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Error("urdt/probes.go is old: run go generate ./urdt")
	}
}
