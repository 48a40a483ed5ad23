package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/emit"
)

// demoTimeout is how long the demo waits for an event or for its child: it is
// no measure of anything, only the end of all hope.
const demoTimeout = 15 * time.Second

// demoBatch is how many events the child is told to fire at a time: few enough
// that it is never far ahead of us, and has soon done when we end.
const demoBatch = 64

// keepInterval is the time between two events of a demo that is kept.
const keepInterval = 250 * time.Millisecond

// demoFlags are the flags of demo.
type demoFlags struct {
	count int
	json  bool
	keep  bool
	dir   string
}

// newDemo returns the command that shows the whole way of a probe, from its
// definition in one process to its arguments in another.
func newDemo() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Define probes in a process at run time, and trace them from another",
		Long: `Start a process that defines probes at run time, list them, trace them, and
check that every traced value is what the process says it fired.

The process is this program itself; it ends with the demo. A value that differs
is a failure (status 1). Without the privileges to trace, the probes are made
and listed all the same, and the status is 3.`,
		Example: `  nopfire demo
  nopfire demo --count 6 --json
  nopfire demo --keep               # goes on firing, for other tracers to look at
  nopfire demo --keep --dir /tmp    # with the probes in a file, as perf wants them`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.count < 1:
				return usagef("--count %d: at least 1", f.count)
			case f.keep && f.json:
				return usagef("--keep and --json exclude each other")
			}
			return runDemo(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), &f)
		},
	}
	cmd.Flags().IntVarP(&f.count, "count", "n", 6, "fire and trace `N` events")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object an event, and nothing else")
	cmd.Flags().BoolVar(&f.keep, "keep", false, "go on firing until interrupted")
	cmd.Flags().StringVar(&f.dir, "dir", "", "put the probes into a file in `DIR` rather than a memfd")
	return cmd
}

// runDemo is the parent's side of the demo.
func runDemo(ctx context.Context, out, errw io.Writer, f *demoFlags) (err error) {
	c, err := startDemoChild(f.dir)
	if err != nil {
		return fmt.Errorf("demo: start child: %w", err)
	}
	defer func() {
		if stopErr := c.stop(); err == nil {
			err = stopErr
		}
	}()

	v := demoView{w: io.Discard, color: paletteFor(out)}
	if !f.json {
		v.w = out
	}
	found, err := usdt.ProcessTargets(c.pid, demoProvider+":*")
	if err != nil {
		note(errw, found.Problems...)
		return fmt.Errorf("demo: %w", err)
	}
	slices.SortFunc(found.Targets, func(a, b *usdt.Target) int { return strings.Compare(a.String(), b.String()) })
	v.intro(c, found.Targets)

	s, err := trace.Start(trace.Query{PID: c.pid, Clauses: []trace.Clause{{Pattern: demoProvider + ":*"}}})
	if err != nil {
		v.byHand(c)
		if !isPermission(err) {
			return fmt.Errorf("demo: %w", err)
		}
		err = fmt.Errorf("demo: the probes are there, but tracing them is not allowed: %w", err)
		if f.keep { // for a tracer that may
			v.printf("\n  %s\n", v.color.yellow("firing on without being traced from here, until Ctrl-C"))
			return errors.Join(keepFiring(ctx, c.fireUntraced), err)
		}
		return err
	}
	defer s.Close()
	note(errw, s.Problems()...)

	d := &demo{c: c, s: s, out: out, errw: errw, json: f.json, view: v, cols: newEventColumns(v.color, probeNames(found.Targets))}
	v.tableHeader(d.cols)
	if err := d.fire(ctx, f.count); err != nil {
		return err
	}
	v.verdict(d.events, d.wrong)
	v.byHand(c)
	if f.keep {
		err = keepFiring(ctx, func() error { return d.fire(ctx, 1) })
	}
	if d.wrong > 0 {
		return errors.Join(err, fmt.Errorf("demo: %d of %d events differ from what was fired", d.wrong, d.events))
	}
	if f.json {
		fmt.Fprintf(errw, "nopfire: demo: %d events, each equal to what process %d says it fired\n", d.events, c.pid)
	}
	return err
}

// A demo is a running one.
type demo struct {
	c         *demoChild
	s         *trace.Session
	out, errw io.Writer
	json      bool
	view      demoView
	cols      *eventColumns

	events, wrong int
}

// fire lets the child fire n times, and compares and prints what is traced,
// until ctx is done.
func (d *demo) fire(ctx context.Context, n int) error {
	for n > 0 && ctx.Err() == nil {
		batch := min(n, demoBatch)
		if err := d.fireBatch(ctx, batch); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
		n -= batch
	}
	return nil
}

