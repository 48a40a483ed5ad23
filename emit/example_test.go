package emit_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/nopfire/nopfire/emit"
)

// A program defines its probes, loads them, and fires. Nobody traces this
// example, so nothing but the handles' state is to be seen.
func ExampleProvider() {
	app, err := emit.NewProvider("myapp", nil)
	if err != nil {
		fmt.Println(err)
	}
	defer app.Close()
	start, err := emit.NewProbe0(app, "start", nil)
	if err != nil {
		fmt.Println(err)
	}
	request, err := emit.NewProbe2[int, string](app, "request", &emit.ProbeOptions{Args: []string{"status", "path"}})
	if err != nil {
		fmt.Println(err)
	}
	// Without an operating system that can, the handles stay inert, and the
	// program runs on.
	if err := app.Load(); err != nil && !errors.Is(err, emit.ErrNotSupported) {
		fmt.Println(err)
	}

	start.Fire()
	request.Fire(200, "/index.html")
	fmt.Println("traced:", start.Enabled(), request.Enabled())
	// Output:
	// traced: false false
}

// Probes in package variables are made with Must: whether their definitions are
// right does not depend on the run.
func ExampleMust() {
	app := emit.Must(emit.NewProvider("myapp", nil))
	done := emit.Must(emit.NewProbe1[error](app, "done", nil))
	done.Fire(nil) // inert before Load

	defer func() { fmt.Println(recover()) }()
	emit.Must(emit.NewProbe1[chan int](app, "jobs", nil))
	// Output:
	// emit: spec of provider "myapp": probe "jobs": argument number 1: type chan int cannot travel
}

// FireFunc computes the arguments only if somebody traces the probe.
func ExampleProbe2_FireFunc() {
	app := emit.Must(emit.NewProvider("myapp", nil))
	defer app.Close()
	state := emit.Must(emit.NewProbe2[int, string](app, "state", nil))
	if err := app.Load(); err != nil && !errors.Is(err, emit.ErrNotSupported) {
		fmt.Println(err)
	}
	words := []string{"costly", "to", "join"}
	state.FireFunc(func() (int, string) {
		fmt.Println("never printed: nobody traces")
		return len(words), strings.Join(words, " ")
	})
	// Output:
}

// A dynamic probe has arguments decided at run time. Mistakes show whether or
// not somebody traces.
func ExampleNewProbe() {
	type job struct{ ID, Size int }
	app := emit.Must(emit.NewProvider("myapp", nil))
	defer app.Close()
	columns := []emit.Arg{
		{Name: "id", Type: emit.Int64},
		{Name: "name", Type: emit.String},
		{Name: "job", Type: emit.Pointer, Elem: reflect.TypeFor[job]()},
	}
	row, err := emit.NewProbe(app, "row", columns, nil)
	if err != nil {
		fmt.Println(err)
	}
	if err := app.Load(); err != nil && !errors.Is(err, emit.ErrNotSupported) {
		fmt.Println(err)
	}
	fmt.Println(row.Fire(7, "seven", &job{7, 70}))
	fmt.Println(row.Fire(8, "eight"))
	fmt.Println(row.Fire("nine", 9, nil))
	// Output:
	// <nil>
	// fire myapp:row: 2 values for 3 arguments
	// fire myapp:row: argument id: string does not fit Int64
}
