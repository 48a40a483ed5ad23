package usdt

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Kernels, as the decoder knows them.
var (
	oldKernel   = decoder{host: stapsdt.X86_64, asked: true, takes: takesNone}                  // up to 6.17
	nop5Kernel  = decoder{host: stapsdt.X86_64, asked: true, optimizedNop: 5, takes: takesNone} // 6.18
	nop10Kernel = decoder{host: stapsdt.X86_64, asked: true, optimizedNop: 10, takes: takesAll} // 2026
	muteKernel  = decoder{host: stapsdt.X86_64, takes: takesNothingKnown}                       // seccomp, no privilege
	armKernel   = decoder{host: stapsdt.ARM64, asked: true, simulatesNop: true, takes: takesNone}
	oldARM      = decoder{host: stapsdt.ARM64, asked: true, takes: takesNone} // up to 6.12
)

func takesNone([]byte) error         { return ErrNotSupported }
func takesAll([]byte) error          { return nil }
func takesNothingKnown([]byte) error { return errors.New("no privilege") }

func TestDecodeSite(t *testing.T) {
	const (
		nop5  = "0f1f440000"
		nop10 = "662e0f1f840000000000"
	)
	for _, tc := range []struct {
		name   string
		kernel decoder
		code   string // from the location on; filled up with ret
		cost   Cost
		shift  int
		text   string
		err    string
	}{
		// One nop, on each kernel.
		{"nop1, old", oldKernel, "90", Trap, 0, "nop", ""},
		{"nop1, nop5 era", nop5Kernel, "90", Trap, 0, "nop", ""},
		{"nop5, old", oldKernel, nop5, SingleStep, 0, "nopl (%rax,%rax)", ""},
		{"nop5, nop5 era", nop5Kernel, nop5, Optimized, 0, "nopl (%rax,%rax)", ""},
		{"nop5, nop10 era", nop10Kernel, nop5, Trap, 0, "nopl (%rax,%rax)", ""},
		{"nop5, not asked", muteKernel, nop5, CostUnknown, 0, "nopl (%rax,%rax)", ""},
		{"nop8, nop5 era", nop5Kernel, "0f1f840000000000", Trap, 0, "nopl (%rax,%rax)", ""},
		{"nop9, nop5 era", nop5Kernel, "660f1f840000000000", SingleStep, 0, "nopw (%rax,%rax)", ""},
		{"nop10, nop5 era", nop5Kernel, nop10, Refused, 0, "nopw %cs:(%rax,%rax)", "segment prefix 0x2e"},
		{"nop10, nop10 era", nop10Kernel, nop10, Optimized, 0, "nopw %cs:(%rax,%rax)", ""},
		{"nop10, not asked", muteKernel, nop10, CostUnknown, 0, "nopw %cs:(%rax,%rax)", ""},
		{"pause", oldKernel, "f390", Trap, 0, "pause", ""},

		// Several: the probe goes where the kernel optimizes.
		{"nop1 nop5, old", oldKernel, "90" + nop5, Trap, 0, "nop", ""},
		{"nop1 nop5, nop5 era", nop5Kernel, "90" + nop5, Optimized, 1, "nopl (%rax,%rax)", ""},
		{"nop1 nop5, nop10 era", nop10Kernel, "90" + nop5, Trap, 0, "nop", ""},
		{"nop1 nop10, nop5 era", nop5Kernel, "90" + nop10, Trap, 0, "nop", ""},
		{"nop1 nop10, nop10 era", nop10Kernel, "90" + nop10, Optimized, 1, "nopw %cs:(%rax,%rax)", ""},
		{"urdt, old", oldKernel, "90" + nop5 + nop10, Trap, 0, "nop", ""},
		{"urdt, nop5 era", nop5Kernel, "90" + nop5 + nop10, Optimized, 1, "nopl (%rax,%rax)", ""},
		{"urdt, nop10 era", nop10Kernel, "90" + nop5 + nop10, Optimized, 6, "nopw %cs:(%rax,%rax)", ""},
		{"other nop behind", nop5Kernel, "900f1f4000", Trap, 0, "nop", ""},
		{"cut off", nop5Kernel, "900f1f44", Trap, 0, "nop", ""},

		// No nop.
		{"endbr64", oldKernel, "f30f1efa", SingleStep, 0, "endbr64", ""},
		{"vzeroupper", oldKernel, "c5f877", Refused, 0, "vzeroupper", "vector instruction with a VEX or EVEX prefix"},
		{"rep without more", oldKernel, "f306", CostUnknown, 0, "", ""},
		{"push", oldKernel, "50", Trap, 0, "push %rax", ""},
		{"jump", oldKernel, "eb00", Trap, 0, "jmp 0x402", ""},
		{"call", oldKernel, "e800000000", Trap, 0, "callq 0x405", ""},
		{"conditional jump", oldKernel, "0f8400000000", Trap, 0, "je 0x406", ""},
		{"move", oldKernel, "4889c1", SingleStep, 0, "mov %rax,%rcx", ""},
		{"int3", oldKernel, "cc", Refused, 0, "int3", "interrupt instruction 0xcc"},
		{"lock", oldKernel, "f0830424 00", Refused, 0, "lock addl $0x0,(%rsp)", "lock prefix"},
		{"hlt", nop5Kernel, "f4", Refused, 0, "hlt", "privileged instruction 0xf4"},
		{"out", nop5Kernel, "ee", Refused, 0, "out %al,(%dx)", "input or output instruction 0xee"},
		{"vex", nop5Kernel, "c5f9efc0", Refused, 0, "vpxor %xmm0,%xmm0,%xmm0", "vector instruction with a VEX or EVEX prefix"},
		{"not an instruction", nop5Kernel, "06", CostUnknown, 0, "", ""},
		{"nothing there", nop5Kernel, "", CostUnknown, 0, "", ""},

		// Another machine.
		{"x86 on arm64", armKernel, "90" + nop5, CostUnknown, 0, "nop", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code := unhex(t, tc.code)
			if tc.code != "" && tc.name != "cut off" {
				code = append(code, 0xc3, 0xc3, 0xc3)
			}
			got := tc.kernel.decode(spot{machine: stapsdt.X86_64, code: code, address: 0x400, offset: 0x1000})
			if got.Cost != tc.cost || got.Shift != tc.shift || got.Text != tc.text {
				t.Errorf("%s, shift %d, %q, want %s, shift %d, %q", got.Cost, got.Shift, got.Text, tc.cost, tc.shift, tc.text)
			}
			if (got.Err == nil) != (tc.err == "") || got.Err != nil && (!errors.Is(got.Err, ErrRefused) || got.Err.Error() != "instruction cannot be probed: "+tc.err) {
				t.Errorf("error %v, want %q", got.Err, tc.err)
			}
			if (got.Cost == Refused) != (got.Err != nil) {
				t.Errorf("%s with error %v", got.Cost, got.Err)
			}
		})
	}
}

