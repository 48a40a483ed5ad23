//go:build unix

package main

import (
	"os"
	"syscall"
)

// replaceBy replaces this process by a command; it returns if it could not.
func replaceBy(path string, args []string) error { return syscall.Exec(path, args, os.Environ()) }
