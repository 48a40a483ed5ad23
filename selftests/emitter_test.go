package selftests

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/nopfire/nopfire/internal/testutils"
)

// An emitter is a running selftests/testprogs/emitter: see there for the commands
// and the values it fires.
type emitter struct {
	*testutils.Child
	// Path is where a tracer finds the object with the probes.
	Path string
	// Form is the nop form of its sites, Backing the kind of file behind it.
	Form, Backing string
	// Fired is the number of fires so far, and so the number of the next.
	Fired int
}

// emitterBinary builds the emitter once for all tests.
var emitterBinary = struct {
	once sync.Once
	path string
	err  error
}{}

func buildEmitter(t *testing.T) string {
	t.Helper()
	b := &emitterBinary
	b.once.Do(func() {
		b.path = filepath.Join(sharedDir, "emitter")
		cmd := exec.Command("go", "build", "-o", b.path, "./testprogs/emitter")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.err = fmt.Errorf("build the emitter: %w\n%s", err, out)
		}
	})
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.path
}

// startEmitter starts an emitter with the given flags; it ends with the test.
func startEmitter(t *testing.T, flags ...string) *emitter {
	t.Helper()
	return startEmitterProgram(t, buildEmitter(t), flags...)
}

func startEmitterProgram(t *testing.T, program string, flags ...string) *emitter {
	t.Helper()
	e := &emitter{Child: testutils.Start(t, program, flags...)}
	if line := e.ReadLine(); line != "ready" {
		t.Fatalf("emitter says %q", line)
	}
	info := e.command("info")
	if _, err := fmt.Sscanf(info, "info %s %s %s", &e.Path, &e.Form, &e.Backing); err != nil {
		t.Fatalf("emitter says %q: %v", info, err)
	}
	return e
}

// command sends a command and returns the answer.
func (e *emitter) command(line string) string {
	e.WriteLine(line)
	return e.ReadLine()
}

// fire fires every probe n times.
func (e *emitter) fire(t *testing.T, n int) {
	t.Helper()
	e.Fired += n
	if got, want := e.command("fire "+strconv.Itoa(n)), "fired "+strconv.Itoa(e.Fired); got != want {
		t.Fatalf("emitter says %q, want %q", got, want)
	}
}
