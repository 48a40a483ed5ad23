package main

import (
	"os/exec"
	"syscall"
)

// detachFromTerminal puts the child into a process group of its own: an
// interrupt from the terminal is for the parent, which ends the child in order.
func detachFromTerminal(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
