package stapsdt_test

import (
	"fmt"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

func ExampleParseArgs() {
	for _, a := range stapsdt.ParseArgs(stapsdt.X86_64, "-4@%edi 8@16(%rsp) 8@%bogus 1@%ah") {
		if a.Err != nil {
			fmt.Println(a.Err)
			continue
		}
		fmt.Printf("%d bytes, signed %v: base %q, value %d, shift %d\n",
			a.Size, a.Signed, a.Operand.Base, a.Operand.Value, a.Operand.Shift)
	}
	// Output:
	// 4 bytes, signed true: base "rdi", value 0, shift 0
	// 8 bytes, signed false: base "rsp", value 16, shift 0
	// argument "8@%bogus": unknown register "bogus"
	// 1 bytes, signed false: base "rax", value 0, shift 8
}

func ExampleNotes() {
	section, _ := stapsdt.AppendNote(nil, stapsdt.ARM64, &stapsdt.Note{
		Provider: "shop", Name: "sold", Location: 0x1000, Base: 0x500, Args: "8@x0 -4@x1",
	})
	for note, err := range stapsdt.Notes(stapsdt.ARM64, section) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		note = note.Adjusted(0x700) // the file was prelinked
		fmt.Printf("%s:%s at %#x: %s\n", note.Provider, note.Name, note.Location, note.Args)
	}
	// Output:
	// shop:sold at 0x1200: 8@x0 -4@x1
}
