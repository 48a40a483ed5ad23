package trace_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/usdt"
)

// Trace a tracepoint that is defined at run time, in all processes: those too that
// start, or that fire it for the first time, after this.
func ExampleOptions_names() {
	name, _, err := trace.ParseURDTName("urdt:backup:step/2")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(name.Provider, name.Name, name.NArgs)
	follower, err := usdt.NewFollower(nil, trace.URDTPattern)
	if err != nil {
		return // not Linux
	}
	s, err := trace.NewFollowingSession(follower, &trace.Options{URDT: []trace.URDTName{name}})
	if err != nil {
		return // this process may not trace
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // in an example that has nobody to fire
	for ev, err := range s.Events(ctx) {
		var lost *trace.LostError
		switch {
		case errors.As(err, &lost):
			log.Print(lost)
		case err == nil:
			fmt.Println(ev)
		}
	}
	// Output: backup step 2
}
