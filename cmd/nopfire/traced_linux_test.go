package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cilium/ebpf/link"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/nopfire/nopfire/internal/feature"
)

// cmdTraced waits until the commands that the script has in the background have a
// number of links in a file. Those of other scripts do not count: what traces all
// processes attaches to the objects of every script, and this one's commands may not
// have begun.
func cmdTraced(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: traced N FILE")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	if n <= 0 {
		ts.Fatalf("traced %d waits for nothing", n)
	}
	path := ts.MkAbs(args[1])
	file, err := os.Stat(path)
	ts.Check(err)
	count := func() int { return linksIn(ts, file) }
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

// linksIn returns how many links of uprobes the commands in the background have in a
// file.
func linksIn(ts *testscript.TestScript, file os.FileInfo) (n int) {
	for _, cmd := range ts.BackgroundCmds() {
		for _, id := range linksOf(cmd.Process.Pid) {
			if standsIn(id, file) {
				n++
			}
		}
	}
	return n
}

// linksOf returns the links that a process has descriptors of
// (bpf_link_show_fdinfo, kernel/bpf/syscall.c).
func linksOf(pid int) (ids []link.ID) {
	infos, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	for _, path := range infos {
		info, err := os.ReadFile(path)
		if err != nil {
			continue // closed meanwhile
		}
		for line := range strings.Lines(string(info)) {
			rest, ok := strings.CutPrefix(line, "link_id:")
			if id, err := strconv.ParseUint(strings.TrimSpace(rest), 10, 32); ok && err == nil {
				ids = append(ids, link.ID(id))
			}
		}
	}
	return ids
}

// standsIn reports whether a link is one of uprobes in a file.
func standsIn(id link.ID, file os.FileInfo) bool {
	l, err := link.NewFromID(id)
	if err != nil {
		return false // closed meanwhile
	}
	defer l.Close()
	info, err := l.Info()
	if err != nil || info.UprobeMulti() == nil {
		return false
	}
	st, err := os.Stat(info.UprobeMulti().File)
	return err == nil && os.SameFile(st, file)
}
