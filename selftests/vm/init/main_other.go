//go:build !linux

// Command init is the first process of a virtual machine that runs Linux.
package main

func main() {}
