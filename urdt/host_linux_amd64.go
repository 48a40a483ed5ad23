package urdt

import "github.com/nopfire/nopfire/elfgen/stapsdt"

const hostMachine = stapsdt.X86_64

// pristine is the first word of a site that nobody traces.
const pristine = 0x2e660000441f0f90

// The places of the registers in a call.Frame: AX BX CX DX SI DI R8 to R13, as
// abi.RegistersX86_64 orders them.
const (
	hashPlace = 5 // DI
	places    = "\x05\x04\x03\x02\x06\x07\x00\x08\x09\x01\x0a\x0b"
)

// place returns the place of argument i, counted from 1.
func place(i int) int { return int(places[i]) }
