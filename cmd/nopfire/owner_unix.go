//go:build unix

package main

import (
	"os"
	"syscall"
)

// ownedByRoot reports whether a file belongs to root.
func ownedByRoot(st os.FileInfo) bool { return ownedBy(st, 0) }

// ownedBy reports whether a file belongs to a user.
func ownedBy(st os.FileInfo, uid int) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == uid
}
