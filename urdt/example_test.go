package urdt_test

import (
	"fmt"
	"log"

	"github.com/nopfire/nopfire/urdt"
)

// A tracepoint without any set-up: "nopfire trace urdt:shop:order" sees it, in
// this program and in all others that fire it.
func ExampleProbe2() {
	order, item := 4711, "tea"
	urdt.Probe2("shop", "order", order, item)
	// Output:
}

// For a name that is fired often: hashed once, inlined while nobody traces.
func ExampleNew3() {
	served, err := urdt.New3[int, string, error]("shop", "served")
	if err != nil {
		log.Fatal(err) // a bad name, a type that cannot travel, a collision
	}
	served.Fire(200, "/index.html", nil)

	// Arguments that cost something are computed for somebody only.
	served.FireFunc(func() (int, string, error) {
		return 404, fmt.Sprintf("/%x", 0xabc), nil
	})
	// Output:
}

// A handle in a package variable: its name and types are right or wrong in
// every run.
func ExampleMust() {
	started := urdt.Must(urdt.New0("shop", "started"))
	started.Fire()
	// Output:
}

// Who sees it?
func ExampleScope() {
	s := urdt.Scope()
	switch s.Reach {
	case urdt.System, urdt.User:
		fmt.Println("one attach to", s.Path, "sees all processes")
	case urdt.Process:
		fmt.Println("attach by process id:", s.Reason)
	case urdt.None:
		fmt.Println("nothing is fired:", s.Reason)
	}
}
