//go:build amd64 || arm64

package elfgen

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/internal/call"
	"github.com/nopfire/nopfire/internal/sys"
	"github.com/nopfire/nopfire/internal/testutils"
	"github.com/nopfire/nopfire/urdt/abi"
)

// frameOrder are the registers of a call.Frame, as argument strings spell them.
var frameOrder = map[string][]string{
	"amd64": {"%rax", "%rbx", "%rcx", "%rdx", "%rsi", "%rdi", "%r8", "%r9", "%r10", "%r11", "%r12", "%r13"},
	"arm64": abi.RegistersARM64[:],
}[runtime.GOARCH]

// A cCaller calls functions as C does: the first arguments in registers, the
// others on the stack. It is a few instructions that read their arguments from
// memory, entered by call.Site.
type cCaller struct {
	mem unsafe.Pointer
	ctx *cContext
}

// cContext is what the instructions read and write; the offsets are theirs.
type cContext struct {
	function uint64
	args     [16]uint64
	result   uint64
	saved    [4]uint64 // of the registers that belong to the caller, after the call
}

func newCCaller(t *testing.T) *cCaller {
	t.Helper()
	p, err := sys.Mmap(8192, syscall.PROT_READ|syscall.PROT_WRITE|syscall.PROT_EXEC, syscall.MAP_PRIVATE|syscall.MAP_ANON, -1, 0)
	if err != nil {
		t.Skipf("skipped: no writable and executable memory: %v", err)
	}
	t.Cleanup(func() {
		if err := sys.Munmap(p, 8192); err != nil {
			t.Error(err)
		}
	})
	c := &cCaller{mem: p, ctx: (*cContext)(unsafe.Add(p, 4096))}
	code := c.amd64()
	if runtime.GOARCH == "arm64" {
		code = c.arm64()
	}
	copy(unsafe.Slice((*byte)(p), 4096), code)
	return c
}

// keep is what the registers of the caller hold during a call: rbx, r12, r13.
const keep = 0x5a5a5a5a

func (c *cCaller) amd64() []byte {
	b := []byte{0x55, 0x48, 0x89, 0xe5, 0x41, 0x57} // push rbp; mov rbp, rsp; push r15
	b = append(b, 0x49, 0xbf)                       // mov r15, ctx
	b = binary.LittleEndian.AppendUint64(b, uint64(uintptr(unsafe.Pointer(c.ctx))))
	b = append(b, 0x48, 0x83, 0xe4, 0xf0) // and rsp, -16
	b = append(b, 0x48, 0x83, 0xec, 8)    // sub rsp, 8: seven pushes follow
	for i := 12; i >= 6; i-- {
		b = append(b, 0x41, 0xff, 0x77, byte(8+8*i)) // push [r15 + 8 + 8*i]
	}
	for i, r := range []byte{7, 6, 2, 1, 8, 9} { // rdi rsi rdx rcx r8 r9
		b = append(b, 0x49|r>>3<<2, 0x8b, 0x47|r&7<<3, byte(8+8*i)) // mov r, [r15 + 8 + 8*i]
	}
	for _, r := range []byte{3, 12, 13} {
		b = append(b, 0x48|r>>3, 0xc7, 0xc0|r&7, keep&0xff, keep&0xff, keep&0xff, keep&0xff) // mov r, keep
	}
	b = append(b, 0x41, 0xff, 0x17)                // call [r15]
	b = append(b, 0x49, 0x89, 0x87, 0x88, 0, 0, 0) // mov [r15 + 136], rax
	for i, r := range []byte{3, 12, 13} {
		b = append(b, 0x49|r>>3<<2, 0x89, 0x87|r&7<<3, byte(0x90+8*i), 0, 0, 0) // mov [r15 + 144 + 8*i], r
	}
	return append(b, 0x48, 0x8d, 0x65, 0xf8, 0x41, 0x5f, 0x5d, 0xc3) // lea rsp, [rbp - 8]; pop r15; pop rbp; ret
}

func (c *cCaller) arm64() []byte {
	var b []byte
	ins := func(w uint32) { b = binary.LittleEndian.AppendUint32(b, w) }
	ins(0xa9be7bfd)            // stp x29, x30, [sp, #-32]!
	ins(0xf9000bf3)            // str x19, [sp, #16]
	ins(0x90000013 | 1<<29)    // adrp x19, the next page: ctx
	ins(0xd10103ff)            // sub sp, sp, #64
	for i := range uint32(5) { // the stack
		ins(0xf9400269 | (1+8+i)<<10) // ldr x9, [x19, #8+8*(8+i)]
		ins(0xf90003e9 | i<<10)       // str x9, [sp, #8*i]
	}
	for i := range uint32(8) {
		ins(0xf9400260 | (1+i)<<10 | i) // ldr xi, [x19, #8+8*i]
	}
	ins(0xf9400270)          // ldr x16, [x19]
	ins(0xd63f0200)          // blr x16
	ins(0xf9000260 | 17<<10) // str x0, [x19, #136]
	ins(0x910103ff)          // add sp, sp, #64
	ins(0xf9400bf3)          // ldr x19, [sp, #16]
	ins(0xa8c27bfd)          // ldp x29, x30, [sp], #32
	ins(0xd65f03c0)          // ret
	return b
}

// call calls the function at an address and returns its result.
func (c *cCaller) call(function unsafe.Pointer, args ...uint64) uint64 {
	*c.ctx = cContext{function: uint64(uintptr(function))}
	copy(c.ctx.args[:], args)
	call.Site(uintptr(c.mem), new(call.Frame))
	return c.ctx.result
}

