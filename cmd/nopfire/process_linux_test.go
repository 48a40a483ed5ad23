//go:build amd64 || arm64

package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nopfire/nopfire/internal/testutils"
)

// nopfire returns a file that is this command: the test binary under another
// name, by which TestMain knows what to be.
func nopfire(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "nopfire")
	if os.Link(exe, path) == nil {
		return path
	}
	data, err := os.ReadFile(exe)
	if err == nil {
		err = os.WriteFile(path, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// keptDemo starts a demo that goes on, and returns it with the process id of its
// child once it has traced something.
func keptDemo(t *testing.T) (*testutils.Child, string) {
	t.Helper()
	testutils.NeedBPF(t)
	c := testutils.Start(t, nopfire(t), "demo", "--keep", "-n", "1")
	var pid string
	for {
		line := c.ReadLine()
		if m := regexp.MustCompile(`^Process (\d+) has defined`).FindStringSubmatch(line); m != nil {
			pid = m[1]
		}
		if strings.Contains(line, "✓") && pid != "" {
			return c, pid
		}
	}
}

// gone waits until the process has ended.
func gone(t *testing.T, pid string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		// An orphan whose new parent has not waited yet is gone as well.
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Errorf("process %s lives on", pid)
}

// The child ends with its parent, however that ends.
func TestDemoChildEndsWithItsParent(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			demo, pid := keptDemo(t)
			if err := demo.Cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			err := demo.Wait()
			if sig != syscall.SIGKILL && err != nil {
				t.Errorf("demo ends with %v", err)
			}
			gone(t, pid)
		})
	}
}

// A demo that is interrupted while its child fires as fast as it can ends soon and
// in order: what was lost in the detaching is no difference.
func TestDemoInterrupted(t *testing.T) {
	testutils.NeedBPF(t)
	demo := exec.Command(nopfire(t), "demo", "--json", "--count", "1000000000")
	var errs bytes.Buffer
	demo.Stderr = &errs
	out, err := demo.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := demo.Start(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for lines := bufio.NewScanner(out); lines.Scan(); n++ {
		if n == 1000 {
			demo.Process.Signal(os.Interrupt)
		}
	}
	want := regexp.MustCompile(`^nopfire: demo: \d+ events, each equal to what process \d+ says it fired\n$`)
	if err := demo.Wait(); err != nil || n <= 1000 || !want.Match(errs.Bytes()) {
		t.Errorf("after %d events the demo ends with %v and says %.200q", n, err, errs.String())
	}
}

// An interrupt is an orderly end: what was gathered is printed, status 0.
func TestTraceInterrupted(t *testing.T) {
	demo, pid := keptDemo(t)
	trace := exec.Command(demo.Cmd.Path, "trace", "-p", pid, "shop:*", "--json")
	out, err := trace.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := trace.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		if !strings.HasPrefix(lines.Text(), `{"time":`) || !strings.HasSuffix(lines.Text(), "}") {
			t.Errorf("line %q", lines.Text())
		}
		if n == 1 {
			trace.Process.Signal(os.Interrupt)
		}
	}
	if err := trace.Wait(); err != nil {
		t.Errorf("trace ends with %v", err)
	}
}

// A reader that has seen enough ends the trace, without a word.
func TestTraceBrokenPipe(t *testing.T) {
	demo, pid := keptDemo(t)
	trace := exec.Command(demo.Cmd.Path, "trace", "-p", pid, "shop:*")
	out, err := trace.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	trace.Stderr = &errs
	if err := trace.Start(); err != nil {
		t.Fatal(err)
	}
	bufio.NewReader(out).ReadString('\n')
	out.Close()
	hung := time.AfterFunc(10*time.Second, func() { trace.Process.Kill() })
	defer hung.Stop()
	if err := trace.Wait(); err != nil {
		t.Errorf("trace ends with %v", err)
	}
	if errs.Len() > 0 {
		t.Errorf("standard error: %s", errs.String())
	}
}

// So does one that has gone while there is nothing to print.
func TestTraceUnread(t *testing.T) {
	demo, pid := keptDemo(t)
	trace := exec.Command(demo.Cmd.Path, "trace", "-p", pid, "shop:*", "--name", "nobody")
	out, err := trace.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := trace.Start(); err != nil {
		t.Fatal(err)
	}
	bufio.NewReader(out).ReadString('\n') // the header
	out.Close()
	hung := time.AfterFunc(10*time.Second, func() { trace.Process.Kill() })
	defer hung.Stop()
	if err := trace.Wait(); err != nil {
		t.Errorf("trace ends with %v", err)
	}
}

// The trace ends with the process that it traces.
func TestTraceEndsWithTheProcess(t *testing.T) {
	demo, pid := keptDemo(t)
	trace := exec.Command(demo.Cmd.Path, "trace", "-p", pid, "shop:*")
	out, err := trace.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := trace.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for range 2 { // the header and an event
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	demo.Cmd.Process.Kill()
	hung := time.AfterFunc(10*time.Second, func() { trace.Process.Kill() })
	defer hung.Stop()
	if err := trace.Wait(); err != nil {
		t.Errorf("trace ends with %v", err)
	}
}
