package trace

import "fmt"

// Limits of a Clause.
const (
	// MaxCaptures is the largest number of expressions that a clause captures.
	MaxCaptures = 12
	// DefaultMaxKeys is the number of different keys that are counted of a clause
	// unless Options say otherwise.
	DefaultMaxKeys = 65536
	// LimitKeyString is how many bytes of a string can be part of a key: a key
	// lies on the stack of a BPF program, which has 512 bytes. Of several strings
	// it may be less.
	LimitKeyString = 128
)

// A Clause selects probes and says what their hits give: events, counts or
// histograms.
//
// Where, Capture and Value are expressions of C, as they stand in a condition
// or an assignment. They know:
//
//	arg1 … arg12          the arguments, and their names, where the object tells
//	                      them; each has the type that it has in the traced
//	                      program, as far as the object tells it
//	pid, tid, uid, cpu    process, thread (numbered as in events), real user id, processor
//	ts                    time of the hit, nanoseconds since boot
//	comm                  the name of the thread
//	p->field, *p, p[i]    memory of the traced process
//	s == "text"           string comparison, if s is an address of characters or
//	                      comm; != as well, and strcmp(s, "text"),
//	                      strncmp(s, "text", n)
//	(type)x, sizeof, ?:   and the other operators of C on integers and pointers
//
// An expression that is an argument and nothing else may be of any type. In
// others the value of a float cannot be used, since BPF programs have none.
type Clause struct {
	// Path is the file that has the probes: a path, or the name of a program or
	// library as usdt.FindFile takes it. All processes that map the file are
	// traced, or the one of the query: then it is the file that this process has
	// mapped under the name, if it has, and else the one that it would find in its
	// mount namespace. "" is every file that the traced processes have mapped, or
	// map later.
	Path string
	// Pattern is PROVIDER:PROBE, as usdt.ParsePattern reads it, or, without a
	// Path, urdt:PROVIDER:NAME[/NARGS], as ParseURDTName does.
	Pattern string
	// Where is the condition under which a hit counts; "" is always.
	Where string
	// Capture are the values that an event has as its Args, in their order, at
	// most MaxCaptures. Nil is all arguments of the probe, which an empty list
	// is not. For Count and
	// histograms they are the key: hits are counted apart for each combination
	// of their values; nil is no key.
	Capture []Capture
	// Aggregate is what is done with the hits.
	Aggregate Aggregate
	// ByProcess counts apart for each process. Of no use for Events.
	ByProcess bool
	// Value is the number whose distribution a histogram is.
	Value string
	// Linear are the bounds of a LinearHist.
	Linear Linear
}

// A Capture is a value that is taken from a hit.
type Capture struct {
	// Expr is the expression. It is the Name of the Value, unless Name is set.
	Expr string
	Name string
	// String tells that the value, if it is as wide as an address, is that of a
	// string that ends in a NUL. What has the type of a string is one without
	// it; what cannot be an address stays what it is.
	String bool
}

// An Aggregate is what a clause does with its hits.
type Aggregate uint8

// The aggregates.
const (
	// Events makes each hit an Event of Session.Events.
	Events Aggregate = iota
	// Count counts hits.
	Count
	// Log2Hist counts the hits whose Value lies in each power of two.
	Log2Hist
	// LinearHist counts the hits whose Value lies in each of equal ranges.
	LinearHist
)

// Linear are the bounds of a linear histogram: buckets of Step from Min up to Max,
// which is not included, and one for all that is smaller and one for all that is
// larger.
type Linear struct{ Min, Max, Step int64 }

// A Query is what Start traces.
type Query struct {
	// PID is the process to trace; 0 is every process, those that start later
	// included.
	PID int
	// Later makes it no error that a pattern without wildcards finds nothing in the
	// process yet: one that has still to execute its program, say. One with
	// wildcards is waited for in any case.
	Later bool
	// Files are files that the process is going to map: what clauses without a
	// Path select there is attached to before it does. A file without a probe is
	// no error.
	Files []string
	// Clauses say which probes, and what of them. A hit that several select
	// gives something for each.
	Clauses []Clause
	// Options may be nil.
	Options *Options
}

// A Row is what a session has counted for one key of a clause.
type Row struct {
	// Clause is the index of the clause in the Query.
	Clause int
	// Provider and Probe are the probe that was hit.
	Provider, Probe string
	// PID and Comm are the process, if the clause says ByProcess; else 0 and "".
	// Comm is the name that the process has, or had last, "" if it is not known.
	PID  int
	Comm string
	// Key are the values of Capture.
	Key []Value
	// ValueType is the type of the clause's Value for this probe, as a Value's Type:
	// "time.Duration" counts nanoseconds, say. It is "" if there is none, or if it is
	// not the same in all places of the probe.
	ValueType string
	// Count is the number of hits.
	Count uint64
	// Buckets are those of a histogram that are not empty, by ascending bounds.
	Buckets []Bucket
}

// A Bucket is how many values lay between Min and Max, both included. The first
// bucket of signed values begins with math.MinInt64, and the last one of unsigned
// values may go up to math.MaxUint64: then Max is -1 and Unsigned is true.
type Bucket struct {
	Min, Max int64
	Unsigned bool
	Count    uint64
}

// An ExprError says what is wrong with an expression.
type ExprError struct {
	// Expr is the expression, and Off the place in it, counted in bytes; -1 if it
	// is not known.
	Expr string
	Off  int
	Msg  string
	// Probe is the PROVIDER:PROBE that it does not fit, "" for all.
	Probe string
}

// Error returns the message with the expression.
func (e *ExprError) Error() string {
	s := fmt.Sprintf("expression %s: %s", printable(e.Expr), e.Msg)
	if e.Probe != "" {
		s = printable(e.Probe) + ": " + s
	}
	return s
}
