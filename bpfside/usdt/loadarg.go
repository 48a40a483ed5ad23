package usdt

import (
	"fmt"
	"math"

	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// A Frame says what the instructions of LoadArg may use of the program that they
// become a part of.
type Frame struct {
	// Ctx holds the context of the program: one of R6 to R9, which calls
	// leave alone.
	Ctx asm.Register
	// Dst receives the value: one of R6 to R9 other than Ctx, or one of R2
	// to R5, which the next call destroys.
	Dst asm.Register
	// Scratch is the offset from R10 of 8 bytes of stack that LoadArg may
	// overwrite: negative, a multiple of 8, at least -512.
	Scratch int16
}

func (f Frame) check() error {
	calleeSaved := func(r asm.Register) bool { return r >= asm.R6 && r <= asm.R9 }
	switch {
	case !calleeSaved(f.Ctx):
		return fmt.Errorf("load argument: context in %s, want r6 to r9", f.Ctx)
	case f.Dst == f.Ctx || f.Dst < asm.R2 || f.Dst > asm.R9:
		return fmt.Errorf("load argument: destination %s", f.Dst)
	case f.Scratch >= 0 || f.Scratch < -512 || f.Scratch%8 != 0:
		return fmt.Errorf("load argument: scratch at %d", f.Scratch)
	}
	return nil
}

// LoadArg returns instructions that read an argument of a probe on machine m
// when it is hit.
//
// After them f.Dst holds the value as a 64-bit integer, sign-extended if the
// argument is signed and zero-extended if not, and R0 the status: 0, or the
// negative errno of a memory operand that could not be read (-EFAULT), with a
// value of 0. Exactly the bytes of the argument are read. R1 to R5 and the
// scratch bytes are overwritten.
//
// An argument that a BPF program cannot read gives an error that wraps
// ErrUnreadable and says why; so does one whose Err is set.
func LoadArg(m stapsdt.Machine, arg *stapsdt.Arg, f Frame) (asm.Instructions, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	insns, reason := loadArg(m, arg, f)
	if reason != "" {
		return nil, fmt.Errorf("%w: %q: %s", ErrUnreadable, arg.Text, reason)
	}
	if arg.Err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, arg.Err)
	}
	return insns, nil
}

// loadArg returns the instructions, or a reason against them.
func loadArg(m stapsdt.Machine, arg *stapsdt.Arg, f Frame) (insns asm.Instructions, reason string) {
	if arg.Err != nil {
		return nil, ""
	}
	size, ok := asmSize(arg.Size)
	if !ok {
		return nil, fmt.Sprintf("a value of %d bytes does not fit a register", arg.Size)
	}
	op := &arg.Operand
	switch op.Kind {
	case stapsdt.Constant:
		if op.Symbol != "" || op.Base != "" {
			// The address of a variable: loadAddress knows how to form it.
			insns, reason = loadAddress(m, op, f.Ctx, f.Dst)
			if reason != "" {
				return nil, reason
			}
			insns = append(insns, extendInsns(f.Dst, arg.Size, arg.Signed)...)
			return append(insns, asm.Mov.Imm(asm.R0, 0)), ""
		}
		return asm.Instructions{
			asm.LoadImm(f.Dst, extend(op.Value, arg.Size, arg.Signed), asm.DWord),
			asm.Mov.Imm(asm.R0, 0),
		}, ""

	case stapsdt.Register:
		off, ok := regOffset(m, op.Base)
		if !ok {
			return nil, noRegister(m, op.Base)
		}
		insns = asm.Instructions{asm.LoadMem(f.Dst, f.Ctx, off, asm.DWord)}
		if op.Shift > 0 && op.Shift < 64 {
			insns = append(insns, asm.RSh.Imm(f.Dst, int32(op.Shift)))
		}
		insns = append(insns, extendInsns(f.Dst, arg.Size, arg.Signed)...)
		return append(insns, asm.Mov.Imm(asm.R0, 0)), ""

	case stapsdt.Memory:
		insns, reason = loadAddress(m, op, f.Ctx, asm.R3)
		if reason != "" {
			return nil, reason
		}
		insns = append(insns,
			asm.Mov.Reg(asm.R1, asm.R10),
			asm.Add.Imm(asm.R1, int32(f.Scratch)),
			asm.Mov.Imm(asm.R2, int32(arg.Size)),
			asm.FnProbeReadUser.Call(), // zeroes the bytes when it fails
			asm.LoadMem(f.Dst, asm.R10, f.Scratch, size),
		)
		if arg.Signed {
			insns = append(insns, extendInsns(f.Dst, arg.Size, true)...)
		}
		return insns, ""
	}
	return nil, "the operand is of an unknown kind"
}

