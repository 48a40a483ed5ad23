package emit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/internal/testutils"
)

// A stranger for the tests of this package: the kernel's own uprobes through
// perf_event_open, which need neither BPF nor a tool. An event can sample the
// registers, so the arguments are seen as a tracer sees them.

// perfAttr is struct perf_event_attr of include/uapi/linux/perf_event.h, up to
// PERF_ATTR_SIZE_VER5.
type perfAttr struct {
	typ, size            uint32
	config, samplePeriod uint64
	sampleType           uint64
	readFormat, flags    uint64
	wakeup, bpType       uint32
	config1, config2     uint64
	branchSample         uint64
	sampleRegsUser       uint64
	sampleStackUser      uint32
	clockid              int32
	sampleRegsIntr       uint64
	auxWatermark         uint32
	sampleMaxStack, pad  uint16
}

const (
	perfSampleRegsUser  = 1 << 12
	perfSampleStackUser = 1 << 13
	perfRecordSample    = 9

	// AX BX CX DX SI DI, SP, and R8 to R13 of enum perf_event_x86_regs: the
	// argument registers, whose order here is that of the arguments, and
	// between them the stack pointer.
	sampledRegs = 0x3f | 1<<7 | 0x3f<<16
	spIndex     = 6

	// stackBytes is how much of the stack a sample holds.
	stackBytes = 4096
)

// A hit is what a tracer can see: the argument registers, and the stack from SP
// up, where short texts lie as long as Fire runs.
type hit struct {
	args  [12]uint64
	sp    uint64
	stack []byte
}

// text returns the NUL-terminated bytes behind an argument.
func (h *hit) text(i int) string {
	addr := h.args[i]
	if at := addr - h.sp; at < uint64(len(h.stack)) {
		text, _, _ := bytes.Cut(h.stack[at:], []byte{0})
		return string(text)
	}
	return cString(addr)
}

