package main

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cilium/ebpf/link"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/nopfire/nopfire/internal/feature"
)

// cmdTraced waits until a number of links stand in a file.
func cmdTraced(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: traced N FILE")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	path := ts.MkAbs(args[1])
	file, err := os.Stat(path)
	ts.Check(err)
	count := func() int { return linksIn(file) }
	if feature.UprobeMulti.Check() != nil {
		count = func() int { return placesIn(ts, path) }
	}
	for range 1000 {
		if count() >= n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("%d links in %s, want %d", count(), args[1], n)
}

// placesIn returns how many places of a file are traced in all processes, of which
// this is one: those where its text is another in memory. It stands in for linksIn
// where links do not say what they trace.
func placesIn(ts *testscript.TestScript, path string) (n int) {
	f, err := os.Open(path)
	ts.Check(err)
	defer f.Close()
	file, err := io.ReadAll(f)
	ts.Check(err)
	memory, err := unix.Mmap(int(f.Fd()), 0, len(file), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	ts.Check(err)
	defer func() { ts.Check(unix.Munmap(memory)) }()
	const apart = 16 // no two sites of an object are closer (elfgen/internal/site)
	for i := 0; i+apart <= len(file); i += apart {
		if !bytes.Equal(memory[i:i+apart], file[i:i+apart]) {
			n++
		}
	}
	return n
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
