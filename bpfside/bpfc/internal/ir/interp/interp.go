// Package interp runs functions of [ir] as eBPF would: tests compare with it
// what passes make of a function, and what lower does.
//
// Memory is objects: the globals of a module, the allocas of each call, and what
// the caller adds, such as a context. An access that is not within one object is
// an error, as is whatever else has no meaning. What runs does so without
// concurrency, so that atomics are ordinary accesses.
package interp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// ErrSteps is the error of a function that runs for too long.
var ErrSteps = errors.New("interp: too many steps")

// ErrUnreachable is the error of a function that comes to a place where the
// source says it never does.
var ErrUnreachable = errors.New("interp: unreachable code was reached")

// An AccessError is of an access outside each object.
type AccessError struct {
	Addr uint64
	Size int
	Pos  ir.Pos
}

// Error implements error.
func (e *AccessError) Error() string {
	return fmt.Sprintf("%v: access of %d bytes at %#x is in no object", e.Pos, e.Size, e.Addr)
}

// An object has the addresses from its number shifted left by objectBits on, so
// that no arithmetic of less than a gigabyte comes from one to the next. None
// has the number 0, which is where null pointers are.
const objectBits = 32

// maxDepth bounds the calls within each other. The verifier allows 8.
const maxDepth = 64

// A Machine has the memory of a module's globals, and runs its functions.
type Machine struct {
	// Helper is called for each [ir.OpHelper]; without one they all return 0. It
	// may read and write memory, and call functions with [Machine.Call].
	Helper func(call *ir.Value, args []uint64) (uint64, error)
	// Undefined is what each byte of a new alloca holds, and of each undefined
	// value. Running a function with several says whether it reads one.
	Undefined byte
	// Steps is how many values and ends of blocks may still run.
	Steps int

	objects [][]byte
	globals map[*ir.Global]uint64
	funcs   map[*ir.Func]uint64
	callees map[uint64]*ir.Func
	depth   int
}

// New returns a machine with the globals of m, which hold what m says.
func New(m *ir.Module) *Machine {
	mc := &Machine{
		Steps:   1 << 20,
		objects: make([][]byte, 1),
		globals: map[*ir.Global]uint64{},
		funcs:   map[*ir.Func]uint64{},
		callees: map[uint64]*ir.Func{},
	}
	for _, g := range m.Globals {
		data := make([]byte, g.Size)
		copy(data, g.Data)
		mc.globals[g] = mc.Object(data)
	}
	for _, f := range m.Funcs {
		addr := mc.Object(nil)
		mc.funcs[f], mc.callees[addr] = addr, f
	}
	return mc
}

// Object adds memory that has the bytes of data, and shares them, and returns
// its address.
func (m *Machine) Object(data []byte) uint64 {
	m.objects = append(m.objects, data)
	return uint64(len(m.objects)-1) << objectBits
}

// Global returns the address of g.
func (m *Machine) Global(g *ir.Global) uint64 { return m.globals[g] }

// Func returns the function whose address is addr, for helpers that call back.
func (m *Machine) Func(addr uint64) *ir.Func { return m.callees[addr] }

// Bytes returns the memory at addr, which is within one object.
func (m *Machine) Bytes(addr uint64, size int) ([]byte, error) {
	i, offset := addr>>objectBits, addr&(1<<objectBits-1)
	if i >= uint64(len(m.objects)) || offset+uint64(size) > uint64(len(m.objects[i])) {
		return nil, &AccessError{Addr: addr, Size: size}
	}
	return m.objects[i][offset : offset+uint64(size) : offset+uint64(size)], nil
}

// Call runs f and returns its result, 0 if it has none. An I32 has its upper
// half zero, in arguments as in the result.
func (m *Machine) Call(f *ir.Func, args ...uint64) (uint64, error) {
	if f.Entry() == nil {
		return 0, fmt.Errorf("interp: %s has no body", f.Name)
	}
	if len(args) != len(f.Params()) {
		return 0, fmt.Errorf("interp: %s has %d parameters, not %d", f.Name, len(f.Params()), len(args))
	}
	if m.depth == maxDepth {
		return 0, fmt.Errorf("interp: %s is called at depth %d", f.Name, m.depth)
	}
	m.depth++
	defer func() { m.depth-- }()
	fr := &frame{Machine: m, values: make([]uint64, f.NumIDs())}
	for i, p := range f.Params() {
		fr.values[p.ID] = args[i]
	}
	return fr.run(f.Entry())
}

// A frame is a call that runs.
type frame struct {
	*Machine
	values []uint64 // by ID; the upper half of an I32 is zero
}

