//go:build amd64 || arm64

package testutils

import (
	"encoding/binary"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/nopfire/nopfire/internal/sys"
)

// A Recorder is a copy of an object's text in memory whose sites can be
// replaced by code that stores the argument registers: a tracer without a
// kernel, which works under emulators too.
type Recorder struct {
	base   unsafe.Pointer
	size   int
	text   []byte
	blocks int // where the records are
	sites  map[int]int
}

// A Record is what a site has seen: the argument registers of the last call, in
// the order of internal/call.Frame, and the number of calls.
type Record struct {
	Registers [12]uint64
	Calls     uint64
}

const recordSize = int(unsafe.Sizeof(Record{}))

// NewRecorder copies text, whose sites are at the given offsets and have room
// for 16 bytes each. It skips the test where memory cannot be writable and
// executable. The memory lives as long as the test.
func NewRecorder(t testing.TB, text []byte, sites []int) *Recorder {
	t.Helper()
	const page = 4096
	code := (len(text) + 15) &^ 15
	blocks := code + 128
	r := &Recorder{text: text, blocks: blocks, sites: make(map[int]int)}
	r.size = (blocks + len(sites)*recordSize + page - 1) &^ (page - 1)
	var err error
	r.base, err = sys.Mmap(r.size, syscall.PROT_READ|syscall.PROT_WRITE|syscall.PROT_EXEC, syscall.MAP_PRIVATE|syscall.MAP_ANON, -1, 0)
	if err != nil {
		t.Skipf("skipped: no writable and executable memory: %v", err)
	}
	t.Cleanup(func() {
		if err := sys.Munmap(r.base, r.size); err != nil {
			t.Error(err)
		}
	})
	mem := r.memory()
	copy(mem, text)
	copy(mem[code:], storeRegisters())
	for i, off := range sites {
		r.sites[off] = i
	}
	return r
}

func (r *Recorder) memory() []byte { return unsafe.Slice((*byte)(r.base), r.size) }

// At returns the address of an offset of the text.
func (r *Recorder) At(off int) unsafe.Pointer { return unsafe.Add(r.base, off) }

// Arm makes the site at an offset record. It must not run meanwhile.
func (r *Recorder) Arm(site int) {
	block := r.blocks + r.sites[site]*recordSize
	store := (len(r.text) + 15) &^ 15
	var b []byte
	if runtime.GOARCH == "arm64" {
		delta := uint32(block-site) >> 2
		b = binary.LittleEndian.AppendUint32(b, 0x10000010|delta&0x7ffff<<5) // adr x16, block
		b = binary.LittleEndian.AppendUint32(b, 0x14000000|uint32(store-site-4)>>2&0x3ffffff)
	} else {
		b = append(b, 0x49, 0xbe) // mov r14, block
		b = binary.LittleEndian.AppendUint64(b, uint64(uintptr(r.At(block))))
		b = append(b, 0xe9) // jmp store
		b = binary.LittleEndian.AppendUint32(b, uint32(store-site-15))
	}
	copy(r.memory()[site:], b)
	r.flush()
}

// Disarm puts the site's own code back.
func (r *Recorder) Disarm(site int) {
	copy(r.memory()[site:site+16], r.text[site:])
	r.flush()
}

// flush makes arm64's instruction cache coherent: the kernel does it for pages
// that become executable. Emulators and x86-64 have no need.
func (r *Recorder) flush() {
	if runtime.GOARCH != "arm64" {
		return
	}
	// They are our own pages: neither call can fail.
	_ = sys.Mprotect(r.base, r.size, syscall.PROT_READ|syscall.PROT_WRITE)
	_ = sys.Mprotect(r.base, r.size, syscall.PROT_READ|syscall.PROT_WRITE|syscall.PROT_EXEC)
}

// Record returns what the site at an offset has seen, and forgets it.
func (r *Recorder) Record(site int) Record {
	p := (*Record)(r.At(r.blocks + r.sites[site]*recordSize))
	defer func() { *p = Record{} }()
	return *p
}

// storeRegisters returns code that stores the argument registers in the record
// at r14 or x16, counts, and returns. It changes no other register that a site
// may not.
func storeRegisters() []byte {
	if runtime.GOARCH == "arm64" {
		var b []byte
		for i := range uint32(12) {
			b = binary.LittleEndian.AppendUint32(b, 0xf9000200|i<<10|i) // str xi, [x16, #8*i]
		}
		for _, ins := range []uint32{
			0xf9400200 | 12<<10 | 17, // ldr x17, [x16, #96]
			0x91000400 | 17<<5 | 17,  // add x17, x17, #1
			0xf9000200 | 12<<10 | 17, // str x17, [x16, #96]
			0xd65f03c0,               // ret
		} {
			b = binary.LittleEndian.AppendUint32(b, ins)
		}
		return b
	}
	var b []byte
	// ax bx cx dx si di r8 r9 r10 r11 r12 r13, by number.
	for i, r := range []byte{0, 3, 1, 2, 6, 7, 8, 9, 10, 11, 12, 13} {
		rex := byte(0x49) | r>>3<<2                      // W, B (r14), R
		b = append(b, rex, 0x89, 0x46|r&7<<3, byte(8*i)) // mov [r14+8*i], r
	}
	b = append(b, 0x49, 0xff, 0x46, 96) // inc qword [r14+96]
	return append(b, 0xc3)              // ret
}
