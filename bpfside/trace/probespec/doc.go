// Package probespec reads the texts by which people say what is to be traced: which
// probe, under which condition, and what is shown of a hit. It knows the texts of this
// project and those of bcc's trace and argdist, and gives clauses of package trace and
// formats of C, that it also applies.
//
// A probe is written in one of these ways; * and ? are wildcards in PROVIDER and PROBE,
// an empty part is *:
//
//	PROVIDER:PROBE                   in everything that is mapped
//	PATH:PROVIDER:PROBE              in one file: a path, or the name of a program or
//	                                 library
//	PATH:PROBE                       the same, if PATH has a slash or ".so" in it
//	urdt:PROVIDER:NAME[/NARGS]       a tracepoint that is defined at run time
//	u:PATH:PROBE                     bcc's way, with usdt: for u: as well
//	u:PATH:PROVIDER:PROBE
//
// A PATH that is * or empty is everything that is mapped. A part with blanks, colons,
// parentheses or commas stands in double quotes, or has a backslash before each of
// them; a comma within a path needs neither. In quotes p, r, t, u, usdt and urdt are
// providers like any other.
//
// Expressions are those of trace.Clause. Beside them bcc's names are understood: $tgid,
// $pid, which is the thread, $uid, $cpu, $task->comm, argdist's $PID, and arg1@user.
// What bcc has for functions only ($retval, $entry, $latency) is refused by name, as are
// its probes p:, r: and t:.
//
// The package knows no processes and no files: whether there is such a probe, and
// whether an expression fits it, is for package trace to say.
package probespec
