// Command urdtfire fires tracepoints by name when it is told to, one command a line:
//
//	set               what testprogs/urdtobj/rfc.c fires
//	two NAME A B      dyn:NAME with two arguments
//	storm THREADS ROUNDS NAMES  storm:n0 … with one argument, ROUNDS times each from
//	                            each thread, and storm:Aa as often
//
// It says where its object is, and "fired" after each command. peer.c and peer.py do
// the same.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/nopfire/nopfire/urdt"
)

func main() {
	// Told to be plain, it calls nothing but the functions that take names.
	typed := new(urdt.Handle2[int32, string])
	if len(os.Args) == 1 {
		typed = urdt.Must(urdt.New2[int32, string]("dyn", "typed"))
		fmt.Println(urdt.Scope().Path)
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		f := strings.Fields(in.Text())
		n := func(i int) int {
			v, err := strconv.Atoi(f[i])
			if err != nil {
				panic(err)
			}
			return v
		}
		switch f[0] {
		case "set":
			set()
		case "two":
			urdt.Probe2("dyn", f[1], n(2), n(3))
		case "typed":
			typed.Fire(int32(n(1)), f[2])
		case "storm":
			storm(n(1), n(2), n(3))
		}
		fmt.Println("fired")
	}
}

func set() {
	urdt.Probe0("dyn", "basic")
	urdt.Probe3("dyn", "urdt3", 1, 42, uint64(0x7fff12345678))
	urdt.Probe3("dyn", "urdt3alt", -1, -2, -3)
	urdt.Probe3("dyn", "urdt3", 1, 42, uint64(0x7fff12345678))
	urdt.Probe4("dyn", "shared", -4, int64(1)<<62, 77, 4)
	urdt.Probe11("dyn", "urdt11", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
}

func storm(threads, rounds, names int) {
	var wg sync.WaitGroup
	for range threads {
		wg.Go(func() {
			runtime.LockOSThread()
			for r := range rounds {
				for i := range names {
					urdt.Probe1("storm", "n"+strconv.Itoa(i), r)
				}
				urdt.Probe1("storm", "Aa", r)
			}
		})
	}
	wg.Wait()
}