// run runs from b on.
func (fr *frame) run(b *ir.Block) (uint64, error) {
	for {
		for _, v := range b.Values {
			if err := fr.step(); err != nil {
				return 0, err
			}
			x, err := fr.eval(v)
			if err != nil {
				var access *AccessError
				if errors.As(err, &access) && access.Pos == (ir.Pos{}) {
					access.Pos = v.Pos
				}
				return 0, err
			}
			if v.Type == ir.I32 {
				x = uint64(uint32(x))
			}
			fr.values[v.ID] = x
		}
		if err := fr.step(); err != nil {
			return 0, err
		}
		t := &b.Term
		next := 0
		switch t.Kind {
		case ir.TermJump:
		case ir.TermIf:
			if fr.values[t.Args[0].ID] == 0 {
				next = 1
			}
		case ir.TermSwitch:
			x := fr.values[t.Args[0].ID]
			for i, c := range t.Cases {
				if x == constant(t.Args[0].Type, c) {
					next = i + 1
				}
			}
		case ir.TermRet:
			if len(t.Args) == 0 {
				return 0, nil
			}
			return fr.values[t.Args[0].ID], nil
		case ir.TermUnreachable:
			return 0, ErrUnreachable
		default:
			return 0, fmt.Errorf("interp: b%d has no end", b.ID)
		}
		b = fr.follow(t.Succs[next])
	}
}

// follow gives the parameters of the block that e enters their values, at once:
// one may be the argument for another.
func (fr *frame) follow(e ir.Edge) *ir.Block {
	args := make([]uint64, len(e.Args))
	for i, a := range e.Args {
		args[i] = fr.values[a.ID]
	}
	for i, p := range e.To.Params {
		fr.values[p.ID] = args[i]
	}
	return e.To
}

func (fr *frame) step() error {
	if fr.Steps <= 0 {
		return ErrSteps
	}
	fr.Steps--
	return nil
}

// arg returns the value of operand i.
func (fr *frame) arg(v *ir.Value, i int) uint64 { return fr.values[v.Args[i].ID] }

// eval runs v.
func (fr *frame) eval(v *ir.Value) (uint64, error) {
	switch v.Op {
	case ir.OpConst:
		return constant(v.Type, v.Imm), nil
	case ir.OpUndef:
		return uint64(fr.Undefined) * 0x0101010101010101, nil
	case ir.OpAlloca:
		data := make([]byte, v.Size)
		fr.fill(data)
		return fr.Object(data), nil
	case ir.OpGlobal:
		addr, ok := fr.globals[v.Sym.(*ir.Global)]
		if !ok {
			return 0, fmt.Errorf("interp: %v is not of this module", v)
		}
		return addr + uint64(v.Imm), nil
	case ir.OpFunc:
		return fr.funcs[v.Sym.(*ir.Func)], nil
	case ir.OpCmp:
		if compare(v.Cond, v.Args[0].Type, fr.arg(v, 0), fr.arg(v, 1)) {
			return 1, nil
		}
		return 0, nil
	case ir.OpZext, ir.OpTrunc, ir.OpPtrToInt, ir.OpIntToPtr:
		return fr.arg(v, 0), nil
	case ir.OpSext:
		return uint64(int32(fr.arg(v, 0))), nil
	case ir.OpSextIn:
		return extend(fr.arg(v, 0), v.Size, true), nil
	case ir.OpBswap:
		return bits.ReverseBytes64(fr.arg(v, 0)) >> (64 - 8*v.Size), nil
	case ir.OpLoad, ir.OpStore, ir.OpCopy, ir.OpMove, ir.OpSet, ir.OpLife, ir.OpAtomic:
		return fr.memory(v)
	case ir.OpCall, ir.OpHelper:
		return fr.call(v)
	case ir.OpBarrier:
		if len(v.Args) == 0 {
			return 0, nil
		}
		return fr.arg(v, 0), nil
	}
	if len(v.Args) != 2 {
		return 0, fmt.Errorf("interp: %v is no operation", v)
	}
	return arithmetic(v.Op, v.Type, fr.arg(v, 0), fr.arg(v, 1))
}

// constant is the value of the constant n of type t.
func constant(t ir.Type, n int64) uint64 {
	if t == ir.I32 {
		return uint64(uint32(n))
	}
	return uint64(n)
}

// extend extends the low size bytes of x.
func extend(x uint64, size int, signed bool) uint64 {
	shift := uint(64 - 8*size)
	if signed {
		return uint64(int64(x<<shift) >> shift)
	}
	return x << shift >> shift
}

