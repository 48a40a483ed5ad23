package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/bpfside/run"
	"github.com/nopfire/nopfire/bpfside/usdt"
)

// runFlags are the flags of run.
type runFlags struct {
	compileFlags
	pid      int
	set      []string
	count    int
	duration seconds
	interval seconds
	json     bool
	quiet    bool
	opts     run.Options
}

// newRun returns the command that compiles, loads and attaches a BPF program.
func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run FILE.bpf.c|FILE.o [-p PID] [flags] [-- COMMAND [ARG...]]",
		Short: "Run a BPF program written in C, with no compiler on the machine",
		Long: `Compile a BPF program in C, load it, attach each of its programs to what the
section says, and print what they send and leave behind. FILE.o is an object that
is compiled already, by nopfire cc or by clang.

Printed are, as they come, the lines of bpf_printk and what goes through ring
buffers and perf buffers, with the names and values of its type; and in the end,
or each --interval, the global variables and the maps. An array of counts that is
named slots is drawn as a histogram of powers of two. Elements of arrays that are
zero are not printed. --quiet leaves variables and maps out.

Programs in SEC("usdt/…"), SEC("urdt/…"), SEC("uprobe/…") are attached in process
PID, or in all processes without -p. A path of * in SEC("usdt/*:PROVIDER:PROBE")
stands for everything that the process has mapped, probes that are defined at run
time included.

--set gives a global variable another value before the program is loaded: a
number, the name of an enumerator, a text for an array of char, {1, 2} or {a = 1}
for arrays and structs.

With a COMMAND behind -- the program is loaded first, then the command is started;
when it ends, tracing ends, and its exit status is that of nopfire. USDT probes and
uprobes are traced in the command alone. Without it, tracing ends after --count
events, after --duration, or on an interrupt.

The dialect of C is described in docs/bpfc.md, the JSON in docs/json.md. Loading
needs the capabilities CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN).`,
		Example: `  sudo nopfire run hist.bpf.c -p 4711 --duration 10s
  sudo nopfire run trace.bpf.c --set min_us=500 --json
  sudo nopfire run trace.bpf.c -- ./myapp --verbose`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch dash := cmd.ArgsLenAtDash(); {
			case len(args) == 0 || dash == 0:
				return usagef("which program is to be run? Give FILE.bpf.c or FILE.o")
			case len(args) > 1 && dash != 1:
				return usagef("unexpected argument %q: a command to be started stands behind --", args[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case cmd.Flags().Changed("pid") && f.pid <= 0:
				return usagef("-p %d: not a process id", f.pid)
			case f.pid != 0 && len(args) > 1:
				return usagef("-p and a command exclude each other")
			case f.count < 0:
				return usagef("--count %d is negative", f.count)
			case f.duration < 0:
				return usagef("--duration %s is negative", time.Duration(f.duration))
			case f.interval < 0:
				return usagef("--interval %s is negative", time.Duration(f.interval))
			}
			for _, s := range f.set {
				if !strings.Contains(s, "=") {
					return usagef("--set %s: want NAME=VALUE", s)
				}
			}
			return runObject(cmd.Context(), cmd, &f, args[0], args[1:])
		},
	}
	f.compileFlags.add(cmd)
	cmd.Flags().IntVarP(&f.pid, "pid", "p", 0, "trace process `PID` only")
	cmd.Flags().StringArrayVar(&f.set, "set", nil, "give global variable a value: `NAME=VALUE`; may be repeated")
	cmd.Flags().IntVarP(&f.count, "count", "n", 0, "end after `N` events")
	cmd.Flags().VarP(&f.duration, "duration", "d", "end after `TIME`, such as 10s; a number alone is seconds")
	cmd.Flags().VarP(&f.interval, "interval", "i", "print variables and maps each time that `TIME` has passed")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object a line")
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "do not print variables and maps")
	return cmd
}

// loadSpec reads an object, or compiles a program in C: the first bytes tell.
func loadSpec(ctx context.Context, path string, f *compileFlags) (*ebpf.CollectionSpec, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	magic := make([]byte, 4)
	if n, err := io.ReadFull(file, magic); err == nil || n > 0 {
		if bytes.Equal(magic, []byte("\x7fELF")) {
			return usdt.LoadCollectionSpec(path)
		}
	}
	return f.compile(ctx, path)
}

// runObject runs the program until something ends it.
func runObject(ctx context.Context, cmd *cobra.Command, f *runFlags, path string, command []string) (err error) {
	out, errw := cmd.OutOrStdout(), cmd.ErrOrStderr()
	spec, err := loadSpec(ctx, path, &f.compileFlags)
	if err != nil {
		return err
	}
	for _, s := range f.set {
		name, value, _ := strings.Cut(s, "=")
		if err := run.Set(spec, strings.TrimSpace(name), strings.TrimSpace(value)); err != nil {
			return usagef("%v", err)
		}
	}
	var child *heldCommand
	f.opts.PID = f.pid
	if len(command) > 0 {
		if child, err = holdCommand(command, cmd); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, child.kill()) }()
		f.opts.PID = child.pid()
	}
	s, err := run.New(spec, &f.opts)
	if err != nil {
		return explainVerifier(spec, err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Attach(); err != nil {
		return err
	}
	note(errw, s.Problems()...)
	if len(s.Programs()) == 0 {
		return fmt.Errorf("%s: none of its programs is attached", printable(path))
	}
	if isTerminal(errw) {
		fmt.Fprintf(errw, "nopfire: running %s; Ctrl-C ends\n", printable(strings.Join(s.Programs(), ", ")))
	}
	if f.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(f.duration))
		defer cancel()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if child != nil {
		if err := child.release(cancel); err != nil {
			return err
		}
	}
	err = printRun(ctx, s, out, errw, f)
	if child != nil {
		// Also after an error: the command does not go on behind our back.
		if ended := child.wait(); err == nil {
			err = ended
		}
	}
	return err
}

// printRun prints what the session gives until it ends.
func printRun(ctx context.Context, s *run.Session, out, errw io.Writer, f *runFlags) error {
	w := newLineWriter(out, lineBuffer)
	p := &runPrinter{w: w, color: paletteFor(out), json: f.json}
	if f.interval > 0 && !f.quiet {
		ticker := time.NewTicker(time.Duration(f.interval))
		defer ticker.Stop()
		stop := make(chan struct{})
		ended := make(chan struct{})
		defer func() { <-ended }()
		defer close(stop)
		go func() {
			defer close(ended)
			for {
				select {
				case <-ticker.C:
					// The next event shows the error of the writer.
					_ = p.snapshot(s.Snapshot(), time.Now(), true)
				case <-stop:
					return
				}
			}
		}()
	}
	n := 0
	for ev, err := range s.Events(ctx) {
		if err != nil {
			return errors.Join(err, w.Flush())
		}
		if ev.Lost > 0 {
			fmt.Fprintf(errw, "nopfire: %s: %d events were lost: they came faster than they could be read\n", printable(cmp.Or(ev.Map, "bpf_printk")), ev.Lost)
			continue
		}
		if err := p.event(&ev); err != nil {
			return err
		}
		if n++; n == f.count {
			break
		}
	}
	if err := s.Detach(); err != nil {
		return err
	}
	if !f.quiet {
		if err := p.snapshot(s.Snapshot(), time.Now(), f.interval > 0); err != nil {
			return err
		}
	}
	return w.Flush()
}
