// Command seedgo is the program of the seed scenario with its probe made at run
// time: seed:loop_iter(i, msg), with a semaphore, as testprogs/seed has it.
//
// Its first line is "ready PATH", where the probe is. Then each line on standard
// input is a command; the answer is one line.
//
//	enabled   is the probe traced?            → enabled 0 or enabled 1
//	fire N    fire N times, i from 0          → fired N
//
// It ends at the end of its input.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"

	"github.com/nopfire/nopfire/emit"
)

// The probe is fired by the main thread, whose id is that of the process.
func init() { runtime.LockOSThread() }

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "seedgo:", err)
		os.Exit(1)
	}
}

// run makes the probe, in a file below the directory that args may name, and obeys.
func run(args []string) error {
	var opts emit.Options
	if len(args) > 0 {
		opts = emit.Options{Backing: emit.BackingFile, Dir: args[0]}
	}
	p, err := emit.NewProvider("seed", &opts)
	if err != nil {
		return err
	}
	loop, err := emit.NewProbe2[int32, string](p, "loop_iter", &emit.ProbeOptions{Args: []string{"i", "msg"}, Semaphore: true})
	if err != nil {
		return err
	}
	if err := p.Load(); err != nil {
		return err
	}
	defer p.Close()

	fmt.Println("ready", p.Backing().Path)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var n int32
		switch line := in.Text(); {
		case line == "enabled":
			enabled := 0
			if loop.Enabled() {
				enabled = 1
			}
			fmt.Println("enabled", enabled)
		default:
			if _, err := fmt.Sscanf(line, "fire %d", &n); err != nil {
				return fmt.Errorf("command %q: %w", line, err)
			}
			for i := range n {
				loop.Fire(i, fmt.Sprintf("message %d", i))
			}
			fmt.Println("fired", n)
		}
	}
	return nil
}
