package ir

import (
	"fmt"
	"math/bits"
)

// Check says what is wrong with the functions of m, as an [Errors]: faults of
// the stage that made them, not of the source. Its globals and symbols are
// checked too.
func (m *Module) Check() error {
	var errs Errors
	names := map[string]bool{}
	known := map[Symbol]bool{}
	name := func(pos Pos, n string) {
		if n == "" {
			errs.Add(pos, "ir: a symbol without a name")
		} else if names[n] {
			errs.Add(pos, "ir: two symbols have the name %s", n)
		}
		names[n] = true
	}
	for _, g := range m.Globals {
		name(g.Pos, g.Name)
		known[g] = true
		switch {
		case g.Size < 0:
			errs.Add(g.Pos, "ir: global %s has the size %d", g.Name, g.Size)
		case !isPowerOfTwo(g.Align):
			errs.Add(g.Pos, "ir: global %s has the alignment %d", g.Name, g.Align)
		case g.Data != nil && len(g.Data) != g.Size:
			errs.Add(g.Pos, "ir: global %s has %d bytes of data and the size %d", g.Name, len(g.Data), g.Size)
		case g.Extern && g.Data != nil:
			errs.Add(g.Pos, "ir: extern %s has data", g.Name)
		}
	}
	for _, f := range m.Funcs {
		name(f.Pos, f.Name)
		known[f] = true
	}
	for _, f := range m.Funcs {
		for _, b := range f.Blocks {
			for _, v := range b.Values {
				if v.Sym != nil && !known[v.Sym] {
					errs.Add(v.Pos, "ir: func %s: %v: the module has no such symbol", f.Name, v)
				}
			}
		}
		if err := f.Check(); err != nil {
			errs = append(errs, err.(Errors)...)
		}
	}
	return errs.Err()
}

// Check says what is wrong with f, as an [Errors]: what the package's comment
// and those of [Op] ask for and f has not.
func (f *Func) Check() error {
	if len(f.Blocks) == 0 {
		return nil
	}
	c := &checker{f: f}
	if !c.structure() {
		return c.errs.Err() // the rest would stumble over it
	}
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			c.pos = v.Pos
			c.value(v)
		}
		c.pos = b.Term.Pos
		c.term(b)
	}
	if len(c.errs) == 0 {
		c.dominance()
	}
	return c.errs.Err()
}

type checker struct {
	f    *Func
	errs Errors
	pos  Pos      // of what is looked at
	here []*Value // those of the function, by ID
}

func (c *checker) errorf(what any, format string, args ...any) {
	c.errs.Add(c.pos, "ir: func %s: %v: %s", c.f.Name, what, fmt.Sprintf(format, args...))
}

// structure checks that blocks and values are where they say, and that nothing
// is nil or has the number of another.
func (c *checker) structure() bool {
	blocks := make([]*Block, c.f.NumIDs())
	c.here = make([]*Value, c.f.NumIDs())
	for _, b := range c.f.Blocks {
		c.pos = b.Term.Pos
		switch {
		case b.ID < 1 || b.ID >= len(blocks):
			c.errorf(Edge{To: b}, "the number is not one of this function")
			return false
		case blocks[b.ID] != nil:
			c.errorf(Edge{To: b}, "another block has this number")
		case b.Func != c.f:
			c.errorf(Edge{To: b}, "Func is not this function")
		}
		blocks[b.ID] = b
	}
	for _, b := range c.f.Blocks {
		for _, p := range b.Params {
			if c.placed(p, b) && (p.Op != OpParam || p.Type == Void || len(p.Args) > 0) {
				c.errorf(p, "no parameter")
			}
		}
		for _, v := range b.Values {
			c.placed(v, b)
		}
	}
	if len(c.errs) > 0 {
		return false
	}
	for _, b := range c.f.Blocks {
		b.Operands(func(v **Value) {
			if *v == nil || (*v).ID < 1 || (*v).ID >= len(c.here) || c.here[(*v).ID] != *v {
				c.pos = b.Term.Pos
				c.errorf(b, "an operand is in no block of this function")
			}
		})
		for _, e := range b.Term.Succs {
			if e.To == nil || e.To.ID < 1 || e.To.ID >= len(blocks) || blocks[e.To.ID] != e.To {
				c.pos = b.Term.Pos
				c.errorf(Edge{To: b}, "an edge enters no block of this function")
			}
		}
	}
	return len(c.errs) == 0
}

// placed checks that v is a value that says it is in b.
func (c *checker) placed(v *Value, b *Block) bool {
	c.pos = b.Term.Pos
	switch {
	case v == nil:
		c.errorf(Edge{To: b}, "a value is nil")
		return false
	case v.ID < 1 || v.ID >= len(c.here):
		c.errorf(v, "the number is not one of this function")
		return false
	case c.here[v.ID] != nil:
		c.errorf(v, "another value has this number")
	case v.Block != b:
		c.errorf(v, "Block is not the one where it stands")
	}
	c.here[v.ID] = v
	return true
}