// uprobePMU returns the number of the uprobe event source.
func uprobePMU(t testing.TB) uint32 {
	t.Helper()
	b, err := os.ReadFile("/sys/bus/event_source/devices/uprobe/type")
	if err != nil {
		skipOrFail(t, "no uprobe event source: %v", err)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

func skipOrFail(t testing.TB, format string, args ...any) {
	t.Helper()
	if testutils.InCI() {
		t.Fatalf(format, args...)
	}
	t.Skipf("skipped: "+format, args...)
}

// A uprobe is an attached event on one site.
type uprobe struct {
	t    testing.TB
	fds  []int
	ring []byte
}

// attachUprobe attaches to the location of a probe. With regs, the hits of the
// calling thread, which must be locked, are sampled with their registers; else
// the hits of all threads are counted.
func attachUprobe(t testing.TB, c *probe, useSem, regs bool) *uprobe {
	t.Helper()
	location, sem := locate(t, c)
	if !useSem {
		sem = 0
	}
	return attachAt(t, c.object.image.Info().Path, location, sem, regs)
}

// attachAt attaches to an offset of a file.
func attachAt(t testing.TB, name string, location, sem int, regs bool) *uprobe {
	t.Helper()
	path := append([]byte(name), 0)
	attr := perfAttr{
		typ:     uprobePMU(t),
		size:    uint32(unsafe.Sizeof(perfAttr{})),
		config1: uint64(uintptr(unsafe.Pointer(&path[0]))),
		config2: uint64(location),
		config:  uint64(sem) << 32, // PERF_UPROBE_REF_CTR_OFFSET_SHIFT
	}
	u := &uprobe{t: t}
	open := func(pid, cpu int) {
		t.Helper()
		const cloexec = 1 << 3
		fd, _, e := syscall.Syscall6(nrPerfEventOpen, uintptr(unsafe.Pointer(&attr)), uintptr(pid), uintptr(cpu), ^uintptr(0), cloexec, 0)
		if errors.Is(e, syscall.EPERM) || errors.Is(e, syscall.EACCES) {
			skipOrFail(t, "perf_event_open of a uprobe: %v", e)
		}
		if e != 0 {
			t.Fatalf("perf_event_open of a uprobe at %s+%#x: %v", path, location, e)
		}
		u.fds = append(u.fds, int(fd))
	}
	t.Cleanup(u.detach)
	if regs {
		attr.samplePeriod = 1
		attr.sampleType = perfSampleRegsUser | perfSampleStackUser
		attr.sampleRegsUser = sampledRegs
		attr.sampleStackUser = stackBytes
		open(0, -1)
		ring, err := syscall.Mmap(u.fds[0], 0, 17*os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
		if err != nil {
			t.Fatal(err)
		}
		u.ring = ring
	} else {
		for cpu := range runtime.NumCPU() {
			open(-1, cpu)
		}
	}
	runtime.KeepAlive(path)
	return u
}

const nrPerfEventOpen = 298 // arch/x86/entry/syscalls/syscall_64.tbl

// locate finds the file offsets of a probe's location and semaphore by building
// its object once more: Build is deterministic.
func locate(t testing.TB, c *probe) (location, semaphore int) {
	t.Helper()
	o := c.object
	if o == nil {
		t.Fatalf("probe %s is not loaded", c.spec.Name)
	}
	machine, err := hostMachine()
	if err != nil {
		t.Fatal(err)
	}
	// The order of the probes in the object is the order of their sites.
	var spec elfgen.ProviderSpec
	spec.Name = c.provider.name
	for _, other := range c.provider.probes {
		if other.object == o {
			spec.Probes = append(spec.Probes, other.spec)
		}
	}
	if len(spec.Probes) != o.live {
		t.Fatalf("%d probes in the object, %d alive", len(spec.Probes), o.live)
	}
	sortSpecs(c.provider, &spec)
	obj, err := elfgen.Build(&spec, machine, o.form)
	if err != nil {
		t.Fatal(err)
	}
	for i := range spec.Probes {
		if spec.Probes[i].Name == c.spec.Name {
			return obj.Sites[i].Location, obj.Sites[i].Semaphore
		}
	}
	t.Fatalf("probe %s is not in its object", c.spec.Name)
	return 0, 0
}

// sortSpecs puts probes into the order of their entries.
func sortSpecs(p *Provider, spec *elfgen.ProviderSpec) {
	entry := func(i int) uintptr { return p.probes[spec.Probes[i].Name].site.Load().entry }
	for i := range spec.Probes {
		for j := i; j > 0 && entry(j) < entry(j-1); j-- {
			spec.Probes[j], spec.Probes[j-1] = spec.Probes[j-1], spec.Probes[j]
		}
	}
}

// count returns the number of hits, of an event without registers.
func (u *uprobe) count() (n uint64) {
	u.t.Helper()
	for _, fd := range u.fds {
		var b [8]byte
		if _, err := syscall.Read(fd, b[:]); err != nil {
			u.t.Fatal(err)
		}
		n += binary.NativeEndian.Uint64(b[:])
	}
	return n
}

// samples returns the hits since the last call.
func (u *uprobe) samples() (hits []hit) {
	u.t.Helper()
	head := (*uint64)(unsafe.Pointer(&u.ring[1024]))
	tail := (*uint64)(unsafe.Pointer(&u.ring[1032]))
	data := u.ring[os.Getpagesize():]
	pos, end := *tail, atomic.LoadUint64(head)
	next := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = data[(pos+uint64(i))%uint64(len(data))]
		}
		pos += uint64(n)
		return b
	}
	word := func() uint64 { return binary.NativeEndian.Uint64(next(8)) }
	for pos < end {
		start := pos
		header := next(8)
		if binary.NativeEndian.Uint32(header) == perfRecordSample {
			word() // the register ABI
			var h hit
			for i := range h.args {
				if i == spIndex {
					h.sp = word()
				}
				h.args[i] = word()
			}
			stack := next(int(word()))
			h.stack = stack[:word()]
			hits = append(hits, h)
		}
		pos = start + uint64(binary.NativeEndian.Uint16(header[6:]))
	}
	atomic.StoreUint64(tail, pos)
	return hits
}

// detach ends the event; once more does nothing.
func (u *uprobe) detach() {
	if u.ring != nil {
		if err := syscall.Munmap(u.ring); err != nil {
			u.t.Error(err)
		}
		u.ring = nil
	}
	for _, fd := range u.fds {
		if err := syscall.Close(fd); err != nil {
			u.t.Error(err)
		}
	}
	u.fds = nil
}
