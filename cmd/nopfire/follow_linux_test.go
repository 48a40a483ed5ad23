//go:build amd64 || arm64

package main

import (
	"bufio"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nopfire/nopfire/internal/testutils"
)

// What the process loads after the trace has begun is traced too.
func TestTraceFollows(t *testing.T) {
	testutils.NeedBPF(t)
	app := testutils.Start(t, testutils.GoBuild(t, "../../bpfside/usdt/testdata/goprog"))
	app.ReadLine()
	trace := exec.Command(nopfire(t), "trace", "-p", strconv.Itoa(app.PID), "goapp:*", "-n", "1")
	out, err := trace.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := trace.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if _, err := lines.ReadString('\n'); err != nil { // the header: it traces
		t.Fatal(err)
	}
	app.WriteLine("more")
	app.ReadLine()
	fired := make(chan struct{})
	defer func() { <-fired }()
	done := make(chan struct{})
	defer close(done)
	go func() {
		defer close(fired)
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
				app.WriteLine("extra")
				app.ReadLine()
			}
		}
	}()
	hung := time.AfterFunc(10*time.Second, func() { trace.Process.Kill() })
	defer hung.Stop()
	line, err := lines.ReadString('\n')
	if err != nil || !strings.Contains(line, "goapp:extra") || !strings.Contains(line, "arg1=1s") {
		t.Errorf("line %q, error %v, want a hit of goapp:extra", line, err)
	}
	if err := trace.Wait(); err != nil {
		t.Errorf("trace ends with %v", err)
	}
}
