// Modes fires a probe a number of times from many goroutines, while the garbage
// collector runs, stacks grow, and the profiler interrupts. TestBuildModes
// builds it in all the ways that Go programs are built, attaches, and counts.
//
// It says "ready PATH", where PATH is its object; reads a line; fires; says
// "done"; and ends after another line.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/pprof"
	"sync"

	"github.com/nopfire/nopfire/emit"
)

const (
	goroutines = 8
	each       = 2000
)

func main() { run() }

func run() {
	if err := fire(); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

func fire() error {
	debug.SetGCPercent(5)
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	app, err := emit.NewProvider("modes", nil)
	if err != nil {
		return err
	}
	tick, err := emit.NewProbe3[int64, string, *[64]uint64](app, "tick", nil)
	if err != nil {
		return err
	}
	if err := app.Load(); err != nil {
		return err
	}
	fmt.Println("ready", app.Backing().Path)
	in := bufio.NewScanner(os.Stdin)
	in.Scan()
	if !tick.Enabled() {
		return fmt.Errorf("not enabled while traced")
	}
	var wg sync.WaitGroup
	for g := range goroutines {
		if fireFromC != nil && g%2 == 0 {
			wg.Go(func() { fireFromC(each, func(n int64) { deep(tick, n, int(n)%40) }) })
			continue
		}
		wg.Go(func() {
			for n := range int64(each) {
				deep(tick, n, int(n)%40)
			}
		})
	}
	wg.Wait()
	fmt.Println("done")
	in.Scan()
	if tick.Enabled() {
		return fmt.Errorf("enabled after the tracer went")
	}
	if err := app.Close(); err != nil {
		return err
	}
	fmt.Println("closed")
	return nil
}

// fireFromC calls back n times from a thread that C made; nil without cgo.
var fireFromC func(n int64, call func(n int64))

// deep fires below some frames, with a pointer to the stack.
//
//go:noinline
func deep(tick *emit.Probe3[int64, string, *[64]uint64], n int64, depth int) {
	var local [64]uint64
	local[depth] = uint64(n)
	if depth > 0 {
		deep(tick, n, depth-1)
		return
	}
	garbage := make([]byte, 256)
	tick.Fire(n, string(garbage[:8]), &local)
}
