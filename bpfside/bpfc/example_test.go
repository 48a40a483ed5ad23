package bpfc_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"testing/fstest"

	"github.com/nopfire/nopfire/bpfside/bpfc"
	"github.com/nopfire/nopfire/bpfside/usdt"
)

// Compile a program, load it and attach what its sections name.
func ExampleCompile() {
	ctx := context.Background()
	spec, err := bpfc.Compile(ctx, os.DirFS("."), "trace.bpf.c", nil)
	if err != nil {
		fmt.Println("no program here")
		return
	}
	coll, err := usdt.NewCollection(spec, nil)
	if err != nil {
		log.Fatal(bpfc.Explain(spec, err)) // a refusal by the verifier, with the line of C
	}
	defer coll.Close()
	attached, err := usdt.AutoAttach(coll, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer attached.Close()
	// Output: no program here
}

// What is wrong with a program is shown as compilers do.
func ExampleDiagnostics() {
	program := fstest.MapFS{"prog.bpf.c": {Data: []byte(`#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
SEC("socket")
int prog(void *ctx)
{
	return packets;
}
`)}}
	_, err := bpfc.Compile(context.Background(), program, "prog.bpf.c", nil)
	var found bpfc.Diagnostics
	if errors.As(err, &found) {
		fmt.Println(len(found), "fault on line", found[0].Line)
	}
	// Output: 1 fault on line 6
}
