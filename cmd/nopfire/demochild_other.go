//go:build !linux

package main

import "os/exec"

func detachFromTerminal(*exec.Cmd) {}
