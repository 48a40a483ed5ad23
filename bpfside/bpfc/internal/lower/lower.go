// Package lower turns functions of the intermediate representation into eBPF
// instructions: it selects them, allocates registers and the frame, lays out the
// blocks, and encodes. It knows the machine and the habits of the kernel's
// verifier; it knows nothing of C, nor of ELF, BTF or the loader, to whom it
// leaves each address of a symbol as a name.
//
// The stages, each in a file of its own:
//
//	isel     IR to machine code on virtual registers, by CPU level
//	live     which registers and frame objects somebody will read
//	color    registers, by colouring of the interference graph
//	spill    what has no register moves into the frame, or is made again
//	peephole what the allocation shows to be of no use
//	frame    offsets of variables and spilled registers within 512 bytes
//	layout   the order of blocks, and which jumps it needs
//	encode   instructions
//
// # What the verifier asks
//
// A copy is always a move of 64 bits: the verifier links the bounds of both ends
// of such a move, and cuts them at one of 32. A spill stores all 64 bits, or the
// verifier forgets what a pointer pointed to. Constant offsets are part of the
// access; on a context nothing else is allowed. No unreachable instruction is
// left. Accesses that are not aligned are split, as the stack takes no others.
package lower

import (
	"cmp"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// Options of code generation. The zero value is the usual choice.
type Options struct {
	// CPU is the level of the instruction set, 1 to 4; 0 is 3. A level has what
	// clang's -mcpu=v1 to v4 have: 2 adds jumps on less than, 3 arithmetic and
	// jumps of 32 bits and atomics that return the old value, 4 signed division,
	// loads and moves that extend the sign, and long jumps.
	CPU int
	// WriteBack makes each jump that compares a scalar which also lives in the
	// frame store it again on both ways, for kernels before 6.9: their verifiers
	// do not carry what a comparison says over to the copy that is spilled.
	WriteBack bool
}

// Module lowers each function of m that has a body, in order. The error is an
// [ir.Errors] with an entry for each function that has no code.
func Module(m *ir.Module, opts Options) ([]Code, error) {
	var (
		all  []Code
		errs ir.Errors
	)
	for _, f := range m.Funcs {
		if len(f.Blocks) == 0 {
			continue
		}
		c, err := Func(f, opts)
		if err != nil {
			errs = append(errs, asError(f, err))
			continue
		}
		all = append(all, c)
	}
	return all, errs.Err()
}

// Func lowers f, which it does not change. The error is an [*ir.Error].
func Func(f *ir.Func, opts Options) (Code, error) {
	opts.CPU = cmp.Or(opts.CPU, 3)
	if opts.CPU < 1 || opts.CPU > 4 {
		return Code{}, ir.Errorf(ir.Pos{}, "there is no CPU level v%d", opts.CPU)
	}
	mf, err := selectFunc(f, opts)
	if err != nil {
		return Code{}, err
	}
	simplify(mf)
	if err := allocate(mf); err != nil {
		return Code{}, err
	}
	peephole(mf)
	writeBack(mf)
	stack, err := placeFrame(mf)
	if err != nil {
		return Code{}, err
	}
	removeSelfStores(mf)
	order := layout(mf)
	insns, err := encode(mf, order)
	if err != nil {
		return Code{}, err
	}
	return Code{Func: f, Insns: insns, Stack: stack}, nil
}

func asError(f *ir.Func, err error) *ir.Error {
	if e, ok := err.(*ir.Error); ok {
		return e
	}
	return ir.Errorf(f.Pos, "%v", err)
}
