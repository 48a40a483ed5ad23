//go:build linux

package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strconv"
)

// A tracer is a tool that prints the hits of seed:loop_iter with both arguments.
type tracer struct {
	name string
	own  bool // of nopfire: it has to work
	// command traces a process, or all for 0. A prompt one writes each line at
	// once, as it has to for a person who waits for it.
	command func(c *config, pid int, prompt bool) *exec.Cmd
}

// The tracers. What they print of a hit ends in "message N".
var (
	nopfire = tracer{"nopfire trace", true, func(c *config, pid int, _ bool) *exec.Cmd {
		return nopfireCommand(c, pid, fmt.Sprintf(`u:%s:loop_iter "i=%%d msg=%%s", arg1, arg2`, c.lib))
	}}
	// The same with an expression, which has to be compiled.
	nopfireExpr = tracer{"nopfire trace, with a condition", true, func(c *config, pid int, _ bool) *exec.Cmd {
		return nopfireCommand(c, pid, fmt.Sprintf(`u:%s:loop_iter (arg1 >= 0) "i=%%d msg=%%s", arg1, arg2`, c.lib))
	}}
	bpftrace = tracer{"bpftrace", false, func(c *config, pid int, prompt bool) *exec.Cmd {
		return bpftraceCommand(c, pid, prompt, "")
	}}
	bpftraceExpr = tracer{"bpftrace, with a condition", false, func(c *config, pid int, prompt bool) *exec.Cmd {
		return bpftraceCommand(c, pid, prompt, "/ arg0 >= 0 / ")
	}}
	bcc = tracer{"trace-bpfcc", false, func(c *config, pid int, prompt bool) *exec.Cmd {
		cmd := exec.Command("trace-bpfcc", fmt.Sprintf(`u:%s:loop_iter "i=%%d msg=%%s", arg1, arg2`, c.lib))
		if pid != 0 {
			cmd.Args = append(cmd.Args, "-p", strconv.Itoa(pid))
		}
		if prompt {
			cmd.Env = append(cmd.Environ(), "PYTHONUNBUFFERED=1")
		}
		return cmd
	}}
)

func nopfireCommand(c *config, pid int, spec string) *exec.Cmd {
	cmd := exec.Command(c.nopfire, "trace", spec)
	if pid != 0 {
		cmd.Args = append(cmd.Args, "-p", strconv.Itoa(pid))
	}
	return cmd
}

func bpftraceCommand(c *config, pid int, prompt bool, condition string) *exec.Cmd {
	args := []string{"-e", fmt.Sprintf(`usdt:%s:seed:loop_iter %s{ printf("i=%%d msg=%%s\n", arg0, str(arg1)); }`, c.lib, condition)}
	if pid != 0 {
		args = append(args, "-p", strconv.Itoa(pid))
	}
	if prompt {
		args = append(args, "-B", "none")
	}
	return exec.Command("bpftrace", args...)
}

// failed returns what has gone wrong with a tracer. With those of other people it is
// printed, and the rest goes on without them.
func (t tracer) failed(err error) error {
	if t.own {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	fmt.Printf("not measured: %s: %v\n", t.name, err)
	return nil
}

// installed returns the tracers that can be run, and prints which cannot.
func installed(tracers ...tracer) []tracer {
	return slices.DeleteFunc(tracers, func(t tracer) bool {
		cmd := t.command(&config{nopfire: "true"}, 0, false)
		if cmd.Err != nil {
			fmt.Printf("not measured: %s: %v\n", t.name, cmd.Err)
		}
		return cmd.Err != nil
	})
}
