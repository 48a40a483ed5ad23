//go:build unix

package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// keepBrokenPipes makes a write to a pipe that nobody reads an error, also on
// standard output, and not the end of the process: what is traced is to be let go in
// order. The signal is caught rather than ignored, since what is ignored stays
// ignored in a command that this process starts.
func keepBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// isBrokenPipe reports whether the reader of standard output has seen enough, as in
// nopfire trace … | head.
func isBrokenPipe(err error) bool {
	var pe *fs.PathError
	return errors.As(err, &pe) && pe.Path == os.Stdout.Name() && errors.Is(pe.Err, syscall.EPIPE)
}

// untilUnread returns a context that ends when nobody reads a pipe any more, with
// errUnread as its cause: a trace without events would not notice.
func untilUnread(ctx context.Context, f *os.File) context.Context {
	st, err := f.Stat()
	if err != nil || st.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return ctx
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		defer cancel(errUnread)
		// POLLERR and POLLHUP need not be asked for.
		fds := []unix.PollFd{{Fd: int32(f.Fd())}}
		for {
			if _, err := unix.Poll(fds, -1); !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}()
	return ctx
}