// hostMachineOf is the machine that runs the test.
func hostURDT(t *testing.T) *Object {
	t.Helper()
	m := stapsdt.X86_64
	if runtime.GOARCH == "arm64" {
		m = stapsdt.ARM64
	}
	o, err := BuildURDT(m)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// newRecorder returns the text of the object with sites that can record, and
// where its functions are in it.
func newURDTRecorder(t *testing.T, o *Object) (r *testutils.Recorder, function func(name string) unsafe.Pointer) {
	t.Helper()
	sites := make([]int, len(o.Sites))
	for i, s := range o.Sites {
		sites[i] = s.Location - o.Text.Off
	}
	r = testutils.NewRecorder(t, o.Image[o.Text.Off:o.Text.Off+o.Text.Len], sites)
	symbols, err := openELF(t, o).DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	text := openELF(t, o).Section(".text").Addr
	return r, func(name string) unsafe.Pointer {
		for _, s := range symbols {
			if s.Name == name {
				return r.At(int(s.Value - text))
			}
		}
		t.Fatalf("no function %s", name)
		return nil
	}
}

// Every exported function, executed: the arguments arrive in the right
// registers at the right site and at no other, and the caller's registers are
// as they were.
func TestURDTExecutes(t *testing.T) {
	o := hostURDT(t)
	rec, function := newURDTRecorder(t, o)
	c := newCCaller(t)
	registers := &abi.RegistersX86_64
	if runtime.GOARCH == "arm64" {
		registers = &abi.RegistersARM64
	}
	for i := range o.Sites {
		rec.Arm(o.Sites[i].Location - o.Text.Off)
	}
	check := func(t *testing.T, provider, name string, args []uint64) {
		t.Helper()
		n := len(args)
		want := n*abi.Shards + abi.Shard(abi.Hash(provider, name), abi.Shards)
		for i := range o.Sites {
			got := rec.Record(o.Sites[i].Location - o.Text.Off)
			if i != want {
				if got.Calls != 0 {
					t.Errorf("site %d was entered, want %d", i, want)
				}
				continue
			}
			if got.Calls != 1 {
				t.Errorf("site %d was entered %d times", i, got.Calls)
			}
			in := func(register string) uint64 {
				for j, r := range frameOrder {
					if r == register {
						return got.Registers[j]
					}
				}
				t.Fatalf("no register %s", register)
				return 0
			}
			if h := in(registers[0]); h != abi.Hashes(provider, name) {
				t.Errorf("hashes %#x, want %#x", h, abi.Hashes(provider, name))
			}
			for j, a := range args {
				if v := in(registers[j+1]); v != a {
					t.Errorf("argument %d is %#x, want %#x", j+1, v, a)
				}
			}
		}
		if runtime.GOARCH == "amd64" {
			for i, v := range c.ctx.saved[:3] {
				if v != keep {
					t.Errorf("saved register %d is %#x after the call", i, v)
				}
			}
		}
	}
	for n := range abi.MaxArgs + 1 {
		for _, names := range [][2]string{{"app", "request"}, {"other", "probe"}, {"", ""}, {"\xff\x80", "é"}, {"dyn", "urdt11"}} {
			t.Run(fmt.Sprintf("%d %q", n, names), func(t *testing.T) {
				args := make([]uint64, n)
				for i := range args {
					args[i] = rand.Uint64()
				}
				c.call(function(fmt.Sprint("urdt_fire", n)), append([]uint64{abi.Hashes(names[0], names[1])}, args...)...)
				check(t, names[0], names[1], args)

				provider, name := append([]byte(names[0]), 0), append([]byte(names[1]), 0)
				c.call(function(fmt.Sprint("bpf_urdt__probe", n)), append([]uint64{
					uint64(uintptr(unsafe.Pointer(&provider[0]))), uint64(uintptr(unsafe.Pointer(&name[0]))),
				}, args...)...)
				runtime.KeepAlive(provider)
				runtime.KeepAlive(name)
				check(t, names[0], names[1], args)
			})
		}
	}
}

// The sites as they are do nothing and return.
func TestURDTFiresNothing(t *testing.T) {
	o := hostURDT(t)
	rec, function := newURDTRecorder(t, o)
	c := newCCaller(t)
	for n := range abi.MaxArgs + 1 {
		c.call(function(fmt.Sprint("urdt_fire", n)), 0x12345678)
	}
	for i := range o.Sites {
		if got := rec.Record(o.Sites[i].Location - o.Text.Off); got.Calls != 0 {
			t.Errorf("site %d recorded a call", i)
		}
	}
}

func TestURDTEnabled(t *testing.T) {
	o := hostURDT(t)
	rec, function := newURDTRecorder(t, o)
	c := newCCaller(t)
	enabled := func(hashes uint64, nargs int) uint64 {
		return c.call(function("urdt_enabled"), hashes, uint64(nargs)) & 0xffffffff
	}
	hashes := abi.Hashes("app", "request")
	for n := -1; n <= abi.MaxArgs+1; n++ {
		if enabled(hashes, n) != 0 {
			t.Errorf("%d arguments: enabled, and nobody traces", n)
		}
	}
	for n := range abi.MaxArgs + 1 {
		site := o.Sites[n*abi.Shards+abi.Shard(uint32(hashes), abi.Shards)].Location - o.Text.Off
		rec.Arm(site)
		for m := -1; m <= abi.MaxArgs+1; m++ {
			if got := enabled(hashes, m) == 1; got != (m == n) {
				t.Errorf("arity %d is traced, enabled for %d arguments: %v", n, m, got)
			}
		}
		if other := abi.Hashes("other", "probe"); enabled(other, n) != 0 {
			t.Errorf("arity %d: enabled in another shard", n)
		}
		rec.Disarm(site)
		if enabled(hashes, n) != 0 {
			t.Errorf("arity %d: enabled after the tracer left", n)
		}
	}
}
