package urdtcode

import "github.com/nopfire/nopfire/urdt/abi"

// The instructions of x86-64, by the numbers of Intel's SDM, volume 2.
//
// Registers: the hashes rdi, arguments rsi rdx rcx r8 r9 rax r10 r11 rbx r12 r13.
// The first six are those of a C call (System V psABI, 3.2.3); rax, r10 and r11
// are free in one; rbx, r12 and r13 belong to the caller, so functions of nine
// arguments and more save them and call the site, where the others jump.

// x86 is x86-64.
var x86 = machine{
	pad:  "\xcc",             // int3
	land: "\xf3\x0f\x1e\xfa", // endbr64
	// nop; nop5; nop10; ret: one form for all kernels, each of which
	// replaces at most one of the three. The nops are those that the kernel
	// compares with (arch/x86/kernel/uprobes.c).
	site:    "\x90" + "\x0f\x1f\x44\x00\x00" + "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00" + "\xc3",
	align:   16,
	unwind:  unwindX86,
	fire:    x86Fire,
	probe:   x86Probe,
	enabled: x86Enabled,
}

// Numbers of registers in instructions.
const (
	rax, rcx, rdx, rbx, rsp, rsi, rdi = 0, 1, 2, 3, 4, 6, 7
	r8, r9, r10, r11, r12, r13        = 8, 9, 10, 11, 12, 13
)

// x86Regs are the registers of a site: the hashes, then the arguments.
var x86Regs = [abi.MaxArgs + 1]byte{rdi, rsi, rdx, rcx, r8, r9, rax, r10, r11, rbx, r12, r13}

// x86Saved is the first argument whose register belongs to the caller.
const x86Saved = 9

// x86Fire is void urdt_fireN(uint64_t hashes, long a1, … long aN): the hashes
// and arguments up to 5 are in their registers, the others on the stack.
func x86Fire(b *builder, n int) {
	frame := x86Save(b, n)
	x86Enter(b, n, frame, 6)
}

// x86Probe is void bpf_urdt__probeN(const char *provider, const char *probe,
// long a1, … long aN): arguments up to 4 are in registers, each two further on
// than a site wants it, the others on the stack.
func x86Probe(b *builder, n int) {
	frame := x86Save(b, n)
	// eax: the hash. r10d: the second one. r11d: the byte at hand.
	b.emit(0x31, 0xc0) // xor eax, eax
	b.emit(0x41, 0xba) // mov r10d, the offset basis
	b.u32(0x811c9dc5)
	x86HashLoop(b, rdi)
	x86FNVPrime(b) // the zero byte between the names: xor 0, multiply
	x86HashLoop(b, rsi)
	b.emit(0x49, 0xc1, 0xe2, 32) // shl r10, 32
	b.emit(0x89, 0xc7)           // mov edi, eax
	b.emit(0x4c, 0x09, 0xd7)     // or rdi, r10
	for i := 1; i <= min(n, 4); i++ {
		x86Move(b, x86Regs[i], x86Regs[i+1])
	}
	x86Enter(b, n, frame, 5)
}

// x86HashLoop hashes the string at a register (rdi or rsi), up to its NUL.
func x86HashLoop(b *builder, reg byte) {
	loop := len(b.code)
	b.emit(0x44, 0x0f, 0xbe, 0x18|reg) // movsx r11d, byte [reg]
	b.emit(0x45, 0x85, 0xdb)           // test r11d, r11d
	b.emit(0x74, 0)                    // jz end
	end := len(b.code)
	b.emit(0x48, 0xff, 0xc0|reg)   // inc reg
	b.emit(0x6b, 0xc0, 31)         // imul eax, eax, 31
	b.emit(0x44, 0x01, 0xd8)       // add eax, r11d
	b.emit(0x45, 0x0f, 0xb6, 0xdb) // movzx r11d, r11b
	b.emit(0x45, 0x31, 0xda)       // xor r10d, r11d
	x86FNVPrime(b)
	b.emit(0xeb, byte(loop-len(b.code)-2)) // jmp loop
	b.code[end-1] = byte(len(b.code) - end)
}

func x86FNVPrime(b *builder) {
	b.emit(0x45, 0x69, 0xd2) // imul r10d, r10d, the prime
	b.u32(0x01000193)
}

