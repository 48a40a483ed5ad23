// Command init is the first and only program of the virtual machines of
// selftests/vm, but for the tests that it runs: it mounts what they need, runs
// the groups of the plan, prints their output and their ends on the console (see
// internal/plan), and powers off.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nopfire/nopfire/selftests/vm/internal/plan"
)

func main() {
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "init: not the first process of a machine")
		os.Exit(2)
	}
	defer powerOff()
	if err := mountAll(); err != nil {
		note(plan.Fault, err)
		return
	}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		note(plan.Fault, fmt.Errorf("uname: %w", err))
		return
	}
	note(plan.Kernel, unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Machine[:]))
	data, err := os.ReadFile(plan.File)
	if err != nil {
		note(plan.Fault, err)
		return
	}
	var p plan.Plan
	if err := json.Unmarshal(data, &p); err != nil {
		note(plan.Fault, fmt.Errorf("%s: %w", plan.File, err))
		return
	}
	for _, g := range p.Groups {
		note(plan.Begin, g.Name)
		start := time.Now()
		status := runGroup(g)
		note(plan.End, g.Name, status, fmt.Sprintf("%.1f", time.Since(start).Seconds()))
	}
	reportKernelFaults()
	note(plan.Done)
}

// note prints a line of ours.
func note(words ...any) {
	printLine(plan.Note + strings.TrimSuffix(fmt.Sprintln(words...), "\n"))
}

var console sync.Mutex

// printLine writes a line at once.
func printLine(line string) {
	console.Lock()
	defer console.Unlock()
	_, _ = io.WriteString(os.Stdout, line+"\n")
}

// A mount is a file system that tests look for. What an older kernel lacks is
// left out: the tests that need it say so.
type mount struct {
	kind, dir, data string
	must            bool
}

var mounts = []mount{
	{kind: "devtmpfs", dir: "/dev", must: true},
	{kind: "proc", dir: "/proc", must: true},
	{kind: "sysfs", dir: "/sys", must: true},
	{kind: "tmpfs", dir: "/dev/shm", data: "mode=1777"},
	{kind: "devpts", dir: "/dev/pts"},
	{kind: "tmpfs", dir: "/tmp", data: "mode=1777", must: true},
	{kind: "tmpfs", dir: "/run", data: "mode=755", must: true},
	{kind: "bpf", dir: "/sys/fs/bpf"},
	{kind: "cgroup2", dir: "/sys/fs/cgroup"},
	{kind: "debugfs", dir: "/sys/kernel/debug"},
	{kind: "tracefs", dir: "/sys/kernel/tracing"},
	{kind: "securityfs", dir: "/sys/kernel/security"},
}

func mountAll() error {
	for _, m := range mounts {
		// Fails in file systems of the kernel, where the directory is there.
		_ = os.MkdirAll(m.dir, 0o755)
		err := unix.Mount(m.kind, m.dir, m.kind, 0, m.data)
		// The kernel may have mounted /dev already.
		if err != nil && err != unix.EBUSY && m.must {
			return fmt.Errorf("mount %s: %w", m.dir, err)
		}
	}
	return nil
}

// runGroup runs a test program, with its output on the console, and returns what
// became of it: "0", another exit status, the name of a signal, or "timeout".
func runGroup(g plan.Group) string {
	r, w, err := os.Pipe()
	if err != nil {
		note(plan.Fault, err)
		return "pipe"
	}
	cmd := exec.Command(g.Path, g.Args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = g.Dir, w, w
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "HOME=/root", "TMPDIR=/tmp", "NOPFIRE_PREBUILT=/programs"}
	if err := cmd.Start(); err != nil {
		w.Close()
		r.Close()
		note(plan.Fault, err)
		return "start"
	}
	w.Close()
	pid := cmd.Process.Pid

	read := make(chan struct{})
	go func() {
		defer close(read)
		for in := bufio.NewReader(r); ; {
			line, err := in.ReadString('\n')
			if line != "" {
				printLine(plan.Output + strings.TrimSuffix(line, "\n"))
			}
			if err != nil {
				return
			}
		}
	}()

	// The first process inherits every orphan, so it waits for all: exec's own
	// Wait would not.
	_ = cmd.Process.Release()
	ended, gone := make(chan syscall.WaitStatus, 1), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			var ws syscall.WaitStatus
			got, err := syscall.Wait4(-1, &ws, 0, nil)
			if err == syscall.EINTR {
				continue
			}
			if err != nil {
				return // ECHILD: all have gone
			}
			if got == pid {
				ended <- ws
			}
		}
	}()
	timeout := false
	var ws syscall.WaitStatus
	select {
	case ws = <-ended:
	case <-time.After(g.Limit):
		timeout = true
		// A Go program answers with the stacks of all goroutines.
		_ = syscall.Kill(pid, syscall.SIGQUIT)
		select {
		case ws = <-ended:
		case <-time.After(10 * time.Second):
			_ = syscall.Kill(-1, syscall.SIGKILL)
			ws = <-ended
		}
	}
	// Children that are left over hold the pipe and disturb the next group. The
	// signal goes to all processes but the first.
	_ = syscall.Kill(-1, syscall.SIGKILL)
	<-gone
	<-read
	r.Close()
	switch {
	case timeout:
		return "timeout"
	case ws.Signaled():
		return unix.SignalName(ws.Signal())
	}
	return fmt.Sprint(ws.ExitStatus())
}

// kernelFaults are how messages begin that the kernel should never print.
var kernelFaults = []string{"WARNING:", "BUG:", "Oops:", "Oops ", "Kernel panic", "INFO: task ", "general protection fault", "Internal error:"}

// reportKernelFaults notes the lines of the kernel's log that tell of a fault of
// its own: a tracer must not provoke any.
func reportKernelFaults() {
	buf := make([]byte, 1<<20)
	n, err := unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, buf)
	if err != nil {
		note(plan.Fault, fmt.Errorf("read the log of the kernel: %w", err))
		return
	}
	for line := range strings.Lines(string(buf[:n])) {
		for _, f := range kernelFaults {
			if strings.Contains(line, f) {
				note(plan.Fault, strings.TrimSpace(line))
				break
			}
		}
	}
}

func powerOff() {
	unix.Sync()
	// A machine that cannot switch itself off restarts: qemu ends with -no-reboot.
	for _, how := range []int{unix.LINUX_REBOOT_CMD_POWER_OFF, unix.LINUX_REBOOT_CMD_RESTART} {
		_ = unix.Reboot(how)
	}
	select {}
}
