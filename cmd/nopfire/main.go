// Command nopfire lists and traces USDT probes, those that are defined at run
// time included. See nopfire help.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/cilium/ebpf"
	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/internal/feature"
)

// The exit statuses, as the help text documents them.
const (
	exitOK         = 0
	exitFailure    = 1
	exitUsage      = 2
	exitPrivileges = 3
)

// errUnread is why a context has ended when nobody reads standard output any more.
var errUnread = errors.New("nobody reads the output")

func main() { os.Exit(command()) }

// command is the whole program: it reads os.Args and returns the exit status.
func command() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	keepBrokenPipes()
	return execute(untilUnread(ctx, os.Stdout), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// execute runs the command line and returns the exit status.
func execute(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errw)
	// Whatever goes wrong before a command has started is the command line's
	// fault: cobra has no type for these errors.
	started := false
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }

	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	var child *childExit
	if errors.As(err, &child) {
		return child.status
	}
	if isBrokenPipe(err) || errors.Is(context.Cause(ctx), errUnread) {
		return exitOK // whoever reads has seen enough
	}
	printError(errw, err)
	laterHint(errw, cmd, err)
	var usage *usageError
	switch {
	case !started || errors.As(err, &usage) || isExpression(err):
		fmt.Fprintf(errw, "Run '%s -h' for help.\n", cmd.CommandPath())
		return exitUsage
	case isPermission(err):
		return exitPrivileges
	}
	return exitFailure
}

// A usageError is a mistake in the command line that a command itself found.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// isPermission reports whether an operation was refused for want of privilege.
func isPermission(err error) bool {
	// The verifier answers EACCES to programs that it will not have of anybody.
	var ve *ebpf.VerifierError
	if errors.As(err, &ve) && len(ve.Log) > 0 {
		return false
	}
	var pe *feature.PermissionError
	return errors.As(err, &pe) || errors.Is(err, os.ErrPermission)
}
