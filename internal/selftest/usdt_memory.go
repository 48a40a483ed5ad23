package selftest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/emit"
	"github.com/nopfire/nopfire/internal/procmaps"
)

// semaphore reads the semaphore of a target in the memory of a process.
func semaphore(t *T, pid int, target *usdt.Target) uint16 {
	at := target.Locations[0].RefCtrOffset
	if at == 0 {
		t.Fatalf("%s has no semaphore", target)
	}
	for m, err := range procmaps.Of(pid) {
		t.Must(err)
		if m.Inode != target.ID.Inode || m.Perms&procmaps.Write == 0 || at < m.Off || at-m.Off >= m.End-m.Start {
			continue
		}
		var b [2]byte
		mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
		t.Must(err)
		_, err = mem.ReadAt(b[:], int64(m.Start+at-m.Off))
		mem.Close()
		t.Must(err)
		return binary.NativeEndian.Uint16(b[:])
	}
	t.Fatalf("process %d has not mapped the semaphore of %s", pid, target)
	return 0
}

// semaphoreProbe defines a probe with a semaphore in this process.
func semaphoreProbe(t *T) (*emit.Probe0, *usdt.Target) {
	p := newProvider(t, nil)
	h := define[*emit.Probe0](t, p)(emit.NewProbe0(p, "counted", &emit.ProbeOptions{Semaphore: true}))
	return h, oneTarget(t, os.Getpid(), "selftest:counted")
}

// The kernel counts breakpoints, not tracers: a second one at the same instruction
// changes nothing (uprobe_write_opcode in kernel/events/uprobes.c).
func usdtSemaphore(t *T) {
	h, target := semaphoreProbe(t)
	value := func(when string, up bool) {
		equal(t, "semaphore is above 0 "+when, semaphore(t, os.Getpid(), target) > 0, up)
		equal(t, "enabled "+when, h.Enabled(), up)
	}
	c := load(t, noteProgram)
	value("before", false)
	a, err := c.AttachUSDT(c.Programs["note"], target, nil)
	t.Must(err)
	value("with a tracer", true)
	b, err := c.AttachUSDT(c.Programs["note"], target, nil)
	t.Must(err)
	value("with two tracers", true)
	h.Fire()
	equal(t, "hits of both", variable[uint64](t, c, "hits"), uint64(2))
	t.Must(a.Close())
	value("with the second one alone", true)
	t.Must(b.Close())
	t.WaitFor("the semaphore is 0", func() bool { return semaphore(t, os.Getpid(), target) == 0 && !h.Enabled() })
}

func usdtKilled(t *T) {
	p := startPeer(t, "")
	p.tell("define counted semaphore")
	target := oneTarget(t, p.pid(), "selftest:counted")
	tracer := start(t, "", "trace", "-p", fmt.Sprint(p.pid()), "selftest:counted")
	tracer.waitLinks(1)
	equal(t, "semaphore with a tracer", semaphore(t, p.pid(), target), uint16(1))
	tracer.signal(syscall.SIGKILL)
	tracer.wait()
	t.WaitFor("the semaphore is 0", func() bool { return semaphore(t, p.pid(), target) == 0 })
	p.tell("fire 1") // and the process is well
}

func usdtConflict(t *T) {
	_, target := semaphoreProbe(t)
	without := *target
	without.Locations = slices.Clone(target.Locations)
	without.Locations[0].Semaphore, without.Locations[0].RefCtrOffset = 0, 0
	attachNote(t, target, nil)
	c := load(t, noteProgram)
	l, err := c.AttachUSDT(c.Programs["note"], &without, nil)
	if err == nil {
		l.Close()
	}
	wantErrorAs[*usdt.ConflictError](t, "attach without the semaphore", err)
	equal(t, "semaphore", semaphore(t, os.Getpid(), target), uint16(1))
}

func usdtDetach(t *T) {
	forms := []elfgen.NopForm{elfgen.FormNop1}
	if runtime.GOARCH == "amd64" {
		forms = append(forms, elfgen.FormNop5)
	}
	for _, form := range forms {
		p := newProvider(t, &emit.Options{NopForm: form})
		h := define[*emit.Probe0](t, p)(emit.NewProbe0(p, "site", nil))
		target := oneTarget(t, os.Getpid(), "selftest:site")
		before := code(t, target)
		c := load(t, noteProgram)
		l, err := c.AttachUSDT(c.Programs["note"], target, nil)
		t.Must(err)
		h.Fire()
		h.Fire()
		if during := code(t, target); bytes.Equal(during, before) {
			t.Errorf("%v: the code is % x, traced or not", form, during)
		}
		t.Must(l.Close())
		t.WaitFor(fmt.Sprintf("%v: the code is what it was, % x", form, before), func() bool { return bytes.Equal(code(t, target), before) })
		h.Fire()
		equal(t, fmt.Sprintf("%v: hits", form), variable[uint64](t, c, "hits"), uint64(2))
		t.Must(p.Close())
	}
}

// code reads the 8 bytes at the location of a target in this process.
func code(t *T, target *usdt.Target) []byte {
	at := target.Locations[0].Offset
	for m, err := range procmaps.Of(os.Getpid()) {
		t.Must(err)
		if m.Inode != target.ID.Inode || m.Perms&procmaps.Exec == 0 || at < m.Off || at-m.Off >= m.End-m.Start {
			continue
		}
		b := make([]byte, 8)
		mem, err := os.Open("/proc/self/mem")
		t.Must(err)
		_, err = mem.ReadAt(b, int64(m.Start+at-m.Off))
		mem.Close()
		t.Must(err)
		return b
	}
	t.Fatalf("the site of %s is not mapped", target)
	return nil
}
