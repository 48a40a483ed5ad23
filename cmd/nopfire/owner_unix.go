//go:build unix

package main

import (
	"os"
	"syscall"
)

// ownedByRoot reports whether a file belongs to root.
func ownedByRoot(st os.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && sys.Uid == 0
}
