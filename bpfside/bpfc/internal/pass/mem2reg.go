package pass

import "github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"

// mem2reg turns objects of the frame that are only ever loaded and stored whole
// into values: static single assignment form after Cytron et al., "Efficiently
// Computing Static Single Assignment Form", with parameters of blocks for phi
// functions, and those only where the variable is still read.
//
// A variable of one or two bytes becomes an I32 that is extended where it is
// stored, not where it is loaded: so every reader has the same value, and what
// one of them compares the verifier knows of the next.
func mem2reg(f *ir.Func) bool {
	f.RemoveUnreachable()
	p := promoter{f: f, replaced: ir.NewReplacement(f)}
	p.find()
	if len(p.vars) == 0 {
		return false
	}
	p.dom = f.Dominators()
	p.preds = f.Preds()
	p.place()
	p.rename()
	p.replaced.Apply(f)
	return true
}

type promoter struct {
	f        *ir.Func
	replaced *ir.Replacement
	vars     []*variable
	byID     []*variable // of the alloca's ID, nil if it stays
	dom      *ir.Dominators
	preds    [][]ir.Pred
	params   [][]param // new ones of a block, by its ID
	undef    [ir.Ptr + 1]*ir.Value

	block *ir.Block
	out   []*ir.Value
	undo  []assignment
}

// A variable is an object that becomes values.
type variable struct {
	object *ir.Value
	typ    ir.Type
	size   int
	signed bool // how a variable of one or two bytes is extended
	loads  int
	signs  int // loads that extend by the sign

	defs    []*ir.Block // blocks that store, maybe more than once
	exposed []*ir.Block // blocks that load before they store
	current *ir.Value
}

type param struct {
	of    *variable
	value *ir.Value
}

type assignment struct {
	of  *variable
	old *ir.Value
}

// find lists the variables, with where they are stored and loaded.
func (p *promoter) find() {
	p.byID = make([]*variable, p.f.NumIDs())
	for _, v := range p.f.Entry().Values {
		if v.Op == ir.OpAlloca && isScalarSize(v.Size) {
			p.byID[v.ID] = &variable{object: v, typ: ir.I32, size: v.Size}
			if v.Size == 8 {
				p.byID[v.ID].typ = ir.I64
			}
		}
	}
	stays := func(args []*ir.Value) {
		for _, a := range args {
			p.byID[a.ID] = nil
		}
	}
	for _, b := range p.f.Blocks {
		for _, v := range b.Values {
			switch v.Op {
			case ir.OpLife:
				continue
			case ir.OpLoad, ir.OpStore:
				x := p.byID[v.Args[0].ID]
				if x != nil && (v.Imm != 0 || v.Size != x.size || v.Volatile) {
					p.byID[v.Args[0].ID] = nil
				}
				stays(v.Args[1:])
			default:
				stays(v.Args)
			}
		}
		stays(b.Term.Args)
		for _, e := range b.Term.Succs {
			stays(e.Args)
		}
	}
	for _, x := range p.byID {
		if x != nil {
			p.vars = append(p.vars, x)
		}
	}
	for _, b := range p.f.Blocks {
		for _, v := range b.Values {
			if len(v.Args) == 0 {
				continue
			}
			x := p.byID[v.Args[0].ID]
			if x == nil {
				continue
			}
			switch v.Op {
			case ir.OpLoad:
				x.loads++
				if v.Signed {
					x.signs++
				}
				if v.Type == ir.Ptr {
					x.typ = ir.Ptr
				}
				if last(x.defs) != b && last(x.exposed) != b {
					x.exposed = append(x.exposed, b)
				}
			case ir.OpStore:
				if v.Args[1].Type == ir.Ptr {
					x.typ = ir.Ptr
				}
				x.define(b)
			case ir.OpLife:
				x.define(b)
			}
		}
	}
	for _, x := range p.vars {
		x.signed = x.size < 4 && x.signs*2 > x.loads
	}
}

func (x *variable) define(b *ir.Block) {
	if last(x.defs) != b {
		x.defs = append(x.defs, b)
	}
}

func last(bs []*ir.Block) *ir.Block {
	if len(bs) == 0 {
		return nil
	}
	return bs[len(bs)-1]
}

// isScalarSize says whether one access has n bytes.
func isScalarSize(n int) bool {
	return n == 1 || n == 2 || n == 4 || n == 8
}

// place gives parameters to the blocks where different values of a variable
// meet: the iterated dominance frontier of its stores, as far as it is read.
func (p *promoter) place() {
	p.params = make([][]param, p.f.NumIDs())
	frontier := make([][]*ir.Block, p.f.NumIDs())
	for _, b := range p.dom.Order() {
		if len(p.preds[b.ID]) < 2 {
			continue
		}
		for _, pred := range p.preds[b.ID] {
			for at := pred.From; at != p.dom.Idom(b); at = p.dom.Idom(at) {
				if last(frontier[at.ID]) != b {
					frontier[at.ID] = append(frontier[at.ID], b)
				}
			}
		}
	}
	// Marks by block ID: the number of the variable that made them.
	n := p.f.NumIDs()
	live, defined, placed := make([]int, n), make([]int, n), make([]int, n)
	var work []*ir.Block
	for i, x := range p.vars {
		mark := i + 1
		for _, b := range x.defs {
			defined[b.ID] = mark
		}
		work = work[:0]
		for _, b := range x.exposed {
			live[b.ID] = mark
			work = append(work, b)
		}
		for len(work) > 0 {
			b := work[len(work)-1]
			work = work[:len(work)-1]
			for _, pred := range p.preds[b.ID] {
				if id := pred.From.ID; live[id] != mark && defined[id] != mark {
					live[id] = mark
					work = append(work, pred.From)
				}
			}
		}
		work = append(work, x.defs...)
		for len(work) > 0 {
			b := work[len(work)-1]
			work = work[:len(work)-1]
			for _, to := range frontier[b.ID] {
				if placed[to.ID] == mark || live[to.ID] != mark {
					continue
				}
				placed[to.ID] = mark
				value := to.NewParam(x.typ, x.object.Name)
				p.params[to.ID] = append(p.params[to.ID], param{x, value})
				work = append(work, to)
			}
		}
	}
}

