package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/bpfside/trace"
)

// A heldCommand is a process that waits to become a command until it is traced: so
// that what the command does first is seen. It is this program itself, which
// executes the command when it reads a byte; the id of the process stays.
type heldCommand struct {
	cmd  *exec.Cmd
	gate *os.File
	done chan struct{} // closed when it has ended
	err  error         // of its end
}

// holdCommand starts the process. The caller calls kill.
func holdCommand(args []string, parent *cobra.Command) (*heldCommand, error) {
	path, err := exec.LookPath(args[0])
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", printable(args[0]), unwrapExec(err))
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	c := &heldCommand{gate: w, done: make(chan struct{})}
	c.cmd = exec.Command(self, append([]string{heldName, path}, args...)...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = parent.InOrStdin(), os.Stdout, os.Stderr
	c.cmd.ExtraFiles = []*os.File{r}
	if err := c.cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("start %s: %w", printable(args[0]), err)
	}
	return c, nil
}

// holdTraced is holdCommand for a command that a query is to trace, with all that it
// does: it completes the query. It is nil if there is no command.
func holdTraced(q *trace.Query, args []string, parent *cobra.Command) (*heldCommand, error) {
	if len(args) == 0 {
		return nil, nil
	}
	c, err := holdCommand(args, parent)
	if err != nil {
		return nil, err
	}
	q.PID, q.Later = c.pid(), true
	q.Files = commandFiles(c.path()) // to miss nothing of what it does first
	return c, nil
}

func unwrapExec(err error) error {
	var e *exec.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

func (c *heldCommand) pid() int { return c.cmd.Process.Pid }

// path returns the program that the command is.
func (c *heldCommand) path() string { return c.cmd.Args[2] }

// release lets the process become the command, and calls ended when that ends.
func (c *heldCommand) release(ended context.CancelFunc) error {
	_, err := c.gate.Write([]byte{1})
	err = errors.Join(err, c.gate.Close())
	c.gate = nil
	if err != nil {
		return fmt.Errorf("start %s: %w", printable(c.cmd.Args[2]), err)
	}
	go func() {
		c.err = c.cmd.Wait()
		close(c.done)
		ended()
	}()
	return nil
}

// wait returns nil if the command has ended with status 0, and a *childExit if it
// has ended otherwise. A command that goes on, because something else has ended
// the trace, is sent SIGTERM and waited for: the trace has started it.
func (c *heldCommand) wait() error {
	select {
	case <-c.done:
	default:
		c.cmd.Process.Signal(syscall.SIGTERM)
		<-c.done
		return nil
	}
	var exit *exec.ExitError
	if errors.As(c.err, &exit) {
		return &childExit{statusOf(exit)}
	}
	return c.err
}

// outlive is wait for the end of a session. If nothing else has ended that, no error,
// no number of events and not ctx, it was the end of the process: the session has seen
// it before the parent of the process does.
func (c *heldCommand) outlive(ctx context.Context, err error, enough bool) error {
	if err == nil && !enough && ctx.Err() == nil {
		<-c.done
	}
	return c.wait()
}

// kill ends a process that has not become the command. There may be none.
func (c *heldCommand) kill() error {
	if c == nil || c.gate == nil {
		return nil
	}
	err := c.gate.Close() // without a byte it ends by itself
	c.gate = nil
	c.cmd.Wait()
	return err
}

// A childExit is the exit status of a command that was started.
type childExit struct{ status int }

func (e *childExit) Error() string { return fmt.Sprintf("exit status %d", e.status) }

// statusOf is the status as shells give it: 128 and the signal for a process that
// was killed.
func statusOf(e *exec.ExitError) int {
	if ws, ok := e.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return e.ExitCode()
}

// heldName is the hidden command that waits.
const heldName = "exec-held"

// heldGate is the descriptor that it waits on: the first of ExtraFiles.
const heldGate = 3

// The command has to be executed by the first thread: when another executes, it
// takes the id of the process over, but for the kernel the traced task is gone
// (fs/exec.c, de_thread).
func init() {
	if len(os.Args) > 1 && os.Args[1] == heldName {
		runtime.LockOSThread() // an init runs on the first thread, and main after it
	}
}

// newHeld returns the hidden command.
func newHeld() *cobra.Command {
	return &cobra.Command{
		Use:                heldName,
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usagef("%s is for nopfire itself", heldName)
			}
			// A signal is for the command that this becomes: one that came just
			// before, and was caught, would be lost.
			signal.Reset(os.Interrupt, syscall.SIGTERM)
			gate := os.NewFile(heldGate, "gate")
			n, err := gate.Read(make([]byte, 1))
			if errors.Is(err, io.EOF) {
				return nil // it is not wanted any more, and why has been said
			}
			if n != 1 {
				return err
			}
			gate.Close()
			path, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			return fmt.Errorf("start %s: %w", printable(args[1]), replaceBy(path, args[1:]))
		},
	}
}
