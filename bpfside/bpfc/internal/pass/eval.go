package pass

import (
	"math/bits"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// normal returns x as the Imm of a constant of type t: an I32 is extended by
// its sign.
func normal(t ir.Type, x int64) int64 {
	if t == ir.I32 {
		return int64(int32(x))
	}
	return x
}

// evalBinary computes an arithmetic operation as the machine does; ok is false
// of an operation that is none.
func evalBinary(op ir.Op, t ir.Type, x, y int64) (z int64, ok bool) {
	ux, uy, width := uint64(x), uint64(y), uint64(64)
	if t == ir.I32 {
		ux, uy, width = uint64(uint32(x)), uint64(uint32(y)), 32
	}
	switch op {
	case ir.OpAdd:
		z = x + y
	case ir.OpSub:
		z = x - y
	case ir.OpMul:
		z = x * y
	case ir.OpUDiv:
		if uy != 0 {
			z = int64(ux / uy)
		}
	case ir.OpUMod:
		z = x
		if uy != 0 {
			z = int64(ux % uy)
		}
	case ir.OpSDiv: // the lowest number by -1 is itself, in Go and in the kernel
		if y != 0 {
			z = x / y
		}
	case ir.OpSMod:
		z = x
		if y != 0 {
			z = x % y
		}
	case ir.OpAnd:
		z = x & y
	case ir.OpOr:
		z = x | y
	case ir.OpXor:
		z = x ^ y
	case ir.OpShl:
		z = x << (uy % width)
	case ir.OpLShr:
		z = int64(ux >> (uy % width))
	case ir.OpAShr:
		z = x >> (uy % width)
	default:
		return 0, false
	}
	return normal(t, z), true
}

// evalCmp says whether x has cond to y.
func evalCmp(cond ir.Cond, t ir.Type, x, y int64) bool {
	ux, uy := uint64(x), uint64(y)
	if t == ir.I32 {
		ux, uy = uint64(uint32(x)), uint64(uint32(y))
	}
	switch cond {
	case ir.EQ:
		return x == y
	case ir.NE:
		return x != y
	case ir.ULT:
		return ux < uy
	case ir.ULE:
		return ux <= uy
	case ir.UGT:
		return ux > uy
	case ir.UGE:
		return ux >= uy
	case ir.SLT:
		return x < y
	case ir.SLE:
		return x <= y
	case ir.SGT:
		return x > y
	default:
		return x >= y
	}
}

// extendIn returns the low size bytes of x, extended by their sign or by zeros.
func extendIn(x int64, size int, signed bool) int64 {
	shift := 64 - 8*size
	if signed {
		return x << shift >> shift
	}
	return int64(uint64(x) << shift >> shift)
}

// swapBytes returns the low size bytes of x in the opposite order.
func swapBytes(x int64, size int) int64 {
	return int64(bits.ReverseBytes64(uint64(x)) >> (64 - 8*size))
}

// knownDepth bounds how far zeroBits looks: the masks that matter stand near.
const knownDepth = 6

// zeroBits returns the bits of the register of v that are 0 whatever happens.
// It knows no more than the verifier does of the same operations, so that a
// mask which it makes superfluous is one for the verifier, too. Of a quotient or
// a remainder that is nothing.
func zeroBits(v *ir.Value, depth int) uint64 {
	var high uint64 // of the upper half
	if v.Type == ir.I32 {
		high = ^uint64(1<<32 - 1)
	}
	if depth == 0 {
		return high
	}
	arg := func(i int) uint64 { return zeroBits(v.Args[i], depth-1) }
	switch v.Op {
	case ir.OpConst:
		return ^uint64(v.Imm) | high
	case ir.OpCmp:
		return ^uint64(1)
	case ir.OpLoad:
		if !v.Signed && v.Size < 8 {
			return ^uint64(0) << (8 * v.Size)
		}
	case ir.OpBswap:
		if v.Size < 8 {
			return ^uint64(0) << (8 * v.Size)
		}
	case ir.OpZext:
		return arg(0)
	case ir.OpTrunc:
		return arg(0) | high
	case ir.OpAnd:
		return arg(0) | arg(1)
	case ir.OpOr, ir.OpXor:
		return arg(0) & arg(1)
	case ir.OpAdd:
		if v.Type != ir.Ptr { // at most one bit more than the wider one has
			return ^uint64(0)<<(1+64-bits.LeadingZeros64(^(arg(0)&arg(1)))) | high
		}
	case ir.OpShl:
		if n, ok := shiftCount(v); ok {
			return arg(0)<<n | (1<<n - 1) | high
		}
	case ir.OpLShr:
		if n, ok := shiftCount(v); ok {
			return arg(0)>>n | ^(^uint64(0) >> n) | high
		}
	}
	return high
}

// shiftCount returns the constant by which v shifts.
func shiftCount(v *ir.Value) (uint, bool) {
	if n := v.Args[1]; n.Op == ir.OpConst {
		return uint(n.Imm) & uint(8*v.Type.Size()-1), true
	}
	return 0, false
}

// isNonNegative says whether the sign bit of v is known to be 0.
func isNonNegative(v *ir.Value) bool {
	if v.Op == ir.OpUDiv || v.Op == ir.OpUMod {
		if n, ok := constOf(v.Args[1]); ok && n > 1 {
			return true
		}
	}
	sign := uint64(1) << (8*v.Type.Size() - 1)
	return zeroBits(v, knownDepth)&sign != 0
}

// log2 returns n of a constant that is 1<<n, in its type.
func log2(t ir.Type, x int64) (int64, bool) {
	u := uint64(x)
	if t == ir.I32 {
		u = uint64(uint32(x))
	}
	if bits.OnesCount64(u) != 1 {
		return 0, false
	}
	return int64(bits.TrailingZeros64(u)), true
}