// rename walks the dominator tree with the current value of each variable.
func (p *promoter) rename() {
	// A frame is a block whose children are visited, and the assignments to take
	// back when that is done.
	type frame struct {
		kids []*ir.Block
		undo int
	}
	stack := []frame{{kids: []*ir.Block{p.f.Entry()}}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if len(top.kids) == 0 {
			p.takeBack(top.undo)
			stack = stack[:len(stack)-1]
			continue
		}
		b := top.kids[0]
		top.kids = top.kids[1:]
		undo := len(p.undo)
		p.renameBlock(b)
		stack = append(stack, frame{kids: p.dom.Children(b), undo: undo})
	}
	for _, u := range p.undef {
		if u != nil {
			p.f.Entry().InsertBefore(0, u)
		}
	}
}

func (p *promoter) takeBack(n int) {
	for i := len(p.undo) - 1; i >= n; i-- {
		p.undo[i].of.current = p.undo[i].old
	}
	p.undo = p.undo[:n]
}

func (p *promoter) assign(x *variable, v *ir.Value) {
	p.undo = append(p.undo, assignment{x, x.current})
	x.current = v
}

func (p *promoter) renameBlock(b *ir.Block) {
	p.block, p.out = b, make([]*ir.Value, 0, len(b.Values))
	for _, param := range p.params[b.ID] {
		p.assign(param.of, param.value)
	}
	for _, v := range b.Values {
		x := p.variableOf(v)
		switch {
		case x == nil:
			p.out = append(p.out, v)
		case v.Op == ir.OpLoad:
			p.replaced.Set(v, p.loaded(x, v))
		case v.Op == ir.OpStore:
			p.assign(x, p.stored(x, v))
		case v.Op == ir.OpLife:
			p.assign(x, nil)
		}
	}
	b.Values = p.out
	for i := range b.Term.Succs {
		e := &b.Term.Succs[i]
		if params := p.params[e.To.ID]; len(params) > 0 {
			args := append([]*ir.Value(nil), e.Args...)
			for _, param := range params {
				args = append(args, p.value(param.of))
			}
			e.Args = args
		}
	}
}

// variableOf returns the variable that v is, loads or stores; nil of others.
func (p *promoter) variableOf(v *ir.Value) *variable {
	switch v.Op {
	case ir.OpAlloca:
		return p.at(v)
	case ir.OpLoad, ir.OpStore, ir.OpLife:
		return p.at(v.Args[0])
	}
	return nil
}

func (p *promoter) at(object *ir.Value) *variable {
	if object.ID < len(p.byID) {
		return p.byID[object.ID]
	}
	return nil
}

// value returns what x holds.
func (p *promoter) value(x *variable) *ir.Value {
	if x.current != nil {
		return x.current
	}
	if p.undef[x.typ] == nil {
		p.undef[x.typ] = p.f.NewValue(ir.OpUndef, x.typ)
		p.undef[x.typ].Block = p.f.Entry()
	}
	return p.undef[x.typ]
}

func (p *promoter) emit(at *ir.Value, op ir.Op, t ir.Type, size int, args ...*ir.Value) *ir.Value {
	v := p.f.NewValue(op, t, args...)
	v.Size, v.Pos, v.Block = size, at.Pos, p.block
	p.out = append(p.out, v)
	return v
}

// stored returns the value of x after the store v.
func (p *promoter) stored(x *variable, v *ir.Value) *ir.Value {
	value := p.replaced.Get(v.Args[1])
	switch {
	case value.Type == x.typ:
	case value.Type == ir.Ptr:
		value = p.emit(v, ir.OpPtrToInt, ir.I64, 0, value)
	case x.typ == ir.Ptr:
		value = p.emit(v, ir.OpIntToPtr, ir.Ptr, 0, value)
	default:
		value = p.emit(v, ir.OpTrunc, ir.I32, 0, value)
	}
	if x.size < 4 {
		value = p.extend(v, x.size, x.signed, value)
	}
	return value
}

// loaded returns what the load v of x reads.
func (p *promoter) loaded(x *variable, v *ir.Value) *ir.Value {
	value := p.value(x)
	if x.size < 4 && v.Signed != x.signed {
		value = p.extend(v, x.size, v.Signed, value)
	}
	switch {
	case value.Type == v.Type:
		return value
	case value.Type == ir.Ptr:
		return p.emit(v, ir.OpPtrToInt, ir.I64, 0, value)
	case v.Type == ir.Ptr:
		return p.emit(v, ir.OpIntToPtr, ir.Ptr, 0, value)
	case v.Signed:
		return p.emit(v, ir.OpSext, ir.I64, 0, value)
	}
	return p.emit(v, ir.OpZext, ir.I64, 0, value)
}

// extend returns the low size bytes of the I32 value, extended.
func (p *promoter) extend(at *ir.Value, size int, signed bool, value *ir.Value) *ir.Value {
	if signed {
		return p.emit(at, ir.OpSextIn, ir.I32, size, value)
	}
	mask := p.emit(at, ir.OpConst, ir.I32, 0)
	mask.Imm = int64(sizeMask(size))
	return p.emit(at, ir.OpAnd, ir.I32, 0, value, mask)
}
