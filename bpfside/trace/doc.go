// Package trace is the tracing session: probes go in, events with the values
// of their arguments come out.
//
// A [Session] assembles one small BPF program for each distinct layout of
// arguments among its targets, attaches the programs through package usdt and
// decodes the records they leave in a ring buffer. Nothing is compiled and no
// other program is needed: the instructions are put together here, so a
// session of a few probes starts within milliseconds.
//
//	found, err := usdt.ProcessTargets(pid, "myapp:*")
//	…
//	s, err := trace.NewSession(found.Targets, nil)
//	…
//	defer s.Close()
//	for ev, err := range s.Events(ctx) {
//		…
//		fmt.Println(ev)
//	}
//
// A session is for the targets that it is given, or, from NewFollowingSession, for
// those that a [usdt.Follower] finds while it lasts: in processes that start later
// and objects that are loaded later.
//
// # What is promised
//
// A probe that is hit after NewSession has returned, or in a following session a
// few milliseconds after its object was mapped, and before the session is
// cancelled gives exactly one event. If the consumer is too slow and the ring
// buffer is full, events are lost; they are counted ([Session.Lost]) and the
// loss stands as a [*LostError] in the sequence of events.
//
// An argument that cannot be read costs that argument only: its [Value] has
// the reason in Err, its neighbours keep their places and values.
//
// # Types
//
// Names and types come from the metadata of an object made by package emit.
// Other objects say size and sign only: their arguments are called arg1, arg2
// and so on and are integers. A pointer is never followed on a guess;
// [Options].Strings names the arguments that are to be read as strings.
//
// # Privileges
//
// Attaching needs CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN, and reading the
// maps of another user's process needs CAP_SYS_PTRACE.
//
// The package may not know of package emit: both sides share bytes only.
package trace
