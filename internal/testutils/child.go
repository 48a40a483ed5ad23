package testutils

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a child may take: on a busy machine a tracer that has to
// wait for grace periods of the kernel takes many seconds to detach.
const patience = time.Minute

// BuildC compiles a C program with gcc and returns the path of the executable,
// which lives as long as the test. The flags are given to gcc after the file, so
// that libraries may stand in them; "-shared -fPIC" makes a library.
func BuildC(t testing.TB, src string, flags ...string) string {
	t.Helper()
	gcc := Oracle(t, "gcc")
	dir := t.TempDir()
	file := filepath.Join(dir, "prog.c")
	if err := os.WriteFile(file, []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "prog")
	args := append([]string{"-O2", "-g", "-o", out, file}, flags...)
	if msg, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %s: %v\n%s", strings.Join(args, " "), err, msg)
	}
	return out
}

// GoBuild builds the main package pkg, an import path or a path relative to the
// test's directory, and returns the path of the executable, which lives as long
// as the test. The strings of env ("GOARCH=arm64") are added to the environment
// of the build; CGO_ENABLED=0 unless they say otherwise.
// It is not built if Prebuilt knows it.
func GoBuild(t testing.TB, pkg string, env ...string) string {
	t.Helper()
	if prog, ok := Prebuilt(pkg); ok && len(env) == 0 {
		return prog
	}
	goTool := Oracle(t, "go")
	out := filepath.Join(t.TempDir(), "prog")
	cmd := exec.Command(goTool, "build", "-o", out, pkg)
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, msg)
	}
	return out
}

// Prebuilt returns the executable of a main package that was built before, for a
// machine without Go (selftests/vm): it lies in the directory of NOPFIRE_PREBUILT,
// under the last element of the path of its package.
func Prebuilt(pkg string) (string, bool) {
	dir := os.Getenv("NOPFIRE_PREBUILT")
	if dir == "" {
		return "", false
	}
	prog := filepath.Join(dir, filepath.Base(pkg))
	_, err := os.Stat(prog)
	return prog, err == nil
}

// A Child is a running program that talks in lines. It is killed and waited for
// when the test ends.
type Child struct {
	Cmd *exec.Cmd
	// PID is the process id.
	PID int

	t      testing.TB
	in     io.WriteCloser
	lines  chan string
	stderr *lockedBuffer
	done   chan struct{}
	err    error // of Wait, once done is closed
}

// Start starts a program with pipes as standard input and output.
func Start(t testing.TB, path string, args ...string) *Child {
	t.Helper()
	return StartCmd(t, exec.Command(path, args...))
}

// StartCmd starts a prepared command, whose Stdin, Stdout and Stderr must be
// unset.
func StartCmd(t testing.TB, cmd *exec.Cmd) *Child {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c := &Child{Cmd: cmd, t: t, in: in, lines: make(chan string, 1024), stderr: new(lockedBuffer), done: make(chan struct{})}
	cmd.Stderr = c.stderr
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", cmd.Path, err)
	}
	c.PID = cmd.Process.Pid
	stop := make(chan struct{})
	go func() {
		defer close(c.done)
		sc := bufio.NewScanner(out)
		for sc.Scan() {
			select {
			case c.lines <- sc.Text():
			case <-stop:
			}
		}
		close(c.lines)
		c.err = cmd.Wait()
	}()
	t.Cleanup(func() {
		close(stop)
		c.in.Close()
		c.Cmd.Process.Kill()
		<-c.done
		if t.Failed() && c.stderr.String() != "" {
			t.Logf("standard error of %s:\n%s", filepath.Base(cmd.Path), c.stderr)
		}
	})
	return c
}

// WriteLine sends a line to the child.
func (c *Child) WriteLine(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatalf("write to child: %v", err)
	}
}

// ReadLine returns the next line of the child's standard output. It fails the
// test if none comes within patience or the output ends.
func (c *Child) ReadLine() string {
	c.t.Helper()
	line, err := c.TryReadLine(patience)
	if err != nil {
		c.t.Fatalf("read from child: %v\n%s", err, c.stderr)
	}
	return line
}

// TryReadLine is ReadLine with a timeout of its own and an error instead of a
// failed test.
func (c *Child) TryReadLine(timeout time.Duration) (string, error) {
	select {
	case line, ok := <-c.lines:
		if !ok {
			return "", io.EOF
		}
		return line, nil
	case <-time.After(timeout):
		return "", fmt.Errorf("%w: %s", errTimeout, timeout)
	}
}

// Stderr returns what the child has written to standard error so far.
func (c *Child) Stderr() string { return c.stderr.String() }

// CloseInput closes the child's standard input: for most programs here the sign
// to end.
func (c *Child) CloseInput() { c.in.Close() }

// Wait waits, up to patience, for the end of the child and returns its exit
// error. Lines that were not read are dropped.
func (c *Child) Wait() error {
	c.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case <-c.done:
			return c.err
		case _, ok := <-c.lines:
			if !ok {
				c.lines = nil
			}
		case <-deadline:
			c.t.Fatalf("child %d does not end", c.PID)
		}
	}
}

// Interrupt sends SIGINT, again and again, until the child ends, and returns its
// exit error. Once is not enough for bpftrace: a signal that comes while it
// prints sets a flag that it looks at only when its wait is interrupted.
func (c *Child) Interrupt() error {
	c.t.Helper()
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	go func() {
		for {
			c.Cmd.Process.Signal(os.Interrupt)
			select {
			case <-c.done:
				return
			case <-again.C:
			}
		}
	}()
	return c.Wait()
}

// A lockedBuffer is a bytes.Buffer for one writer and one reader at a time.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