// signatures has, for each operation with operands of fixed types, the types of
// its result and its operands, in letters: i and l (I32 and I64), p (Ptr), v
// (Void), and n, which is I32 or I64 but the same wherever it stands.
var signatures = map[Op][]string{
	OpConst:    {"i", "l", "p"},
	OpUndef:    {"i", "l", "p"},
	OpAlloca:   {"p"},
	OpGlobal:   {"p"},
	OpFunc:     {"p"},
	OpAdd:      {"nnn", "ppl"},
	OpSub:      {"nnn", "ppl"},
	OpMul:      {"nnn"},
	OpUDiv:     {"nnn"},
	OpSDiv:     {"nnn"},
	OpUMod:     {"nnn"},
	OpSMod:     {"nnn"},
	OpAnd:      {"nnn"},
	OpOr:       {"nnn"},
	OpXor:      {"nnn"},
	OpShl:      {"nnn"},
	OpLShr:     {"nnn"},
	OpAShr:     {"nnn"},
	OpCmp:      {"inn", "ipp"},
	OpZext:     {"li"},
	OpSext:     {"li"},
	OpTrunc:    {"il"},
	OpSextIn:   {"nn"},
	OpPtrToInt: {"lp"},
	OpIntToPtr: {"pl"},
	OpBswap:    {"nn"},
	OpLoad:     {"ip", "lp", "pp"},
	OpStore:    {"vpi", "vpl", "vpp"},
	OpCopy:     {"vpp"},
	OpMove:     {"vpp"},
	OpSet:      {"vpi"},
	OpLife:     {"vp"},
	OpAtomic:   {"npn", "vpn", "npnn"},
	OpBarrier:  {"v", "nn", "pp"},
}

// fits says whether v has the types of a signature.
func fits(sig string, v *Value) bool {
	if len(sig) != 1+len(v.Args) {
		return false
	}
	var n Type
	for i := range len(sig) {
		t := v.Type
		if i > 0 {
			t = v.Args[i-1].Type
		}
		ok := false
		switch sig[i] {
		case 'v':
			ok = t == Void
		case 'i':
			ok = t == I32
		case 'l':
			ok = t == I64
		case 'p':
			ok = t == Ptr
		case 'n':
			ok = (t == I32 || t == I64) && (n == Void || n == t)
			n = t
		}
		if !ok {
			return false
		}
	}
	return true
}

// value checks one value by itself.
func (c *checker) value(v *Value) {
	switch v.Op {
	case OpCall, OpHelper:
		c.call(v)
	default:
		sigs, ok := signatures[v.Op]
		if !ok {
			c.errorf(v, "no operation that stands in a block")
			return
		}
		for _, sig := range sigs {
			if fits(sig, v) {
				ok = false
			}
		}
		if ok {
			c.errorf(v, "the types do not fit")
			return
		}
	}
	switch v.Op {
	case OpConst:
		if v.Type == I32 && v.Imm != int64(int32(v.Imm)) {
			c.errorf(v, "the constant is not a sign-extended I32")
		}
	case OpAlloca:
		if v.Block != c.f.Entry() {
			c.errorf(v, "not in the entry block")
		}
		c.size(v, v.Size > 0)
		c.align(v)
	case OpGlobal:
		if g, ok := v.Sym.(*Global); !ok || g == nil {
			c.errorf(v, "Sym is no global")
		}
	case OpFunc:
		if f, ok := v.Sym.(*Func); !ok || f == nil || v.Imm != 0 {
			c.errorf(v, "Sym is no function, or has an offset")
		}
	case OpCmp:
		if v.Cond < EQ || v.Cond > SGE {
			c.errorf(v, "no condition")
		}
	case OpSextIn:
		c.size(v, v.Size == 1 || v.Size == 2)
	case OpBswap:
		c.size(v, (v.Size == 2 || v.Size == 4 || v.Size == 8) && v.Size <= v.Type.Size())
	case OpLoad:
		c.access(v, v.Type)
		if v.Type == Ptr && v.Size != 8 {
			c.errorf(v, "a pointer of %d bytes", v.Size)
		}
	case OpStore:
		c.access(v, v.Args[1].Type)
		if v.Args[1].Type == Ptr && v.Size != 8 {
			c.errorf(v, "a pointer of %d bytes", v.Size)
		}
	case OpAtomic:
		c.access(v, v.Args[1].Type)
		c.size(v, v.Size == v.Args[1].Type.Size())
		if v.Atomic < AtomicAdd || v.Atomic > AtomicCmpXchg {
			c.errorf(v, "no atomic operation")
		}
		if (v.Atomic == AtomicCmpXchg) != (len(v.Args) == 3) {
			c.errorf(v, "atomic %s has %d operands", v.Atomic, len(v.Args))
		}
		if v.Type == Void && v.Atomic >= AtomicXchg {
			c.errorf(v, "atomic %s has a result", v.Atomic)
		}
	case OpCopy, OpMove, OpSet:
		c.size(v, v.Size >= 0)
		c.align(v)
	case OpLife:
		if v.Args[0].Op != OpAlloca {
			c.errorf(v, "the operand is no alloca")
		}
	}
}

