//go:build !linux

// Command peers measures nopfire beside other tracers of Linux.
package main

func main() {}