// x86Save saves the registers of the caller that the site takes and makes room
// for the target. It returns how far the stack pointer moved: on a multiple of
// 16, less the return address, as a call wants it.
func x86Save(b *builder, n int) int {
	if n < x86Saved {
		return 0
	}
	saved := x86Regs[x86Saved : n+1]
	moved := 0
	for _, reg := range saved {
		if reg >= 8 {
			b.emit(0x41)
		}
		b.emit(0x50 | reg&7) // push reg
		moved += 8
		b.pushed(moved, dwarfX86[reg])
	}
	room := 8 + (moved+8+8)%16
	b.emit(0x48, 0x83, 0xec, byte(room)) // sub rsp, room
	moved += room
	b.moved(moved)
	return moved
}

// x86Enter loads the arguments from number first on from the stack, enters the
// site of the hash in edi, and returns. frame is what x86Save returned.
func x86Enter(b *builder, n, frame, first int) {
	b.emit(0x69, 0xc7) // imul eax, edi, mixer
	b.u32(mixer)
	b.emit(0xc1, 0xe8, 32-shardBits) // shr eax, 28
	b.emit(0xc1, 0xe0, 5)            // shl eax, 5: Stride
	b.emit(0x4c, 0x8d, 0x1d)         // lea r11, [rip + landing pad of shard 0]
	b.u32(uint32(Site(n, 0) - landing - len(b.code) - 4))
	b.emit(0x49, 0x01, 0xc3) // add r11, rax

	// r11 is argument 8: then the target goes to memory. Without a frame
	// that is below the stack pointer, which is ours in a function that
	// calls nothing (psABI, 3.2.2); the site is entered before anything
	// else could write there.
	target := 0
	if frame == 0 {
		target = -8
	}
	if n >= 8 {
		b.emit(0x4c, 0x89, 0x5c, 0x24, byte(target)) // mov [rsp + target], r11
	}
	for i := first; i <= n; i++ {
		reg := x86Regs[i]
		off := frame + 8 + 8*(i-first)
		b.emit(0x48|reg>>3<<2, 0x8b, 0x44|reg&7<<3, 0x24, byte(off)) // mov reg, [rsp + off]
	}
	switch {
	case n < 8:
		b.emit(0x41, 0xff, 0xe3) // jmp r11
		return
	case frame == 0:
		b.emit(0xff, 0x64, 0x24, byte(target)) // jmp [rsp + target]
		return
	}
	b.emit(0xff, 0x54, 0x24, byte(target)) // call [rsp + target]
	saved := x86Regs[x86Saved : n+1]
	room := frame - 8*len(saved)
	b.emit(0x48, 0x83, 0xc4, byte(room)) // add rsp, room
	frame -= room
	b.moved(frame)
	for i := len(saved) - 1; i >= 0; i-- {
		if saved[i] >= 8 {
			b.emit(0x41)
		}
		b.emit(0x58 | saved[i]&7) // pop reg
		frame -= 8
		b.popped(frame, dwarfX86[saved[i]])
	}
	b.emit(0xc3) // ret
}

// x86Enabled is int urdt_enabled(uint64_t hashes, int nargs).
func x86Enabled(b *builder) {
	b.emit(0x31, 0xc0)              // xor eax, eax
	b.emit(0x83, 0xfe, abi.MaxArgs) // cmp esi, 11
	b.emit(0x77, 0)                 // ja end
	end := len(b.code)
	b.emit(0x69, 0xcf) // imul ecx, edi, mixer
	b.u32(mixer)
	b.emit(0xc1, 0xe9, 32-shardBits) // shr ecx, 28
	b.emit(0xc1, 0xe6, shardBits)    // shl esi, 4
	b.emit(0x01, 0xf1)               // add ecx, esi
	b.emit(0xc1, 0xe1, 5)            // shl ecx, 5: Stride
	b.emit(0x48, 0x8d, 0x15)         // lea rdx, [rip + site of arity 0 and shard 0]
	b.u32(uint32(Site(0, 0) - len(b.code) - 4))
	b.emit(0x49, 0xb8) // mov r8, the pristine word
	b.emit([]byte(pristine(b.m))...)
	b.emit(0x4c, 0x39, 0x04, 0x0a) // cmp [rdx + rcx], r8
	b.emit(0x0f, 0x95, 0xc0)       // setne al
	b.code[end-1] = byte(len(b.code) - end)
	b.emit(0xc3) // ret
}

// x86Move is mov to, from.
func x86Move(b *builder, to, from byte) {
	b.emit(0x48|from>>3<<2|to>>3, 0x89, 0xc0|from&7<<3|to&7)
}
