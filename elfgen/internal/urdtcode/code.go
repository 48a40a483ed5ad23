// Package urdtcode writes the instructions of liburdt.so.1, for x86-64 and
// arm64: the sites, the functions that C calls to reach them, and the unwind
// information that leads a debugger from a site to its caller. It may not know
// of ELF.
//
// The code is position-independent, has no data and no relocations, and is
// frozen with the object: every process compares the bytes of the shared file
// with what this package writes.
//
//	sites      32 bytes each, 16 of each arity, arity 0 first
//	           a landing pad (endbr64, bti c) in the four bytes in front
//	functions  urdt_fire0 … 11, bpf_urdt__probe0 … 11, urdt_enabled
//
// The registers of a site are abi.RegistersX86_64 and RegistersARM64: the
// hashes where the first argument of a C call is, argument i where the next ones
// are. So urdt_fireN has nothing to move for the arguments that C passes in
// registers. It computes which of the sites is meant and jumps there, and the
// site's return is its own.
package urdtcode

import (
	"encoding/binary"

	"github.com/nopfire/nopfire/urdt/abi"
)

// Stride is the distance between sites, and their alignment.
const Stride = 32

// firstSite is the offset of the first site; its landing pad is in front.
const firstSite = Stride

// landing is the size of a landing pad.
const landing = 4

// SitesEnd is the offset of the first byte behind the sites.
const SitesEnd = firstSite + (abi.MaxArgs+1)*abi.Shards*Stride

// Site returns the offset of the site of an arity and a shard: of the
// instruction where the note points.
func Site(nargs, shard int) int { return firstSite + (nargs*abi.Shards+shard)*Stride }

// shardBits is the number of bits of a shard number: the shard is the top bits
// of the mixed hash (abi.Shard).
const (
	shardBits = 4
	mixer     = 0x9E3779B1
)

// A Function is an exported function.
type Function struct {
	Name      string
	Off, Size int
	frame     []frameChange
}

// Code is the text of the library.
type Code struct {
	Bytes []byte
	// Functions are the exports, by ascending offset.
	Functions []Function
	// SiteCode is the number of bytes of a site's instructions.
	SiteCode int
	// Pristine is the first word of every site, as long as nobody traces
	// it, in the byte order of the machine.
	Pristine uint64

	unwind unwind
}

// A machine writes the instructions of one machine.
type machine struct {
	pad    string // fills what is never executed
	land   string // the landing pad
	site   string
	align  int // of functions
	unwind unwind

	fire, probe func(b *builder, nargs int)
	enabled     func(b *builder)
}

// X86_64 returns the code for x86-64.
func X86_64() *Code { return build(&x86) }

// ARM64 returns the code for arm64.
func ARM64() *Code { return build(&arm64) }

func build(m *machine) *Code {
	b := &builder{m: m}
	b.padTo(firstSite)
	copy(b.code[firstSite-landing:], m.land)
	for i := range (abi.MaxArgs + 1) * abi.Shards {
		at := firstSite + i*Stride
		b.emit([]byte(m.site)...)
		b.padTo(at + Stride)
		copy(b.code[at+Stride-landing:], m.land)
	}
	copy(b.code[SitesEnd-landing:], m.pad) // no site behind the last one
	for n := range abi.MaxArgs + 1 {
		b.function("urdt_fire"+abi.SiteName(n)[len("probe"):], func() { m.fire(b, n) })
	}
	for n := range abi.MaxArgs + 1 {
		b.function("bpf_urdt__"+abi.SiteName(n), func() { m.probe(b, n) })
	}
	b.function("urdt_enabled", func() { m.enabled(b) })
	return &Code{
		Bytes:     b.code,
		Functions: b.functions,
		SiteCode:  len(m.site),
		Pristine:  binary.LittleEndian.Uint64([]byte(pristine(m))),
		unwind:    m.unwind,
	}
}

// pristine returns the first eight bytes of a site.
func pristine(m *machine) string { return m.site[:8] }

// A builder collects instructions.
type builder struct {
	m         *machine
	code      []byte
	functions []Function
	frame     []frameChange // of the function at hand
	start     int           // of the function at hand
}

func (b *builder) emit(code ...byte) { b.code = append(b.code, code...) }

// padTo fills up to an offset.
func (b *builder) padTo(off int) {
	for len(b.code) < off {
		b.code = append(b.code, b.m.pad[len(b.code)%len(b.m.pad)])
	}
}

// function writes an exported function, which starts with a landing pad: the
// caller jumps through its procedure linkage table.
func (b *builder) function(name string, body func()) {
	b.padTo((len(b.code) + b.m.align - 1) &^ (b.m.align - 1))
	b.start, b.frame = len(b.code), nil
	b.emit([]byte(b.m.land)...)
	body()
	b.functions = append(b.functions, Function{
		Name: name, Off: b.start, Size: len(b.code) - b.start, frame: b.frame,
	})
}

func (b *builder) u32(v uint32) { b.code = binary.LittleEndian.AppendUint32(b.code, v) }
