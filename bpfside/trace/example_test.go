package trace_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/usdt"
)

// Print the requests of process 4711 until an interrupt or its end.
func ExampleSession() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	found, err := usdt.ProcessTargets(4711, "myapp:request")
	if err != nil {
		log.Fatal(err)
	}
	s, err := trace.NewSession(found.Targets, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for ev, err := range s.Events(ctx) {
		if err != nil {
			log.Print(err) // events were lost, or reading has failed for good
			continue
		}
		fmt.Println(ev.Time, ev.PID, ev) // … myapp:request status=200 path="/index.html"
	}
}

// Ask for what the note does not say: that argument 1 of a postgres probe is the
// address of a string.
func ExampleOptions() {
	found, err := usdt.ProcessTargets(4711, "postgresql:query__start")
	if err != nil {
		log.Fatal(err)
	}
	s, err := trace.NewSession(found.Targets, &trace.Options{
		Strings:   []string{"arg1"},
		MaxString: 1000,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for ev, err := range s.Events(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		query := ev.Args[0]
		fmt.Println(query.Value, query.Truncated, query.Err)
	}
}

// Print the requests of every process that has the probe, those that start later
// included, until an interrupt.
func ExampleNewFollowingSession() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	follower, err := usdt.NewFollower(nil, "myapp:request") // or of one process: FollowOptions.PID
	if err != nil {
		log.Fatal(err)
	}
	s, err := trace.NewFollowingSession(follower, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for ev, err := range s.Events(ctx) {
		var problem *trace.ProblemError
		switch {
		case errors.As(err, &problem):
			log.Print(problem) // one target; the others are traced
		case err != nil:
			log.Print(err) // events were lost, or reading has failed for good
		default:
			fmt.Println(ev.Time, ev.PID, ev)
		}
	}
}
