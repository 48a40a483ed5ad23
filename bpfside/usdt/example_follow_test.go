package usdt_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// Tell which processes have the probes of an application, now and later. To trace
// them see trace.Start, or attach to Added with AttachUSDT and close
// the links of Removed.
func ExampleFollower() {
	f, err := usdt.NewFollower(nil, "myapp:*")
	if errors.Is(err, usdt.ErrNotSupported) {
		fmt.Println("not here:", err)
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	if err := f.Polling(); err != nil {
		log.Print("probes are found late: ", err) // names the missing capability
	}

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	for change := range f.Changes(ctx) { // the first comes at once
		for _, t := range change.Added {
			fmt.Println("added", t, "in", t.Path, "of processes", t.PIDs)
		}
		for _, t := range change.Removed {
			fmt.Println("removed", t, "in", t.Path)
		}
		for _, err := range change.Problems {
			log.Print(err)
		}
	}
	fmt.Println("done")
	// Output: done
}

// Find the probes of every process, each file once.
func ExampleAllTargets() {
	res, err := usdt.AllTargets("postgresql:transaction__*")
	if errors.Is(err, usdt.ErrNoProbe) {
		fmt.Println(err) // with near names
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range res.Targets {
		fmt.Println(t, t.Path, t.PIDs)
	}
}

// Find the probes of a library by its name.
func ExampleLibraryPath() {
	path, err := usdt.LibraryPath("stdc++")
	if errors.Is(err, os.ErrNotExist) {
		fmt.Println("not installed")
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	res, err := usdt.FileTargets(path, "libstdcxx:throw")
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range res.Targets {
		fmt.Println(t, len(t.Locations))
	}
}
