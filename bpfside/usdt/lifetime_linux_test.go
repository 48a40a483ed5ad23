package usdt_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// A tracer that is killed leaves no semaphore raised.
func TestTracerKilled(t *testing.T) {
	for _, m := range []usdt.Method{usdt.UprobeMulti, usdt.PerfEvent} {
		t.Run(m.String(), func(t *testing.T) {
			needMethod(t, m)
			c := testutils.Start(t, buildSDT(t, "-DSEMAPHORES"))
			c.ReadLine()
			cmd := exec.Command(os.Args[0], "-test.run=^TestHoldAttached$")
			cmd.Env = append(os.Environ(), fmt.Sprintf("NOPFIRE_TEST_PID=%d", c.PID), usdt.EnvMethod+"="+m.String())
			tracer := testutils.StartCmd(t, cmd)
			if line := tracer.ReadLine(); line != "attached" {
				t.Fatalf("tracer says %q: %s", line, tracer.Stderr())
			}
			if sem := fireSDT(t, c, 1); sem != "1" {
				t.Errorf("semaphore %s while attached, want 1", sem)
			}
			if err := tracer.Cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			tracer.Wait()
			// The kernel takes links away from a worker of its own.
			deadline := time.Now().Add(5 * time.Second)
			sem := fireSDT(t, c, 1)
			for sem != "0" && time.Now().Before(deadline) {
				time.Sleep(10 * time.Millisecond)
				sem = fireSDT(t, c, 1)
			}
			if sem != "0" {
				t.Errorf("semaphore %s after the tracer was killed, want 0", sem)
			}
		})
	}
}

// TestHoldAttached is the tracer of TestTracerKilled: it attaches and waits.
func TestHoldAttached(t *testing.T) {
	pid, err := strconv.Atoi(os.Getenv("NOPFIRE_TEST_PID"))
	if err != nil {
		t.Skip("skipped: run by TestTracerKilled")
	}
	res, err := usdt.ProcessTargets(pid, "app:values")
	if err != nil {
		t.Fatal(err)
	}
	newRig(t, res.Targets[0], usdt.Auto, -1).attach(res.Targets[0], nil)
	fmt.Println("attached")
	time.Sleep(time.Minute)
}

// Attach and detach, again and again: no hit is lost or comes twice, no
// descriptor stays open, the semaphore goes back to 0. NOPFIRE_CYCLES sets how
// often.
func TestAttachCycles(t *testing.T) {
	needMethod(t, usdt.UprobeMulti)
	cycles := 20
	if n, err := strconv.Atoi(os.Getenv("NOPFIRE_CYCLES")); err == nil {
		cycles = n
	}
	c := testutils.Start(t, buildSDT(t, "-DSEMAPHORES"))
	c.ReadLine()
	res, err := usdt.ProcessTargets(c.PID, "app:values")
	if err != nil {
		t.Fatal(err)
	}
	target := res.Targets[0]
	r := newRig(t, target, usdt.UprobeMulti, -1)
	fds := testutils.CountFDs(t)
	for i := range cycles {
		l, err := usdt.AttachUSDT(r.prog, target, &usdt.Options{Cookie: uint64(i)})
		if err != nil {
			t.Fatalf("cycle %d: %v", i, err)
		}
		if sem := fireSDT(t, c, i); sem != "1" {
			t.Fatalf("cycle %d: semaphore %s while attached", i, sem)
		}
		if err := l.Close(); err != nil {
			t.Fatalf("cycle %d: %v", i, err)
		}
		if sem := fireSDT(t, c, i); sem != "0" {
			t.Fatalf("cycle %d: semaphore %s after detach", i, sem)
		}
	}
	for i, h := range r.hits(cycles) {
		if h.cookie != uint64(i) || h.values[0] != uint64(i) {
			t.Errorf("hit %d: cookie %d, value %d", i, h.cookie, h.values[0])
		}
	}
	if got := testutils.CountFDs(t); got != fds {
		t.Errorf("%d descriptors after %d cycles, %d before", got, cycles, fds)
	}
}
