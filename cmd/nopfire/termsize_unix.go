//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// terminalSize returns the columns and lines of a terminal, 0 for what is none.
func terminalSize(v any) (columns, lines int) {
	f, ok := v.(*os.File)
	if !ok {
		return 0, 0
	}
	c, err := f.SyscallConn()
	if err != nil {
		return 0, 0
	}
	_ = c.Control(func(fd uintptr) {
		if ws, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ); err == nil {
			columns, lines = int(ws.Col), int(ws.Row)
		}
	})
	return columns, lines
}