// Reasons against moving the probe.
func TestDecodeSiteStays(t *testing.T) {
	code := unhex(t, "90 0f1f440000 c3c3c3c3")
	at := spot{machine: stapsdt.X86_64, code: code, address: 0x400, offset: 0x1000}
	for _, tc := range []struct {
		name string
		edit func(*spot)
		want int
	}{
		{"nothing against it", func(*spot) {}, 1},
		{"another location there", func(s *spot) { s.isLocation = func(off uint64) bool { return off == 0x1001 } }, 0},
		{"another location elsewhere", func(s *spot) { s.isLocation = func(off uint64) bool { return off == 0x1002 } }, 1},
		{"an argument counts from it", func(s *spot) { s.fixed = true }, 0},
		{"the nop crosses a page", func(s *spot) { s.offset = 0x1ffb }, 0},
		{"the nop ends with a page", func(s *spot) { s.offset = 0x1ffa }, 1},
		{"32-bit", func(s *spot) { s.machine = stapsdt.I386 }, 0},
	} {
		s := at
		tc.edit(&s)
		if got := nop5Kernel.decode(s); got.Shift != tc.want || (got.Cost == Optimized) != (tc.want > 0) {
			t.Errorf("%s: shift %d, %s, want %d", tc.name, got.Shift, got.Cost, tc.want)
		}
	}
	s := spot{machine: stapsdt.X86_64, code: unhex(t, "0f1f440000"), offset: 0x1ffc}
	if got := nop5Kernel.decode(s); got.Cost != Trap {
		t.Errorf("a nop5 that crosses a page: %s, want %s", got.Cost, Trap)
	}
}

