package elfgen_test

import (
	"errors"
	"fmt"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

func ExampleBuild() {
	spec := &elfgen.ProviderSpec{
		Name: "shop",
		Probes: []elfgen.ProbeSpec{{
			Name: "sold",
			Args: []elfgen.ArgSpec{
				{Name: "item", Type: &elfgen.Type{Kind: elfgen.String}},
				{Name: "count", Type: &elfgen.Type{Kind: elfgen.Int, Size: 4}},
			},
		}},
	}
	obj, err := elfgen.Build(spec, stapsdt.X86_64, elfgen.FormNop5)
	if err != nil {
		fmt.Println(err)
		return
	}
	site := obj.Sites[0]
	fmt.Printf("code of the site: % x\n", obj.Image[site.Entry:site.Entry+6])
	fmt.Printf("mapped r-x: %d bytes at offset %#x\n", obj.Text.Len, obj.Text.Off)
	// Output:
	// code of the site: 0f 1f 44 00 00 c3
	// mapped r-x: 16 bytes at offset 0x1000
}

func ExampleProviderSpec_Validate() {
	spec := &elfgen.ProviderSpec{Name: "my shop", Probes: []elfgen.ProbeSpec{{
		Name: "sold",
		Args: []elfgen.ArgSpec{{Name: "count", Type: &elfgen.Type{Kind: elfgen.Int, Size: 3}}},
	}}}
	err := spec.Validate()
	fmt.Println(err)
	var fault *elfgen.SpecError
	fmt.Println(errors.As(err, &fault), fault.Reason)
	// Output:
	// spec of provider "my shop": name contains a blank at byte 2
	// spec of provider "my shop": probe "sold": argument "count": integer of 3 bytes: 1, 2, 4 or 8
	// true name contains a blank at byte 2
}
