//go:build amd64 || arm64

package emit_test

import (
	"fmt"
	"os"

	"github.com/nopfire/nopfire/emit"
)

// A shared file lets a tracer attach once for all processes that define the
// same probes.
func ExampleOptions_backing() {
	dir, err := os.MkdirTemp("", "nopfire-example")
	if err != nil {
		fmt.Println(err)
	}
	defer os.RemoveAll(dir)
	for range 2 {
		app := emit.Must(emit.NewProvider("fleet", &emit.Options{Backing: emit.BackingShared, Dir: dir}))
		defer app.Close()
		emit.Must(emit.NewProbe0(app, "tick", nil))
		if err := app.Load(); err != nil {
			fmt.Println(err)
		}
		if in := app.Backing(); in.Reason != nil {
			fmt.Println(in.Backing, "because", in.Reason)
		}
	}
	files, err := os.ReadDir(dir)
	fmt.Println(len(files), err)
	// Output:
	// 1 <nil>
}
