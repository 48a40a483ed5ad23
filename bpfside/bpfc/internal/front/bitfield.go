package front

import (
	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// A bitPiece is a part of a bit-field: bits bits from bit shift of the size bytes
// at off, which are the bits from bit low of the field on.
type bitPiece struct {
	off, size  int
	shift, low int
	bits       int
}

// bitPieces returns how to reach a bit-field of bits bits, bit bits into a struct
// of size bytes (0 if that is not known): through the smallest aligned word that
// holds it, or, as packed structs have some that no word holds, byte by byte.
func bitPieces(bit, bits, size int) []bitPiece {
	for word := 1; word <= 8; word *= 2 {
		off := bit / (8 * word) * word
		if bit+bits <= 8*(off+word) && (size == 0 || off+word <= size) {
			return []bitPiece{{off, word, bit - 8*off, 0, bits}}
		}
	}
	var pieces []bitPiece
	for low := 0; low < bits; {
		shift := (bit + low) % 8
		n := min(8-shift, bits-low)
		pieces = append(pieces, bitPiece{(bit + low) / 8, 1, shift, low, n})
		low += n
	}
	return pieces
}

// loadBits reads a bit-field.
func (g *body) loadBits(p place) *ir.Value {
	t := underlying(p.t)
	vt, signed := g.irType(t), isSigned(t)
	pieces := bitPieces(p.bit, p.bits, p.size)
	if len(pieces) == 1 {
		unit := pieces[0]
		wt := unitType(unit.size)
		v := g.loadSized(p.at(int64(unit.off), p.t), wt, unit.size, false)
		return g.resize(g.extractBits(v, unit.shift, unit.bits, signed), vt, signed)
	}
	v := g.number(ir.I64, 0)
	for _, unit := range pieces {
		part := g.loadSized(p.at(int64(unit.off), p.t), ir.I64, unit.size, false)
		part = g.extractBits(part, unit.shift, unit.bits, false)
		if unit.low > 0 {
			part = g.value(ir.OpShl, ir.I64, part, g.number(ir.I64, int64(unit.low)))
		}
		v = g.value(ir.OpOr, ir.I64, v, part)
	}
	return g.resize(g.extractBits(v, 0, p.bits, signed), vt, signed)
}

// storeBits writes a bit-field and nothing else of the words that it is in.
func (g *body) storeBits(p place, v *ir.Value) {
	for _, unit := range bitPieces(p.bit, p.bits, p.size) {
		wt := unitType(unit.size)
		part := v
		if unit.low > 0 {
			part = g.value(ir.OpLShr, v.Type, v, g.number(v.Type, int64(unit.low)))
		}
		part = g.resize(part, wt, false)
		at := p.at(int64(unit.off), p.t)
		if unit.bits < 8*unit.size {
			mask := int64(1)<<unit.bits - 1
			part = g.value(ir.OpAnd, wt, part, g.number(wt, mask))
			if unit.shift > 0 {
				part = g.value(ir.OpShl, wt, part, g.number(wt, int64(unit.shift)))
			}
			old := g.loadSized(at, wt, unit.size, false)
			old = g.value(ir.OpAnd, wt, old, g.number(wt, ^(mask<<unit.shift)))
			part = g.value(ir.OpOr, wt, old, part)
		}
		base, off := g.address(at)
		s := g.value(ir.OpStore, ir.Void, base, part)
		s.Imm, s.Size, s.Align, s.Volatile = off, unit.size, min(at.align, unit.size), p.volatile
	}
}

// unitType is the type of a register that holds size bytes.
func unitType(size int) ir.Type {
	if size == 8 {
		return ir.I64
	}
	return ir.I32
}

// extractBits returns bits bits of v from bit shift on, extended.
func (g *body) extractBits(v *ir.Value, shift, bits int, signed bool) *ir.Value {
	width := 8 * v.Type.Size()
	if signed {
		if n := width - shift - bits; n > 0 {
			v = g.value(ir.OpShl, v.Type, v, g.number(v.Type, int64(n)))
		}
		if n := width - bits; n > 0 {
			v = g.value(ir.OpAShr, v.Type, v, g.number(v.Type, int64(n)))
		}
		return v
	}
	if shift > 0 {
		v = g.value(ir.OpLShr, v.Type, v, g.number(v.Type, int64(shift)))
	}
	if shift+bits < width {
		v = g.value(ir.OpAnd, v.Type, v, g.number(v.Type, 1<<bits-1))
	}
	return v
}

// truncateBits returns v as a bit-field of bits bits holds it.
func (g *body) truncateBits(v *ir.Value, bits int, signed bool) *ir.Value {
	if v.Type == ir.Ptr || bits >= 8*v.Type.Size() {
		return v
	}
	return g.extractBits(v, 0, bits, signed)
}

// resize returns v, extended as signed says, as an I32 or I64.
func (g *body) resize(v *ir.Value, t ir.Type, signed bool) *ir.Value {
	switch {
	case v.Type == t:
		return v
	case t == ir.I32:
		return g.value(ir.OpTrunc, ir.I32, v)
	case signed:
		return g.value(ir.OpSext, ir.I64, v)
	}
	return g.value(ir.OpZext, ir.I64, v)
}
