//go:build amd64 || arm64

package call

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/nopfire/nopfire/internal/sys"
)

// A recorder is a site that stores its twelve argument registers: an observer
// without a kernel. It uses no register beyond those a site may.
type recorder struct {
	code unsafe.Pointer
	out  *[12]uint64
}

// newRecorder assembles the stores for the running machine; the output array
// lies in the same mapping, behind the code.
func newRecorder(t *testing.T) *recorder {
	t.Helper()
	const outOff = 2048
	p, err := sys.Mmap(4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON, -1, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sys.Munmap(p, 4096); err != nil {
			t.Error(err)
		}
	})
	code := recorderCode(uint64(uintptr(p) + outOff))
	if len(code) > outOff {
		t.Fatalf("%d bytes of code", len(code))
	}
	copy(unsafe.Slice((*byte)(p), 4096), code)
	if runtime.GOARCH == "arm64" {
		// The page is written before it is first executable, so the kernel
		// keeps the instruction cache coherent.
		if err := sys.Mprotect(p, 4096, syscall.PROT_READ|syscall.PROT_EXEC); err != nil {
			t.Fatal(err)
		}
	}
	if err := sys.Mprotect(p, 4096, syscall.PROT_READ|syscall.PROT_WRITE|syscall.PROT_EXEC); err != nil {
		t.Skipf("no writable and executable memory for the recorder: %v", err)
	}
	return &recorder{code: p, out: (*[12]uint64)(unsafe.Add(p, outOff))}
}

// recorderCode returns code that stores the argument registers at out, which
// lies 2048 bytes behind the start of the code.
func recorderCode(out uint64) []byte {
	if runtime.GOARCH == "arm64" {
		var b []byte
		ins := func(w uint32) { b = binary.LittleEndian.AppendUint32(b, w) }
		ins(0x10000010 | 2048>>2<<5) // adr x16, .+2048
		for r := range uint32(12) {
			ins(0xf9000200 | r<<10 | r) // str x<r>, [x16, #8*r]
		}
		ins(0xd65f03c0) // ret
		return b
	}
	// mov r14, out: the target register is free once we are here.
	b := []byte{0x49, 0xbe}
	b = binary.LittleEndian.AppendUint64(b, out)
	// ax bx cx dx si di r8 r9 r10 r11 r12 r13, by number.
	for i, r := range []byte{0, 3, 1, 2, 6, 7, 8, 9, 10, 11, 12, 13} {
		rex := byte(0x49) | r>>3<<2                      // W, B (r14), R
		b = append(b, rex, 0x89, 0x46|r&7<<3, byte(8*i)) // mov [r14+8*i], r
	}
	return append(b, 0xc3) // ret
}

func TestSiteLoadsRegisters(t *testing.T) {
	rec := newRecorder(t)
	var f Frame
	var want [12]uint64
	target := new(int)
	for range 1000 {
		f = Frame{}
		for i := range f.Words {
			f.Words[i] = rand.Uint64()
			want[i] = f.Words[i]
		}
		k := rand.IntN(12)
		f.Words[k], f.Ptrs[k] = 0, unsafe.Pointer(target)
		want[k] = uint64(uintptr(unsafe.Pointer(target)))
		Site(uintptr(rec.code), &f)
		if *rec.out != want {
			t.Fatalf("registers\n got %x\nwant %x", *rec.out, want)
		}
	}
}

// A frame that refers to the stack stays right while the stack moves.
func TestSiteUnderStackGrowth(t *testing.T) {
	rec := newRecorder(t)
	for i := range 200 {
		done := make(chan string)
		go func() { done <- deep(rec, 50+i) }()
		if msg := <-done; msg != "" {
			t.Fatal(msg)
		}
	}
}

//go:noinline
func deep(rec *recorder, n int) string {
	var local [64]uint64
	var f Frame
	local[7] = uint64(n)
	f.Ptrs[3] = unsafe.Pointer(&local[7])
	if n > 0 {
		if msg := deep(rec, n-1); msg != "" { // the stack is copied in here
			return msg
		}
	}
	Site(uintptr(rec.code), &f)
	if rec.out[3] != uint64(uintptr(unsafe.Pointer(&local[7]))) {
		return "stale address of a stack variable in the register"
	}
	runtime.KeepAlive(&local)
	return ""
}

// Preemption, garbage collection and the profiler's signals leave the callers
// alone.
func TestSiteUnderSignals(t *testing.T) {
	rec := newRecorder(t)
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	if err := pprof.StartCPUProfile(discard{}); err != nil {
		t.Logf("without profile: %v", err)
	} else {
		defer pprof.StopCPUProfile()
	}
	d := 500 * time.Millisecond
	if testing.Short() {
		d = 50 * time.Millisecond
	}
	stop := time.Now().Add(d)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			var keep [][]byte
			for i := 0; ; i++ {
				var f Frame
				f.Words[0] = uint64(g)
				for range 200 {
					Site(uintptr(rec.code), &f)
				}
				if f.Words[0] != uint64(g) {
					t.Errorf("goroutine %d: its frame was changed", g)
					return
				}
				if keep = append(keep, make([]byte, 512)); len(keep) > 64 {
					keep = nil
				}
				if time.Now().After(stop) {
					return
				}
			}
		})
	}
	wg.Wait()
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func BenchmarkSite(b *testing.B) {
	p, err := sys.Mmap(4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON, -1, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer sys.Munmap(p, 4096)
	code := []byte{0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3}
	if runtime.GOARCH == "arm64" {
		code = []byte{0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6}
	}
	copy(unsafe.Slice((*byte)(p), 4096), code)
	if err := sys.Mprotect(p, 4096, syscall.PROT_READ|syscall.PROT_EXEC); err != nil {
		b.Fatal(err)
	}
	var f Frame
	b.ReportAllocs()
	for b.Loop() {
		Site(uintptr(p), &f)
	}
}
