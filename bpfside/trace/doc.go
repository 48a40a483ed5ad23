// Package trace traces USDT probes: a [Query] goes in, events with the values of their
// arguments come out, or counts and histograms.
//
//	s, err := trace.Start(trace.Query{PID: pid, Clauses: []trace.Clause{{Pattern: "myapp:*", Where: "ms > 100"}}})
//	…
//	defer s.Close()
//	for ev, err := range s.Events(ctx) {
//		…
//		fmt.Println(ev)
//	}
//
// Each [Clause] of a query selects probes, by a pattern, in what one process or all
// have mapped, or map later; in one file, whoever maps it; or tracepoints of URDT by
// their names. It may have a condition, and says what of a hit is wanted: an event, with
// all arguments or with the values of some expressions, or that it is counted.
//
//	probes ── Pattern, Path ──→ hits ── Where ──→ Capture ──→ Events   → Session.Events
//	                                                      ──→ Count    → Session.Rows
//	                                       Value, Capture ──→ Log2Hist → Session.Rows
//
// For each distinct layout of arguments among the probes of a clause a [Session] puts
// together one small BPF program, and attaches it through package usdt. Expressions are
// C, compiled by package bpfc; a clause without them compiles nothing. No other program
// is needed, nor are headers: a session of a few probes starts within milliseconds.
//
// # What is promised
//
// A probe that is hit after Start has returned, or in an object that appears later a
// few milliseconds after it was mapped, and before the session is cancelled gives
// exactly one event, or is counted once, for each clause that selects it. If the
// consumer is too slow and the ring buffer is full, events are lost; if there are more
// keys than Options.MaxKeys, hits of further keys are. They are counted
// ([Session.Lost]) and the loss stands as a [*LostError] in the sequence of events.
//
// An argument that cannot be read costs that argument only: its [Value] has
// the reason in Err, its neighbours keep their places and values. A hit is lost if the
// condition, or the value of a histogram, needs it. What an expression reads behind a
// pointer that leads nowhere is 0.
//
// A file that replaces the one under the path of a clause is traced, too, from about a
// second after it does.
//
// # Types
//
// Names and types come from the metadata of an object made by package emit.
// Other objects say size and sign only: their arguments are called arg1, arg2
// and so on and are integers. A pointer is never followed on a guess;
// [Options].Strings, or Capture.String, names those that are to be read as strings.
//
// # Privileges
//
// Attaching needs CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN, and reading the
// maps of another user's process needs CAP_SYS_PTRACE.
//
// The package may not know of package emit: both sides share bytes only.
package trace