func (d *demo) fireBatch(ctx context.Context, n int) error {
	if err := d.c.send("fire " + strconv.Itoa(n)); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	got := 0
	for ev, err := range d.s.Events(wait) {
		if ctx.Err() != nil {
			return nil // the probes are being detached, one after the other: events may be missing
		}
		if err != nil {
			return err
		}
		r, err := d.c.report()
		if err != nil {
			return err
		}
		if err := d.show(&ev, d.c.differences(&ev, r)); err != nil {
			return err
		}
		if got++; got == n {
			return nil
		}
	}
	if ctx.Err() != nil {
		return nil // interrupted: what was gathered has been printed
	}
	return fmt.Errorf("%d of %d events arrived", got, n)
}

// show prints an event with its differences from what was fired.
func (d *demo) show(ev *trace.Event, diffs []string) error {
	d.events++
	if len(diffs) > 0 {
		d.wrong++
	}
	var line []byte
	if d.json {
		line = append(appendEvent(nil, ev), '\n')
	} else {
		line = []byte(d.view.row(d.cols, ev, len(diffs) == 0))
	}
	if _, err := d.out.Write(line); err != nil {
		return err
	}
	for _, diff := range diffs {
		fmt.Fprintf(d.errw, "nopfire: demo: %s\n", diff)
	}
	return nil
}

// keepFiring fires one event now and then until ctx is done.
func keepFiring(ctx context.Context, fire func() error) error {
	tick := time.NewTicker(keepInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := fire(); err != nil {
				return err
			}
		}
	}
}

// A demoChild is the traced process.
type demoChild struct {
	cmd   *exec.Cmd
	pid   int
	hello demoHello
	in    io.WriteCloser
	lines *bufio.Scanner
	errs  bytes.Buffer
}

// startDemoChild starts the child and waits until it has made its probes. The
// child ends when its input does, so it cannot outlive this process.
func startDemoChild(dir string) (*demoChild, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &demoChild{cmd: exec.Command(exe, "demo-child", "--dir="+dir)}
	c.cmd.Stderr = &c.errs
	detachFromTerminal(c.cmd)
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.pid = c.cmd.Process.Pid
	c.lines = bufio.NewScanner(out)
	err = c.read(&c.hello)
	if err == nil && c.hello.Error != "" {
		err = errors.New(c.hello.Error)
		if runtime.GOOS != "linux" {
			err = fmt.Errorf("probes fire on Linux (amd64 and arm64) only: %w", err)
		}
	}
	if err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

// send gives the child a command.
func (c *demoChild) send(command string) error {
	_, err := io.WriteString(c.in, command+"\n")
	return err
}

// read reads the next line of the child as JSON.
func (c *demoChild) read(v any) error {
	if !c.lines.Scan() {
		err := c.lines.Err()
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("read from child: %w%s", err, c.errs.String())
	}
	return json.Unmarshal(c.lines.Bytes(), v)
}

// report returns what the child says about its next hit.
func (c *demoChild) report() (r demoReport, err error) {
	err = c.read(&r)
	return r, err
}

// fireUntraced lets the child fire one event that nobody here waits for.
func (c *demoChild) fireUntraced() error {
	if err := c.send("fire 1"); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if _, err := c.report(); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	return nil
}

// stop ends the child and waits for it.
func (c *demoChild) stop() error {
	c.in.Close()
	kill := time.AfterFunc(demoTimeout, func() { c.cmd.Process.Kill() })
	defer kill.Stop()
	// What it still says must be read, or it could wait for us.
	for c.lines.Scan() {
	}
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("demo: child: %w: %s", err, strings.TrimSpace(c.errs.String()))
	}
	return nil
}

// differences compares an event with the child's report, and returns a line for
// each difference.
func (c *demoChild) differences(ev *trace.Event, r demoReport) (diffs []string) {
	differ := func(what string, got, want any) {
		diffs = append(diffs, fmt.Sprintf("%s:%s: %s is %v, fired was %v", ev.Provider, ev.Probe, what, got, want))
	}
	if ev.Provider != demoProvider || ev.Probe != r.Probe {
		differ("probe", ev.Provider+":"+ev.Probe, demoProvider+":"+r.Probe)
	}
	if ev.PID != c.pid {
		differ("pid", ev.PID, c.pid)
	}
	if len(ev.Args) != len(r.Args) {
		differ("number of arguments", len(ev.Args), len(r.Args))
		return diffs
	}
	for i := range ev.Args {
		got, _ := appendValue(nil, &ev.Args[i])
		if !sameJSON(got, r.Args[i]) || ev.Args[i].Err != nil || ev.Args[i].Truncated {
			differ(ev.Args[i].Name, ev.Args[i], string(r.Args[i]))
		}
	}
	return diffs
}

