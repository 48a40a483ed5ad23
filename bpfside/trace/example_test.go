package trace_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/nopfire/nopfire/bpfside/trace"
)

// Print the slow requests of process 4711 until an interrupt or its end.
func ExampleStart() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s, err := trace.Start(trace.Query{PID: 4711, Clauses: []trace.Clause{{Pattern: "myapp:request", Where: "ms > 100"}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for ev, err := range s.Events(ctx) {
		if err != nil {
			log.Print(err) // events were lost, or reading has failed for good
			continue
		}
		fmt.Println(ev.Time, ev.PID, ev) // … myapp:request ms=120 path="/index.html"
	}
}

// Trace every process that maps a library, those that start later included, and take
// from each hit what is wanted.
func ExampleSession_Events() {
	s, err := trace.Start(trace.Query{Clauses: []trace.Clause{{
		Path:    "libfoo.so",
		Pattern: ":loop_iter",
		Where:   "arg1 % 100 == 0",
		Capture: []trace.Capture{{Expr: "arg1"}, {Expr: "arg2", Name: "msg", String: true}},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for ev, err := range s.Events(context.Background()) {
		var lost *trace.LostError
		var problem *trace.ProblemError
		switch {
		case errors.As(err, &lost):
			log.Print(lost) // 12 events lost: ring buffer full
		case errors.As(err, &problem):
			log.Print(problem) // one target; the others are traced
		case err != nil:
			log.Fatal(err)
		default:
			i, msg := ev.Args[0], ev.Args[1]
			fmt.Println(ev.Comm, i.Value, msg.Value, msg.Truncated, msg.Err)
		}
	}
}

// Count for ten seconds what the requests of all processes take, apart for each path.
func ExampleSession_Rows() {
	s, err := trace.Start(trace.Query{Clauses: []trace.Clause{{
		Pattern:   "myapp:request",
		Aggregate: trace.Log2Hist,
		Value:     "ms",
		Capture:   []trace.Capture{{Expr: "path"}},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, err := range s.Events(ctx) {
		log.Print(err) // a session that counts has no events
	}
	rows, err := s.Rows()
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range rows {
		fmt.Println(r.Key[0], r.Count)
		for _, b := range r.Buckets {
			fmt.Println(b.Min, b.Max, b.Count)
		}
	}
}

// Ask for what the note does not say: that argument 1 of a postgres probe is the
// address of a string.
func ExampleOptions() {
	s, err := trace.Start(trace.Query{
		PID:     4711,
		Clauses: []trace.Clause{{Pattern: "postgresql:query__start"}},
		Options: &trace.Options{Strings: []string{"arg1"}, MaxString: 1000},
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

// A tracepoint that is defined at run time is a pattern with urdt: in front. It is
// traced in all processes: those too that start, or that fire it for the first time,
// after this.
func ExampleParseURDTName() {
	name, isURDT, err := trace.ParseURDTName("urdt:backup:step/2")
	fmt.Println(name.Provider, name.Name, name.NArgs, isURDT, err)
	s, err := trace.Start(trace.Query{Clauses: []trace.Clause{{Pattern: name.String(), Where: "arg1 > 0"}}})
	if err != nil {
		return // not Linux, or this process may not trace
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // in an example that has nobody to fire
	for ev, err := range s.Events(ctx) {
		if err == nil {
			fmt.Println(ev)
		}
	}
	// Output: backup step 2 true <nil>
}
