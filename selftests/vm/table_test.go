package main

import (
	"strings"
	"testing"
	"time"
)

func TestPrintResults(t *testing.T) {
	good := read(t, console)
	good.machine, good.took = "6.1-amd64", 62*time.Second
	good.groups[0].tests = []test{
		{name: "TestA", action: "pass"},
		{name: "TestB", action: "skip", output: "    b_test.go:1: skipped: no go in PATH\n"},
		{name: "TestC", action: "skip", output: "    b_test.go:2: skipped: no go in PATH\n"},
	}
	good.groups[1].tests = []test{{name: "TestD", action: "pass"}}

	bad := read(t, console[:strings.Index(console, "# end usdt")]+"[    2.0] Kernel panic\n")
	bad.machine = "6.12-amd64"
	bad.groups[0].tests = []test{
		{name: "TestA", action: "fail", output: "    a_test.go:5: got 1\n"},
		{name: "TestB", action: "skip", output: "    b_test.go:1: skipped: no go in PATH\n"},
	}
	bad.groups[0].status = "1"
	bad.groups[1].output = []byte("the last words of usdt\n")

	none := &result{machine: "6.12-arm64", faults: []string{"no qemu"}}

	var b strings.Builder
	printResults(&b, []*result{good, bad, none}, []group{{name: "emit"}, {name: "usdt"}})
	want := `
== 6.12-amd64 emit: status 1
-- fail TestA
    a_test.go:5: got 1

== 6.12-amd64 usdt: status none
the last words of usdt

== 6.12-amd64: did not come to its end; the last that it has printed:
[    0.000000] Linux version 6.1
[    2.0] Kernel panic

== 6.12-arm64: no qemu

== 6.12-arm64: did not come to its end; the last that it has printed:


skipped, with the reason

2  1  0  emit  no go in PATH

ok/failed/skipped, by group and kernel

group    6.1-amd64             6.12-amd64            6.12-arm64
emit     1/0/2                 0/1/1 status 1        not run
usdt     1/0/0                 0/0/0 status none     not run
kernel   6.1.0-57-cloud-amd64  6.1.0-57-cloud-amd64  did not boot
seconds  62                    0                     0
`
	if b.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", b.String(), want)
	}
}
