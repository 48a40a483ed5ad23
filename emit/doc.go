// Package emit defines USDT probes at run time and fires them.
//
// A program makes a Provider, defines probes on it, and loads them:
//
//	app, err := emit.NewProvider("myapp", nil)
//	req, err := emit.NewProbe2[int, string](app, "request", &emit.ProbeOptions{Args: []string{"status", "path"}})
//	err = app.Load()
//	…
//	req.Fire(200, "/index.html")
//
// Tracers (nopfire, bpftrace, perf, gdb, anything that reads .note.stapsdt)
// then find myapp:request in the process and see its arguments.
//
// # Model
//
// Load fabricates a small ELF shared object that holds, for each probe, a note
// and a site: a few instructions that do nothing. It backs the object by a
// file, by default a sealed memfd, and maps it. To fire is to put the
// arguments into registers and to call the site. A tracer attaches a uprobe to
// the site: the kernel then patches this process's copy of the instructions.
//
// The same patch tells the process that it is traced: Enabled compares the
// site's bytes with those that were written. That is exact for every tracer and
// needs no cooperation, as a semaphore does. ProbeOptions.Semaphore adds one
// for the consumers that insist.
//
// Probes that are defined after a Load are loaded by the next one as an object
// of their own. Sites that exist never move and stay attached. Close of the
// Provider, or Remove of the last probe of an object, takes the object away.
//
// # Arguments
//
// The typed handles Probe0 to Probe12 take any types; whether they can travel
// is checked when the probe is made:
//
//   - integers, uintptr and bool, and types derived from them, travel as they are;
//   - float32 and float64 travel as their bits;
//   - string travels as a pointer to a NUL-terminated copy, cut at MaxString;
//   - []byte travels as a pointer to such a copy and its length, and takes
//     two of the twelve places;
//   - error travels as its text, a nil error as a NULL pointer; an error that
//     is made right in the arguments of Fire, so that it lies on the stack, and
//     refers to other local variables, travels as the name of its type;
//   - pointers travel as they are; the layout of a struct that a pointer leads
//     to is described in the object's type information, so that a tracer can
//     follow it. unsafe.Pointer is a pointer to nothing known.
//
// The handle Probe has arguments decided at run time.
//
// # Cost
//
// A Fire that nobody traces is inlined: it loads the handle's site, loads the
// site's first bytes, and compares. That is about a nanosecond; nothing is
// allocated, and no argument is forced to the heap, not even one whose address
// is passed. What the caller does to compute the arguments is not saved: use
// FireFunc, or ask Enabled, where that costs.
//
// A traced Fire costs what the kernel takes for the uprobe, from half a
// microsecond up, plus some ten nanoseconds, and allocates nothing in a steady
// state (an Error method may).
//
// # Limits
//
// Sites fire on linux/amd64 and linux/arm64. Everywhere else the package
// compiles, Load returns an error that wraps ErrNotSupported, and all handles
// stay inert.
//
// A handle is inert, that is Enabled is false and Fire does nothing, if its
// constructor failed, before it is loaded, after it is removed, after its
// Provider is closed, and as a zero value.
//
// All functions and methods are safe for concurrent use.
package emit