// arithmetic is what the instruction of op does, in 32 or 64 bits.
func arithmetic(op ir.Op, t ir.Type, x, y uint64) (uint64, error) {
	width := uint64(64)
	sx, sy := int64(x), int64(y)
	if t == ir.I32 {
		width = 32
		sx, sy = int64(int32(x)), int64(int32(y))
	}
	switch op {
	case ir.OpAdd:
		return x + y, nil
	case ir.OpSub:
		return x - y, nil
	case ir.OpMul:
		return x * y, nil
	case ir.OpUDiv:
		if y == 0 {
			return 0, nil
		}
		return x / y, nil
	case ir.OpUMod:
		if y == 0 {
			return x, nil
		}
		return x % y, nil
	case ir.OpSDiv:
		// Go, as the kernel, has the least number divided by -1 itself.
		if sy == 0 {
			return 0, nil
		}
		return uint64(sx / sy), nil
	case ir.OpSMod:
		if sy == 0 {
			return x, nil
		}
		return uint64(sx % sy), nil
	case ir.OpAnd:
		return x & y, nil
	case ir.OpOr:
		return x | y, nil
	case ir.OpXor:
		return x ^ y, nil
	case ir.OpShl:
		return x << (y % width), nil
	case ir.OpLShr:
		return x >> (y % width), nil
	case ir.OpAShr:
		return uint64(sx >> (y % width)), nil
	}
	return 0, fmt.Errorf("interp: %v is no operation", op)
}

// compare says whether x has cond to y, both of type t.
func compare(cond ir.Cond, t ir.Type, x, y uint64) bool {
	sx, sy := int64(x), int64(y)
	if t == ir.I32 {
		sx, sy = int64(int32(x)), int64(int32(y))
	}
	switch cond {
	case ir.EQ:
		return x == y
	case ir.NE:
		return x != y
	case ir.ULT:
		return x < y
	case ir.ULE:
		return x <= y
	case ir.UGT:
		return x > y
	case ir.UGE:
		return x >= y
	case ir.SLT:
		return sx < sy
	case ir.SLE:
		return sx <= sy
	case ir.SGT:
		return sx > sy
	case ir.SGE:
		return sx >= sy
	}
	return false
}

// call runs a call of a function or of a helper.
func (fr *frame) call(v *ir.Value) (uint64, error) {
	args := make([]uint64, len(v.Args))
	for i := range v.Args {
		args[i] = fr.arg(v, i)
	}
	if v.Op == ir.OpCall {
		return fr.Call(v.Sym.(*ir.Func), args...)
	}
	if fr.Helper == nil {
		return 0, nil
	}
	return fr.Helper(v, args)
}

// memory runs what reads or writes memory.
func (fr *frame) memory(v *ir.Value) (uint64, error) {
	if v.Op == ir.OpLife {
		data, err := fr.Bytes(fr.arg(v, 0), v.Args[0].Size)
		fr.fill(data)
		return 0, err
	}
	to, err := fr.Bytes(fr.arg(v, 0)+uint64(v.Imm), v.Size)
	if err != nil {
		return 0, err
	}
	switch v.Op {
	case ir.OpLoad:
		return extend(get(to), v.Size, v.Signed), nil
	case ir.OpStore:
		put(to, fr.arg(v, 1))
	case ir.OpCopy, ir.OpMove:
		from, err := fr.Bytes(fr.arg(v, 1), v.Size)
		if err != nil {
			return 0, err
		}
		copy(to, from)
	case ir.OpSet:
		for i := range to {
			to[i] = byte(fr.arg(v, 1))
		}
	case ir.OpAtomic:
		return fr.atomic(v, to), nil
	}
	return 0, nil
}

// atomic runs v on the memory data, and returns what that held.
func (fr *frame) atomic(v *ir.Value, data []byte) uint64 {
	old, x := get(data), fr.arg(v, 1)
	switch v.Atomic {
	case ir.AtomicAdd:
		put(data, old+x)
	case ir.AtomicAnd:
		put(data, old&x)
	case ir.AtomicOr:
		put(data, old|x)
	case ir.AtomicXor:
		put(data, old^x)
	case ir.AtomicXchg:
		put(data, x)
	case ir.AtomicCmpXchg:
		if old == x {
			put(data, fr.arg(v, 2))
		}
	}
	return old
}

func (fr *frame) fill(data []byte) {
	for i := range data {
		data[i] = fr.Undefined
	}
}

// get reads a number of at most 8 bytes.
func get(data []byte) uint64 {
	var b [8]byte
	copy(b[:], data)
	return binary.LittleEndian.Uint64(b[:])
}

// put writes the low bytes of x.
func put(data []byte, x uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], x)
	copy(data, b[:])
}