func TestDecodeSiteARM64(t *testing.T) {
	for _, tc := range []struct {
		name   string
		kernel decoder
		insn   uint32
		offset uint64
		cost   Cost
		text   string
		err    string
	}{
		{"nop", armKernel, 0xd503201f, 0, Trap, "nop", ""},
		{"nop, up to 6.12", oldARM, 0xd503201f, 0, SingleStep, "nop", ""},
		{"nop on x86", nop5Kernel, 0xd503201f, 0, CostUnknown, "nop", ""},
		{"add", armKernel, 0x91000400, 0, SingleStep, "add x0, x0, #0x1", ""},
		{"b", armKernel, 0x14000001, 0, Trap, "b .+0x4", ""},
		{"ret", armKernel, 0xd65f03c0, 0, Trap, "ret", ""},
		{"adr", armKernel, 0x10000000, 0, Trap, "adr x0, .+0x0", ""},
		{"cbz", armKernel, 0x34000020, 0, Trap, "cbz w0, .+0x4", ""},
		{"svc", armKernel, 0xd4000001, 0, Refused, "svc #0x0", "exception instruction"},
		{"ldxr", armKernel, 0xc85f7c00, 0, Refused, "ldxr x0, [x0]", "exclusive load"},
		{"odd address", armKernel, 0xd503201f, 2, Refused, "", "address is not a multiple of 4"},
		{"undefined", armKernel, 0x00000000, 0, CostUnknown, "", ""},
	} {
		code := binary.LittleEndian.AppendUint32(nil, tc.insn)
		got := tc.kernel.decode(spot{machine: stapsdt.ARM64, code: code, offset: tc.offset})
		if got.Cost != tc.cost || got.Text != tc.text || got.Shift != 0 {
			t.Errorf("%s: %s, %q, want %s, %q", tc.name, got.Cost, got.Text, tc.cost, tc.text)
		}
		if (got.Err == nil) != (tc.err == "") || got.Err != nil && got.Err.Error() != "instruction cannot be probed: "+tc.err {
			t.Errorf("%s: error %v, want %q", tc.name, got.Err, tc.err)
		}
	}
}

func TestDecodeSiteOtherMachines(t *testing.T) {
	for _, m := range []stapsdt.Machine{stapsdt.RISCV64, stapsdt.S390X, stapsdt.PPC64LE, stapsdt.ARM, 0} {
		if got := nop5Kernel.decode(spot{machine: m, code: make([]byte, maxSpot)}); got.Cost != CostUnknown || got.Err != nil {
			t.Errorf("%s: %+v, want nothing known", m, got)
		}
	}
}

