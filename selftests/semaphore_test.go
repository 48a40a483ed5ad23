//go:build linux

package selftests

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/procmaps"
)

// semaphoreOf reads the semaphore of a target in the memory of a process.
func semaphoreOf(t *testing.T, pid int, target *usdt.Target) uint16 {
	t.Helper()
	at := target.Locations[0].RefCtrOffset
	if at == 0 {
		t.Fatalf("%s has no semaphore", target)
	}
	for m, err := range procmaps.Of(pid) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Inode != target.ID.Inode || m.Perms&procmaps.Write == 0 || at < m.Off || at-m.Off >= m.End-m.Start {
			continue
		}
		mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
		if err != nil {
			t.Fatal(err)
		}
		defer mem.Close()
		var word [2]byte
		if _, err := mem.ReadAt(word[:], int64(m.Start+at-m.Off)); err != nil {
			t.Fatal(err)
		}
		return binary.NativeEndian.Uint16(word[:])
	}
	t.Fatalf("process %d has no writable mapping of the semaphore of %s", pid, target)
	return 0
}

// deadlineContext returns a context that ends with the test, or after d.
func deadlineContext(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
