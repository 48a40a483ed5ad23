package urdtcode

import "github.com/nopfire/nopfire/urdt/abi"

// The instructions of arm64, by the encodings of the Arm ARM, C6.2.
//
// Registers: the hashes x0, argument i xi. Those up to x7 are the ones of a C
// call (AAPCS64, 6.4); x8 to x11 are free in one, and so are x9 to x13 until
// they get their arguments, and x16 and x17, through which control arrives at a
// landing pad that was made for calls.

// arm64 is arm64.
var arm64 = machine{
	pad:     "\x00\x00\x00\x00",                      // udf #0
	land:    "\x5f\x24\x03\xd5",                      // bti c
	site:    "\x1f\x20\x03\xd5" + "\xc0\x03\x5f\xd6", // nop; ret
	align:   16,
	unwind:  unwindARM64,
	fire:    armFire,
	probe:   armProbe,
	enabled: armEnabled,
}

// armFire is void urdt_fireN(uint64_t hashes, long a1, … long aN): arguments up
// to 7 are in their registers.
func armFire(b *builder, n int) { armEnter(b, n, 8) }

// armProbe is void bpf_urdt__probeN(const char *provider, const char *probe,
// long a1, … long aN): arguments up to 6 are in registers, each one further on
// than a site wants it.
func armProbe(b *builder, n int) {
	// w9: the hash. w10: the second one. w11, w12: their multipliers. w13:
	// the byte at hand.
	armConst(b, 9, 0)
	armConst(b, 10, 0x811c9dc5)
	armConst(b, 11, 31)
	armConst(b, 12, 0x01000193)
	armHashLoop(b, 0)
	armMul(b, 10, 10, 12) // the zero byte between the names
	armHashLoop(b, 1)
	b.u32(0xaa000000 | 10<<16 | 32<<10 | 9<<5) // orr x0, x9, x10, lsl #32
	for i := 1; i <= min(n, 6); i++ {
		b.u32(0xaa0003e0 | uint32(i+1)<<16 | uint32(i)) // mov xi, x(i+1)
	}
	armEnter(b, n, 7)
}

// armHashLoop hashes the string at register x0 or x1, up to its NUL.
func armHashLoop(b *builder, reg uint32) {
	loop := len(b.code)
	b.u32(0x38c01400 | reg<<5 | 13)                // ldrsb w13, [reg], #1
	b.u32(0x34000000 | 6<<5 | 13)                  // cbz w13, end: six instructions on
	b.u32(0x1b000000 | 11<<16 | 13<<10 | 9<<5 | 9) // madd w9, w9, w11, w13
	b.u32(0x53001c00 | 13<<5 | 13)                 // uxtb w13, w13
	b.u32(0x4a000000 | 13<<16 | 10<<5 | 10)        // eor w10, w10, w13
	armMul(b, 10, 10, 12)
	b.u32(0x14000000 | uint32((loop-len(b.code))/4)&0x03ffffff) // b loop
}

// armEnter loads the arguments from number first on from the stack and jumps to
// the site of the hash in w0.
func armEnter(b *builder, n, first int) {
	armConst(b, 16, mixer)
	armMul(b, 16, 0, 16)
	b.u32(0x53000000 | (32-shardBits)<<16 | 31<<10 | 16<<5 | 16) // lsr w16, w16, #28
	armAdr(b, 17, Site(n, 0)-landing)
	b.u32(0x8b000000 | 16<<16 | 5<<10 | 17<<5 | 16) // add x16, x17, x16, lsl #5: Stride
	for i := first; i <= n; i++ {
		b.u32(0xf9400000 | uint32(i-first)<<10 | 31<<5 | uint32(i)) // ldr xi, [sp, #8*(i-first)]
	}
	b.u32(0xd61f0000 | 16<<5) // br x16
}

// armEnabled is int urdt_enabled(uint64_t hashes, int nargs).
func armEnabled(b *builder) {
	armConst(b, 16, mixer)
	armMul(b, 16, 0, 16)
	armConst(b, 0, 0)
	b.u32(0x7100001f | abi.MaxArgs<<10 | 1<<5) // cmp w1, #11
	end := len(b.code)
	b.u32(0)                                                     // b.hi end, once it is known
	b.u32(0x53000000 | (32-shardBits)<<16 | 31<<10 | 16<<5 | 16) // lsr w16, w16, #28
	b.u32(0x0b000000 | 1<<16 | shardBits<<10 | 16<<5 | 16)       // add w16, w16, w1, lsl #4
	armAdr(b, 17, Site(0, 0))
	b.u32(0x8b000000 | 16<<16 | 5<<10 | 17<<5 | 16) // add x16, x17, x16, lsl #5: Stride
	b.u32(0xf9400000 | 16<<5 | 16)                  // ldr x16, [x16]
	word := pristine(b.m)
	for i := range uint32(4) { // mov x17, the pristine word
		half := uint32(word[2*i]) | uint32(word[2*i+1])<<8
		op := uint32(0xf2800000) // movk
		if i == 0 {
			op = 0xd2800000 // movz
		}
		b.u32(op | i<<21 | half<<5 | 17)
	}
	b.u32(0xeb00001f | 17<<16 | 16<<5) // cmp x16, x17
	b.u32(0x1a9f07e0)                  // cset w0, ne
	const hi = 8
	branch := 0x54000000 | uint32(len(b.code)-end)/4<<5 | hi
	copy(b.code[end:], []byte{byte(branch), byte(branch >> 8), byte(branch >> 16), byte(branch >> 24)})
	b.u32(0xd65f03c0) // ret
}

// armConst is mov wd, v.
func armConst(b *builder, d, v uint32) {
	b.u32(0x52800000 | v&0xffff<<5 | d) // movz
	if v>>16 != 0 {
		b.u32(0x72800000 | 1<<21 | v>>16<<5 | d) // movk
	}
}

// armMul is mul wd, wn, wm.
func armMul(b *builder, d, n, m uint32) { b.u32(0x1b007c00 | m<<16 | n<<5 | d) }

// armAdr is adr xd, the offset off.
func armAdr(b *builder, d uint32, off int) {
	delta := uint32(off - len(b.code))
	b.u32(0x10000000 | delta&3<<29 | delta>>2&0x7ffff<<5 | d)
}
