//go:build linux

// Urdtgo fires runtime-defined tracepoints for the tests, as its standard input
// says, and answers each line with one of its own:
//
//	fire N     fire app:request (N, -N) with a handle and by name: "ok"
//	texts N    fire app:texts (N, "text N") the same way: "ok"
//	loop WHAT N
//	           time N fires that nobody is to see: "NANOSECONDS" each, of
//	           processor time. WHAT is handle (bench:untraced with 3
//	           arguments), strings (the same by name), traced (other:probe)
//	           or empty
//	scope      the scope and path of the object
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"github.com/nopfire/nopfire/urdt"
)

var (
	request  = urdt.Must(urdt.New2[int, int]("app", "request"))
	texts    = urdt.Must(urdt.New2[int, string]("app", "texts"))
	untraced = urdt.Must(urdt.New3[int, int, int]("bench", "untraced"))
	traced   = urdt.Must(urdt.New3[int, int, int]("other", "probe"))
)

func main() {
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var what, which string
		var n int
		if k, _ := fmt.Sscan(in.Text(), &what, &n); k < 2 {
			fmt.Sscan(in.Text(), &what, &which, &n)
		}
		switch what {
		case "fire":
			request.Fire(n, -n)
			urdt.Probe2("app", "request", n, -n)
			fmt.Println("ok")
		case "texts":
			texts.Fire(n, fmt.Sprint("text ", n))
			urdt.Probe2("app", "texts", n, fmt.Sprint("text ", n))
			fmt.Println("ok")
		case "loop":
			fmt.Println(loop(which, n))
		case "scope":
			s := urdt.Scope()
			fmt.Println(s.Reach, s.Path)
		default:
			fmt.Println("what?")
		}
	}
}

// loop returns the time of a fire on the processor, in nanoseconds.
func loop(what string, n int) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := used()
	switch what {
	case "handle":
		for i := range n {
			untraced.Fire(i, 2, 3)
		}
	case "strings":
		for i := range n {
			urdt.Probe3("bench", "untraced", i, 2, 3)
		}
	case "traced":
		for i := range n {
			traced.Fire(i, 2, 3)
		}
	default:
		for range n {
		}
	}
	return float64(used()-before) / float64(n)
}

// used returns the processor time of the thread in nanoseconds: the sums of
// getrusage move with the clock tick.
func used() int64 {
	const clockThreadCPUTimeID = 3
	var t syscall.Timespec
	if _, _, e := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPUTimeID, uintptr(unsafe.Pointer(&t)), 0); e != 0 {
		panic(e)
	}
	return t.Nano()
}