// sameJSON reports whether two JSON values are the same, whatever their
// spelling. Numbers are the same if their digits are, or the float64 they mean;
// integers beyond 2^53 must be so by their digits.
func sameJSON(a, b []byte) bool {
	decode := func(data []byte) (v any, err error) {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		err = dec.Decode(&v)
		return v, err
	}
	x, errX := decode(a)
	y, errY := decode(b)
	if errX != nil || errY != nil {
		return false
	}
	if x == y { // neither arrays nor objects come here
		return true
	}
	m, ok1 := x.(json.Number)
	n, ok2 := y.(json.Number)
	isFloat := func(n json.Number) bool { return strings.ContainsAny(string(n), ".eE") }
	if !ok1 || !ok2 || !(isFloat(m) || isFloat(n)) {
		return false
	}
	f, errF := m.Float64()
	g, errG := n.Float64()
	return errF == nil && errG == nil && f == g
}

// A demoView prints the frame around the events, for people.
type demoView struct {
	w     io.Writer
	color palette
}

func (v demoView) printf(format string, args ...any) { fmt.Fprintf(v.w, format, args...) }

// intro says what the child has made.
func (v demoView) intro(c *demoChild, targets []*usdt.Target) {
	v.printf("%s\n\n", v.color.bold(fmt.Sprintf("Process %d has defined %d probes at run time:", c.pid, len(targets))))
	width := 0
	for _, t := range targets {
		width = max(width, len(t.String()))
	}
	for _, t := range targets {
		v.printf("  %s  %s\n", v.color.cyan(pad(t.String(), width)), signature(t))
	}
	v.printf("\n  %s\n", v.color.dim(fmt.Sprintf("in a %s, %s", c.hello.Backing, c.hello.Form)))
	if c.hello.Reason != "" {
		v.printf("  %s\n", v.color.yellow("no file: "+c.hello.Reason))
	}
}

// tableHeader opens the table of events.
func (v demoView) tableHeader(cols *eventColumns) {
	v.printf("\n%s\n\n", v.color.bold("This process traces them. Each value is compared with what was fired:"))
	v.printf("     %s", v.color.dim(fmt.Sprintf("%-15s  %-*s  %s", "TIME", cols.probeWidth, "PROBE", "ARGUMENTS"))+"\n")
}

// row is one event of the table.
func (v demoView) row(cols *eventColumns, ev *trace.Event, same bool) string {
	mark := v.color.green("✓")
	if !same {
		mark = v.color.red("✗")
	}
	return fmt.Sprintf("  %s  %s  %s  %s\n", mark, v.color.dim(clock(ev.Time)),
		v.color.cyan(pad(printable(ev.Provider+":"+ev.Probe), cols.probeWidth)), cols.args(ev.Args))
}

// verdict closes the table.
func (v demoView) verdict(events, wrong int) {
	if wrong > 0 {
		v.printf("\n  %s\n", v.color.red(fmt.Sprintf("%d of %d events differ from what was fired", wrong, events)))
		return
	}
	v.printf("\n  %s\n", v.color.green(fmt.Sprintf("%d events, each exactly as it was fired", events)))
}

// byHand says how to do the same with other tools.
func (v demoView) byHand(c *demoChild) {
	v.printf("\n%s\n\n", v.color.bold("The same by hand, as long as the process lives (nopfire demo --keep):"))
	where := c.hello.Path
	if strings.HasPrefix(where, "/proc/self/") {
		where = fmt.Sprintf("/proc/%d/%s", c.pid, strings.TrimPrefix(where, "/proc/self/"))
	}
	commands := []string{
		fmt.Sprintf("nopfire list -p %d '%s:*'", c.pid, demoProvider),
		fmt.Sprintf("nopfire trace -p %d '%s:*'", c.pid, demoProvider),
		fmt.Sprintf(`bpftrace -p %d -e 'usdt:%s:%s:order { printf("%%d %%s\n", arg0, str(arg1)); }'`, c.pid, where, demoProvider),
	}
	for _, cmd := range commands {
		v.printf("  %s\n", cmd)
	}
	if c.hello.Backing != emit.BackingFile.String() {
		v.printf("\n  %s\n", v.color.dim("perf takes named files only: nopfire demo --keep --dir /tmp shows its commands"))
		return
	}
	// perf goes through all files that it has ever cached with such an event,
	// and fails if one of them is gone, as those of former demos are. So it
	// gets a cache of its own.
	event, cache := "sdt_"+demoProvider+":order", strings.TrimSuffix(where, ".nopfire.so")+".debug"
	v.printf("\n  %s\n", v.color.dim("# perf, as root (it mounts tracefs if need be); the last line tidies up"))
	for _, cmd := range []string{
		"B=" + cache,
		"perf --buildid-dir $B buildid-cache --add " + where,
		"perf --buildid-dir $B probe " + event,
		fmt.Sprintf("perf --buildid-dir $B record -e %s -p %d -- sleep 5", event, c.pid),
		"perf --buildid-dir $B script",
		"perf probe -d " + event + "; rm -r $B",
	} {
		v.printf("  %s\n", cmd)
	}
}