func TestInsideInstruction(t *testing.T) {
	// endbr64; push %rbp; mov %rsp,%rbp; movabs $…,%rax; nop
	code := unhex(t, "f30f1efa 55 4889e5 48b80102030405060708 90")
	for at := range len(code) {
		_, err := insideInstruction(code, 0, at, "f")
		boundary := at == 0 || at == 4 || at == 5 || at == 8 || at == 18
		if (err == nil) != boundary {
			t.Errorf("byte %d: %v", at, err)
		}
	}
	if _, err := insideInstruction(code, 0, 7, "f"); err == nil || err.Error() != `it is byte 2 of the 3 of "mov %rsp,%rbp" at f+0x5` {
		t.Errorf("text %v", err)
	}
	// Behind what cannot be decoded, nothing is known.
	if pos, err := insideInstruction(unhex(t, "06 4889e5"), 0, 2, "f"); pos != -1 || err != nil {
		t.Errorf("behind an unknown instruction: %d, %v", pos, err)
	}
	// It can be gone on with where it stopped.
	for _, at := range []struct{ to, stopped int }{{2, 0}, {4, 4}, {7, 5}, {8, 8}, {12, 8}} {
		pos := 0
		for to := range at.to + 1 {
			pos, _ = insideInstruction(code[pos:], pos, to, "f")
		}
		if pos != at.stopped {
			t.Errorf("up to %d in steps: stopped at %d, want %d", at.to, pos, at.stopped)
		}
	}
}

// Whatever stands at a location: the decoders return, the bytes are those of the
// file, and a shift is only over nops.
func FuzzDecodeSite(f *testing.F) {
	for _, s := range []string{"90", "0f1f440000", "900f1f440000662e0f1f840000000000", "662e0f1f840000000000", "f0830424", "c5f9efc0", "1f2003d5", "6666666666"} {
		f.Add(unhex(f, s), uint8(0), uint16(0))
		f.Add(unhex(f, s), uint8(1), uint16(0xffc))
	}
	kernels := []decoder{oldKernel, nop5Kernel, nop10Kernel, muteKernel, armKernel}
	machines := []stapsdt.Machine{stapsdt.X86_64, stapsdt.I386, stapsdt.ARM64, stapsdt.S390X}
	f.Fuzz(func(t *testing.T, code []byte, which uint8, offset uint16) {
		k := kernels[int(which)%len(kernels)]
		s := spot{machine: machines[int(which)/len(kernels)%len(machines)], code: code[:min(len(code), maxSpot)], offset: uint64(offset)}
		got := k.decode(s)
		if (got.Cost == Refused) != (got.Err != nil) {
			t.Fatalf("% x: %s with error %v", code, got.Cost, got.Err)
		}
		if got.Shift < 0 || got.Shift+len(got.Code) > len(s.code) || !strings.HasPrefix(string(s.code[got.Shift:]), string(got.Code)) {
			t.Fatalf("% x: %+v", code, got)
		}
		if got.Shift > 0 && (got.Cost != Optimized || s.code[0] != 0x90) {
			t.Fatalf("% x: moved: %+v", code, got)
		}
		if pos, err := insideInstruction(code, 0, len(code)/2, "f"); pos > len(code)/2 || pos < -1 || pos < 0 && err != nil {
			t.Fatalf("% x: stopped at %d: %v", code, pos, err)
		}
	})
}

// Thousands of locations in one large function are looked at in one walk over its
// instructions.
func TestSitesOfOneFunction(t *testing.T) {
	const size, locations = 1 << 20, 50_000
	code := bytes.Repeat([]byte{0x55}, size) // push %rbp
	sr := newSiteReader(bytes.NewReader(code), size, "f", &decoder{host: stapsdt.X86_64, takes: takesAll})
	sr.functions = &functions{list: []function{{0x1000, size, "f"}}}
	target := new(Target)
	for i := range uint64(locations) {
		target.Locations = append(target.Locations, Location{Machine: stapsdt.X86_64, Address: 0x1000 + 20*i, Offset: 20 * i})
	}
	start := time.Now()
	for _, site := range sr.sites(target) {
		if site.Err != nil || site.Text != "push %rbp" {
			t.Fatalf("site %+v", site)
		}
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("%d locations took %s", locations, took)
	}
}
