//go:build linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// patience is how long something may take that does not get done by itself.
const patience = time.Minute

var errImpatient = errors.New("nothing happens")

// A firing is a running program of testprogs/seed.
type firing struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

// startFiring starts the program.
func (c *config) startFiring() (*firing, error) {
	f := &firing{cmd: exec.Command(c.program)}
	var err error
	if f.in, err = f.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := f.cmd.Start(); err != nil {
		return nil, err
	}
	f.lines = bufio.NewScanner(out)
	if line, err := f.answer(); err != nil || line != "ready" {
		f.stop()
		return nil, fmt.Errorf("%s says %q: %w", c.program, line, err)
	}
	return f, nil
}

// send sends a command.
func (f *firing) send(format string, args ...any) error {
	_, err := fmt.Fprintf(f.in, format+"\n", args...)
	return err
}

// answer returns the answer to a command.
func (f *firing) answer() (string, error) {
	if !f.lines.Scan() {
		return "", errors.Join(f.lines.Err(), io.ErrUnexpectedEOF)
	}
	return f.lines.Text(), nil
}

// fired returns the number in the answer "fired N".
func (f *firing) fired() (n int64, err error) {
	line, err := f.answer()
	if err == nil {
		_, err = fmt.Sscanf(line, "fired %d", &n)
	}
	return n, err
}

// waitTraced waits until a tool has raised the semaphore.
func (f *firing) waitTraced(by *tool) error {
	for end := time.Now().Add(patience); time.Now().Before(end); {
		select {
		case <-by.done:
			return errors.New("the tracer has ended")
		case <-time.After(10 * time.Millisecond):
		}
		if err := f.send("enabled"); err != nil {
			return err
		}
		if line, err := f.answer(); err != nil || line != "enabled 0" {
			return err
		}
	}
	return fmt.Errorf("wait for the tracer: %w", errImpatient)
}

// stop ends the program, whatever it does.
func (f *firing) stop() {
	f.in.Close()
	f.cmd.Process.Kill()
	f.cmd.Wait()
}

// A tool is a running tracer.
type tool struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// startTool starts a tracer. Its outputs are set, and no pipes that are to be read.
func startTool(cmd *exec.Cmd) (*tool, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t := &tool{cmd: cmd, done: make(chan struct{})}
	go func() {
		cmd.Wait()
		close(t.done)
	}()
	return t, nil
}

// interrupt ends a tool as a person does, and waits. Some look at the signal only
// when their wait is interrupted, so it is sent again.
func (t *tool) interrupt() {
	for {
		t.cmd.Process.Signal(os.Interrupt)
		select {
		case <-t.done:
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// peakMemory returns the most memory that a running process has had, in kilobytes.
// That of wait4 would include the memory of the parent that it was forked from.
func peakMemory(pid int) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no VmHWM", pid)
}

// waitIdle waits until a process takes no processor time for half a second: it has
// worked off what came to it. It returns the time that it has taken altogether.
func waitIdle(pid int) (time.Duration, error) {
	var last time.Duration
	since := time.Now()
	for end := since.Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		now, err := processorTime(pid)
		if err != nil {
			return 0, err
		}
		if now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) > 500*time.Millisecond {
			return last, nil
		}
	}
	return 0, fmt.Errorf("wait for process %d to rest: %w", pid, errImpatient)
}

// processorTime returns the time that a process has run, in user mode and in the
// kernel.
func processorTime(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// utime and stime, proc(5), in 1/100 s. The name before them is in parentheses
	// and may hold anything.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	var ticks int64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}