func (c *checker) size(v *Value, ok bool) {
	if !ok {
		c.errorf(v, "the size is %d", v.Size)
	}
}

func (c *checker) align(v *Value) {
	if !isPowerOfTwo(v.Align) {
		c.errorf(v, "the alignment is %d", v.Align)
	}
}

// access checks the size of a load, store or atomic of type t.
func (c *checker) access(v *Value, t Type) {
	c.size(v, isPowerOfTwo(v.Size) && v.Size <= t.Size())
	c.align(v)
}

func (c *checker) call(v *Value) {
	for _, a := range v.Args {
		if a.Type == Void {
			c.errorf(v, "an operand has no value")
			return
		}
	}
	if v.Op == OpHelper {
		if len(v.Args) > 5 {
			c.errorf(v, "a helper with %d arguments", len(v.Args))
		}
		if v.Type == I32 {
			c.errorf(v, "a helper has no I32 result")
		}
		return
	}
	f, ok := v.Sym.(*Func)
	if !ok || f == nil {
		c.errorf(v, "Sym is no function")
		return
	}
	if v.Type != f.Result {
		c.errorf(v, "the function's result is %s", f.Result)
	}
	if len(f.Blocks) == 0 {
		return
	}
	params := f.Params()
	if len(v.Args) != len(params) {
		c.errorf(v, "the function has %d parameters", len(params))
		return
	}
	for i, p := range params {
		if p.Type != v.Args[i].Type {
			c.errorf(v, "parameter %d of the function is %s", i+1, p.Type)
		}
	}
}

// term checks the end of b and the edges there.
func (c *checker) term(b *Block) {
	t := &b.Term
	args, succs := 0, 0
	switch t.Kind {
	case TermJump:
		succs = 1
	case TermIf:
		args, succs = 1, 2
	case TermSwitch:
		args, succs = 1, len(t.Cases)+1
	case TermRet:
		if c.f.Result != Void {
			args = 1
		}
	case TermUnreachable:
	default:
		c.errorf(Edge{To: b}, "has no end")
		return
	}
	if len(t.Args) != args || len(t.Succs) != succs {
		c.errorf(t, "%d operands and %d edges in b%d", len(t.Args), len(t.Succs), b.ID)
		return
	}
	switch {
	case t.Kind == TermRet && args == 1:
		if t.Args[0].Type != c.f.Result {
			c.errorf(t, "the function's result is %s", c.f.Result)
		}
	case args == 1 && t.Args[0].Type != I32 && t.Args[0].Type != I64:
		c.errorf(t, "the operand is %s", t.Args[0].Type)
	}
	seen := map[int64]bool{}
	for _, n := range t.Cases {
		if seen[n] {
			c.errorf(t, "case %d stands twice", n)
		}
		if t.Args[0].Type == I32 && n != int64(int32(n)) {
			c.errorf(t, "case %d is not a sign-extended I32", n)
		}
		seen[n] = true
	}
	for _, e := range t.Succs {
		if e.To == c.f.Entry() {
			c.errorf(t, "enters the entry block")
		}
		if len(e.Args) != len(e.To.Params) {
			c.errorf(t, "b%d has %d parameters", e.To.ID, len(e.To.Params))
			continue
		}
		for i, p := range e.To.Params {
			if e.Args[i].Type != p.Type {
				c.errorf(t, "parameter %d of b%d is %s", i+1, e.To.ID, p.Type)
			}
		}
	}
}

// dominance checks that each operand is made on every way to where it is used.
// In blocks that cannot be reached anything goes.
func (c *checker) dominance() {
	d := c.f.Dominators()
	at := make([]int, c.f.NumIDs()) // position in its block, parameters -1
	for _, b := range c.f.Blocks {
		for _, p := range b.Params {
			at[p.ID] = -1
		}
		for i, v := range b.Values {
			at[v.ID] = i
		}
	}
	for _, b := range d.Order() {
		use := func(i int, v *Value, by fmt.Stringer, pos Pos) {
			if v.Block == b && at[v.ID] < i || v.Block != b && d.Dominates(v.Block, b) {
				return
			}
			c.pos = pos
			c.errorf(by, "v%d is not made on every way to b%d", v.ID, b.ID)
		}
		for i, v := range b.Values {
			for _, a := range v.Args {
				use(i, a, v, v.Pos)
			}
		}
		for _, a := range b.Term.Args {
			use(len(b.Values), a, &b.Term, b.Term.Pos)
		}
		for _, e := range b.Term.Succs {
			for _, a := range e.Args {
				use(len(b.Values), a, &b.Term, b.Term.Pos)
			}
		}
	}
}

func isPowerOfTwo(n int) bool { return n > 0 && bits.OnesCount(uint(n)) == 1 }
