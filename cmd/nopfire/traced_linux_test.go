package main

import (
	"os"
	"strconv"
	"time"

	"github.com/cilium/ebpf/link"
	"github.com/rogpeppe/go-internal/testscript"
)

// cmdTraced waits until a number of links stand in a file.
func cmdTraced(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: traced N FILE")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	file, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	for range 1000 {
		if linksIn(file) >= n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("%d links in %s, want %d", linksIn(file), args[1], n)
}

// linksIn returns how many links of uprobes stand in a file.
func linksIn(file os.FileInfo) (n int) {
	it := new(link.Iterator)
	defer it.Close()
	for it.Next() {
		info, err := it.Link.Info()
		if err != nil || info.UprobeMulti() == nil {
			continue
		}
		if st, err := os.Stat(info.UprobeMulti().File); err == nil && os.SameFile(st, file) {
			n++
		}
	}
	return n
}
