//go:build !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

func cmdAsUser(ts *testscript.TestScript, neg bool, args []string) {
	ts.Fatalf("asuser is for Linux")
}

func cmdTraced(ts *testscript.TestScript, neg bool, args []string) {
	ts.Fatalf("traced is for Linux")
}
