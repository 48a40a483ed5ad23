package usdt_test

import (
	"fmt"
	"log"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// Attach a program of an object, BPF_URDT of bpfside/include/urdt.bpf.h for instance,
// to a tracepoint that is defined at run time: in every process that fires app:request
// with two arguments, now or later.
func ExampleManager_AttachURDT() {
	coll, err := usdt.LoadCollection("trace.bpf.o", nil)
	if err != nil {
		fmt.Println("no object here")
		return
	}
	defer coll.Close()

	l, err := coll.AttachURDT(coll.Programs["on_request"], "app", "request", &usdt.URDTOptions{
		NArgs: 2, PID: usdt.AllProcesses, Path: usdt.AnyObject,
		LeftOut: func(t *usdt.Target, reason error) { log.Printf("%s: %v", t.Path, reason) },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	// Output: no object here
}
