package selftest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nopfire/nopfire/urdt"
	"github.com/nopfire/nopfire/urdt/abi"
)

// environment returns the environment of processes: that of this one, without what
// would change what they print or whom they share an object of URDT with.
func environment(object string) []string {
	var env []string
	for _, v := range os.Environ() {
		switch name, _, _ := strings.Cut(v, "="); name {
		case abi.PathVariable, "XDG_RUNTIME_DIR", "NO_COLOR":
		default:
			env = append(env, v)
		}
	}
	return append(env, abi.PathVariable+"="+object, "XDG_RUNTIME_DIR=", "NO_COLOR=1")
}

// sharedObject writes liburdt.so.1 to a place that only processes of the check know.
func sharedObject(t *T) string {
	lib, err := urdt.Library()
	t.Must(err)
	path := filepath.Join(t.TempDir(), abi.Library)
	t.Must(os.WriteFile(path, lib, 0o755))
	return path
}

// A process is one that a check has started: nopfire with some arguments.
type process struct {
	t   *T
	cmd *exec.Cmd

	stdout, stderr bytes.Buffer
	ended          chan struct{} // closed when it has ended and err is known
	err            error
}

// command returns nopfire with arguments, on an object of URDT; "" for none that is
// shared.
func command(t *T, object string, args ...string) *exec.Cmd {
	line := append(append([]string(nil), t.command...), args...)
	cmd := exec.CommandContext(t.ctx, line[0], line[1:]...)
	cmd.Env = environment(object)
	cmd.WaitDelay = time.Second
	return cmd
}

// start starts nopfire. It is killed when the check has ended.
func start(t *T, object string, args ...string) *process {
	p := &process{t: t, cmd: command(t, object, args...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	t.Must(p.cmd.Start())
	go func() {
		defer close(p.ended)
		p.err = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-p.ended
	})
	return p
}

// wait waits until the process ends, and returns its status and what it has printed.
func (p *process) wait() (status int, stdout, stderr string) {
	<-p.ended // the context of the check ends it at last
	var exit *exec.ExitError
	if p.err != nil && !errors.As(p.err, &exit) {
		p.t.Fatalf("%s: %v", p.name(), p.err)
	}
	return p.cmd.ProcessState.ExitCode(), p.stdout.String(), p.stderr.String()
}

func (p *process) name() string { return strings.Join(p.cmd.Args[len(p.t.command):], " ") }

// finish runs nopfire to its end.
func finish(t *T, object string, args ...string) (status int, stdout, stderr string) {
	return start(t, object, args...).wait()
}

// waitLinks waits until the process holds n links of BPF, or more: it traces then.
func (p *process) waitLinks(n int) {
	p.t.WaitFor(fmt.Sprintf("%s has attached to %d places", p.name(), n), func() bool {
		select {
		case <-p.ended:
			p.t.Fatalf("%s has ended: %v\n%s%s", p.name(), p.err, p.stdout.String(), p.stderr.String())
		default:
		}
		return p.links() >= n
	})
}

// links counts the links of BPF that the process holds: each has a line "link_id:" in
// its fdinfo (bpf_link_show_fdinfo in kernel/bpf/syscall.c).
func (p *process) links() (n int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", p.cmd.Process.Pid))
	for _, f := range files {
		if data, err := os.ReadFile(f); err == nil && bytes.Contains(data, []byte("\nlink_id:")) {
			n++
		}
	}
	return n
}

// signal sends a signal.
func (p *process) signal(s syscall.Signal) { p.t.Must(p.cmd.Process.Signal(s)) }

// A peer is a process that runs Child.
type peer struct {
	t     *T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
	errs  bytes.Buffer
}

// startPeer starts a process that runs Child, on an object of URDT; "" for none that
// is shared. It ends with the check.
func startPeer(t *T, object string) *peer {
	p := &peer{t: t, cmd: command(t, object, ChildCommand)}
	p.cmd.Stderr = &p.errs
	var err error
	p.in, err = p.cmd.StdinPipe()
	t.Must(err)
	out, err := p.cmd.StdoutPipe()
	t.Must(err)
	p.lines = bufio.NewScanner(out)
	t.Must(p.cmd.Start())
	t.Cleanup(p.stop)
	return p
}

// stop ends the process.
func (p *peer) stop() {
	p.in.Close()
	for p.lines.Scan() { // what it still says must be read
	}
	p.cmd.Wait()
}

func (p *peer) pid() int { return p.cmd.Process.Pid }

// tell has the process do something, and returns its answer.
func (p *peer) tell(format string, args ...any) string {
	_, err := fmt.Fprintf(p.in, format+"\n", args...)
	p.t.Must(err)
	if !p.lines.Scan() {
		p.t.Fatalf("the traced process says nothing: %v\n%s", p.lines.Err(), p.errs.String())
	}
	answer := p.lines.Text()
	if strings.HasPrefix(answer, "error: ") {
		p.t.Fatalf("the traced process: %s\n%s", answer, p.errs.String())
	}
	return answer
}