// LoadAddress returns instructions that compute the address of a memory operand
// into dst, for values that are larger than a register. R1 is overwritten. The
// errors are those of LoadArg.
func LoadAddress(m stapsdt.Machine, arg *stapsdt.Arg, ctx, dst asm.Register) (asm.Instructions, error) {
	if arg.Err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, arg.Err)
	}
	if arg.Operand.Kind != stapsdt.Memory {
		return nil, fmt.Errorf("%w: %q: not in memory", ErrUnreadable, arg.Text)
	}
	insns, reason := loadAddress(m, &arg.Operand, ctx, dst)
	if reason != "" {
		return nil, fmt.Errorf("%w: %q: %s", ErrUnreadable, arg.Text, reason)
	}
	return insns, nil
}

// loadAddress forms Base + Index*Scale + Value of an operand in dst, which must
// not be R1 when there is an index or a wide value.
func loadAddress(m stapsdt.Machine, op *stapsdt.Operand, ctx, dst asm.Register) (insns asm.Instructions, reason string) {
	if op.Symbol != "" {
		return nil, fmt.Sprintf("the address of symbol %q is not known", op.Symbol)
	}
	if op.Base != "" {
		off, ok := regOffset(m, op.Base)
		if !ok {
			return nil, noRegister(m, op.Base)
		}
		insns = append(insns, asm.LoadMem(dst, ctx, off, asm.DWord))
	} else {
		insns = append(insns, asm.Mov.Imm(dst, 0))
	}
	if op.Index != "" {
		off, ok := regOffset(m, op.Index)
		if !ok {
			return nil, noRegister(m, op.Index)
		}
		insns = append(insns, asm.LoadMem(asm.R1, ctx, off, asm.DWord))
		if op.Scale != 1 {
			if op.Scale < 0 || op.Scale > math.MaxInt32 {
				return nil, fmt.Sprintf("scale %d", op.Scale)
			}
			insns = append(insns, asm.Mul.Imm(asm.R1, int32(op.Scale)))
		}
		insns = append(insns, asm.Add.Reg(dst, asm.R1))
	}
	switch {
	case op.Value == 0:
	case op.Value == int64(int32(op.Value)):
		insns = append(insns, asm.Add.Imm(dst, int32(op.Value)))
	default:
		insns = append(insns, asm.LoadImm(asm.R1, op.Value, asm.DWord), asm.Add.Reg(dst, asm.R1))
	}
	// Addresses of 32 bits wrap around at 32 bits.
	return append(insns, extendInsns(dst, m.WordSize(), false)...), ""
}

// noRegister is the reason against a register that the context lacks.
func noRegister(m stapsdt.Machine, reg string) string {
	return fmt.Sprintf("register %q of %s is not among those that the kernel shows to a program", reg, m)
}

func asmSize(n int) (asm.Size, bool) {
	switch n {
	case 1:
		return asm.Byte, true
	case 2:
		return asm.Half, true
	case 4:
		return asm.Word, true
	case 8:
		return asm.DWord, true
	}
	return 0, false
}

// extend cuts v to size bytes and extends it to 64 bits again.
func extend(v int64, size int, signed bool) int64 {
	shift := 64 - 8*size
	if signed {
		return v << shift >> shift
	}
	return int64(uint64(v) << shift >> shift)
}

// extendInsns does what extend does, in a register. Shifts are understood by
// every kernel, sign-extending moves since 6.6 only.
func extendInsns(r asm.Register, size int, signed bool) asm.Instructions {
	shift := int32(64 - 8*size)
	switch {
	case shift == 0:
		return nil
	case signed:
		return asm.Instructions{asm.LSh.Imm(r, shift), asm.ArSh.Imm(r, shift)}
	}
	return asm.Instructions{asm.LSh.Imm(r, shift), asm.RSh.Imm(r, shift)}
}
