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

func buildEmitter(t testing.TB) string {
	t.Helper()
	if prog, ok := testutils.Prebuilt("testprogs/emitter"); ok {
		return prog
	}
	goTool := testutils.Oracle(t, "go")
	b := &emitterBinary
	b.once.Do(func() {
		b.path = filepath.Join(sharedDir, "emitter")
		cmd := exec.Command(goTool, "build", "-o", b.path, "./testprogs/emitter")
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
func startEmitter(t testing.TB, flags ...string) *emitter {
	t.Helper()
	return startEmitterProgram(t, buildEmitter(t), flags...)
}

func startEmitterProgram(t testing.TB, program string, flags ...string) *emitter {
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
func (e *emitter) fire(t testing.TB, n int) {
	t.Helper()
	e.Fired += n
	if got, want := e.command("fire "+strconv.Itoa(n)), "fired "+strconv.Itoa(e.Fired); got != want {
		t.Fatalf("emitter says %q, want %q", got, want)
	}
}

// wantEvent is the text of the event that testprogs/emitter's fire i makes of a
// probe, without the pointer of "other".
func wantEvent(probe string, i int64) string {
	switch probe {
	case "zero":
		return "selftest:zero"
	case "ints":
		return fmt.Sprintf("selftest:ints i8=%d u8=%d i16=%d u16=%d i32=%d u32=%d i64=%d u64=%d",
			int8(-i), uint8(200+i), int16(-300*i), uint16(60000+i), int32(-70000*i), uint32(4000000000+i), -5000000000*i, 1<<63+uint64(i))
	case "args12":
		return fmt.Sprintf("selftest:args12 arg1=%d arg2=-2 arg3=3 arg4=-4 arg5=5 arg6=-6 arg7=7 arg8=-8 arg9=9 arg10=-10 arg11=11 arg12=-12", i)
	case "mixed12":
		return fmt.Sprintf("selftest:mixed12 arg1=-1 arg2=255 arg3=%d arg4=128 arg5=-2 arg6=65534 arg7=-3 arg8=4294967293 arg9=-4 arg10=18446744073709551611 arg11=-32768 arg12=-128", int8(i))
	case "text":
		return fmt.Sprintf("selftest:text seq=%d msg=%q", i, fmt.Sprintf("message %d", i))
	case "floats":
		return fmt.Sprintf("selftest:floats f32=%v f64=%v", float32(i)+0.5, float64(i)+0.25)
	case "other":
		return fmt.Sprintf("selftest:other ok=%t err=%q ", i%2 == 1, fmt.Sprintf("error %d", i))
	case "bytes":
		return fmt.Sprintf("selftest:bytes data=%q", []byte{byte(i), 0, 0xff})
	}
	return "no such probe"
}
