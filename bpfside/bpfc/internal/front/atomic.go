package front

import (
	"strings"

	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// An atomicResult is what an atomic builtin gives.
type atomicResult uint8

const (
	atomicNone atomicResult = iota
	atomicOld               // what was there before
	atomicNew               // what is there after
	atomicBool
)

// An atomicFunc is an atomic builtin.
type atomicFunc struct {
	args   int // without those that say the order
	orders int
	result atomicResult
	emit   func(g *body, p place, args []cc.ExpressionNode, wanted bool) *ir.Value
}

// The values of __ATOMIC_RELAXED and of its like that ask for no more than a
// plain access gives.
const (
	orderRelaxed = 0
	orderConsume = 1
)

// atomics are the atomic builtins, by name. All but loads and stores are fully
// ordered, which is the strongest order that one may ask for.
var atomics map[string]atomicFunc

func init() {
	atomics = map[string]atomicFunc{
		"__sync_val_compare_and_swap":          {3, 0, atomicOld, (*body).compareAndSwap},
		"__sync_bool_compare_and_swap":         {3, 0, atomicBool, (*body).compareAndSwapBool},
		"__sync_lock_test_and_set":             {2, 0, atomicOld, (*body).exchange},
		"__sync_swap":                          {2, 0, atomicOld, (*body).exchange},
		"__atomic_exchange_n":                  {2, 1, atomicOld, (*body).exchange},
		"__c11_atomic_exchange":                {2, 1, atomicOld, (*body).exchange},
		"__atomic_compare_exchange_n":          {4, 2, atomicBool, (*body).compareExchange},
		"__c11_atomic_compare_exchange_strong": {3, 2, atomicBool, (*body).compareExchange},
		"__c11_atomic_compare_exchange_weak":   {3, 2, atomicBool, (*body).compareExchange},
		"__atomic_load_n":                      {1, 1, atomicOld, nil},
		"__c11_atomic_load":                    {1, 1, atomicOld, nil},
		"__atomic_load":                        {2, 1, atomicNone, nil},
		"__atomic_store":                       {2, 1, atomicNone, nil},
		"__atomic_exchange":                    {3, 1, atomicNone, (*body).exchangeAt},
		"__atomic_compare_exchange":            {4, 2, atomicBool, (*body).compareExchangeAt},
		"__atomic_store_n":                     {2, 1, atomicNone, nil},
		"__c11_atomic_store":                   {2, 1, atomicNone, nil},
		"__c11_atomic_init":                    {2, 0, atomicNone, nil},
		"__sync_lock_release":                  {1, 0, atomicNone, nil},
		"__sync_synchronize":                   {0, 0, atomicNone, nil},
		"__atomic_thread_fence":                {0, 1, atomicNone, nil},
		"__atomic_signal_fence":                {0, 1, atomicNone, nil},
		"__c11_atomic_thread_fence":            {0, 1, atomicNone, nil},
		"__c11_atomic_signal_fence":            {0, 1, atomicNone, nil},
	}
	for name, op := range map[string]ir.AtomicOp{
		"add": ir.AtomicAdd, "sub": ir.AtomicAdd, "and": ir.AtomicAnd, "or": ir.AtomicOr, "xor": ir.AtomicXor,
	} {
		fetch, after := fetchOp(op, name == "sub", false), fetchOp(op, name == "sub", true)
		atomics["__sync_fetch_and_"+name] = atomicFunc{2, 0, atomicOld, fetch}
		atomics["__sync_"+name+"_and_fetch"] = atomicFunc{2, 0, atomicNew, after}
		atomics["__atomic_fetch_"+name] = atomicFunc{2, 1, atomicOld, fetch}
		atomics["__atomic_"+name+"_fetch"] = atomicFunc{2, 1, atomicNew, after}
		atomics["__c11_atomic_fetch_"+name] = atomicFunc{2, 1, atomicOld, fetch}
	}
}

// atomic translates a call of an atomic builtin.
func (g *body) atomic(e *cc.PostfixExpression, name string, a atomicFunc, args []cc.ExpressionNode, wanted bool) *ir.Value {
	t := g.typeOf(e)
	if want := a.args + a.orders; len(args) < want {
		// More are let pass: __sync builtins may name what they protect.
		return g.refuse(e, t, "%s takes %d arguments, not %d", name, want, len(args))
	}
	if strings.HasSuffix(name, "_fence") || name == "__sync_synchronize" {
		return g.fence(e, name, args)
	}
	p := g.deref(e, args[0])
	elem := underlying(p.t)
	size := g.sizeof(elem)
	if !isScalar(elem) {
		return g.refuse(e, t, "%s works on integers and pointers, not on %s", name, p.t)
	}
	if a.emit == nil {
		return g.plainAtomic(e, name, p, args)
	}
	switch {
	case size != 4 && size != 8:
		return g.refuse(e, t, "%s of %d bytes is not supported: eBPF has atomic operations of 4 and 8 bytes", name, size)
	case p.align < size:
		return g.refuse(e, t, "%s of what is not aligned is not supported", name)
	}
	g.atNode(e)
	if !isPointer(elem) {
		return a.emit(g, p, args, wanted)
	}
	// The machine knows integers alone.
	p.t = g.basic(cc.ULong)
	v := a.emit(g, p, args, wanted)
	if v == nil || a.result == atomicBool {
		return v
	}
	return g.convert(e, v, p.t, elem)
}

// atomicOp appends an atomic operation on p.
func (g *body) atomicOp(op ir.AtomicOp, p place, wanted bool, args ...*ir.Value) *ir.Value {
	t := g.irType(p.t)
	if !wanted && op != ir.AtomicXchg && op != ir.AtomicCmpXchg {
		t = ir.Void
	}
	base, off := g.address(p)
	v := g.value(ir.OpAtomic, t, append([]*ir.Value{base}, args...)...)
	v.Atomic, v.Imm, v.Size, v.Align = op, off, g.sizeof(p.t), min(p.align, g.sizeof(p.t))
	return v
}

// fetchOp makes a builtin that changes what is there: by a difference, if negate
// is set, and with the new value as the result, if after is.
func fetchOp(op ir.AtomicOp, negate, after bool) func(*body, place, []cc.ExpressionNode, bool) *ir.Value {
	return func(g *body, p place, args []cc.ExpressionNode, wanted bool) *ir.Value {
		n := g.argument(args[1], p.t)
		if negate {
			n = g.value(ir.OpSub, n.Type, g.number(n.Type, 0), n)
		}
		old := g.atomicOp(op, p, wanted, n)
		switch {
		case !wanted:
			return nil
		case !after:
			return old
		}
		code := map[ir.AtomicOp]ir.Op{
			ir.AtomicAdd: ir.OpAdd, ir.AtomicAnd: ir.OpAnd, ir.AtomicOr: ir.OpOr, ir.AtomicXor: ir.OpXor,
		}[op]
		return g.value(code, old.Type, old, n)
	}
}

func (g *body) exchange(p place, args []cc.ExpressionNode, _ bool) *ir.Value {
	return g.atomicOp(ir.AtomicXchg, p, true, g.argument(args[1], p.t))
}

func (g *body) compareAndSwap(p place, args []cc.ExpressionNode, _ bool) *ir.Value {
	return g.atomicOp(ir.AtomicCmpXchg, p, true, g.argument(args[1], p.t), g.argument(args[2], p.t))
}

func (g *body) compareAndSwapBool(p place, args []cc.ExpressionNode, _ bool) *ir.Value {
	want := g.argument(args[1], p.t)
	old := g.atomicOp(ir.AtomicCmpXchg, p, true, want, g.argument(args[2], p.t))
	return g.compare(ir.EQ, old, want)
}

// exchangeAt is exchange of *args[1] that gives the old value to *args[2].
func (g *body) exchangeAt(p place, args []cc.ExpressionNode, _ bool) *ir.Value {
	from, to := g.deref(args[1], args[1]), g.deref(args[2], args[2])
	old := g.atomicOp(ir.AtomicXchg, p, true, g.convert(args[1], g.load(args[1], from), from.t, p.t))
	g.store(args[2], to, g.convert(args[2], old, p.t, to.t))
	return nil
}

// compareExchange is the form that stores what it found to *args[1] if that was
// not what it expected.
func (g *body) compareExchange(p place, args []cc.ExpressionNode, _ bool) *ir.Value {
	return g.exchangeIf(p, args, g.argument(args[2], p.t))
}

// compareExchangeAt is the same with the new value at *args[2].
func (g *body) compareExchangeAt(p place, args []cc.ExpressionNode, _ bool) *ir.Value {
	from := g.deref(args[2], args[2])
	return g.exchangeIf(p, args, g.convert(args[2], g.load(args[2], from), from.t, p.t))
}

func (g *body) exchangeIf(p place, args []cc.ExpressionNode, value *ir.Value) *ir.Value {
	expected := g.deref(args[1], args[1])
	if g.sizeof(expected.t) != g.sizeof(p.t) {
		return g.refuse(args[1], g.basic(cc.Bool), "what is expected has another size than what is compared")
	}
	want := g.convert(args[1], g.load(args[1], expected), expected.t, p.t)
	old := g.atomicOp(ir.AtomicCmpXchg, p, true, want, value)
	same := g.compare(ir.EQ, old, want)
	failed, after := g.block(), g.block()
	g.branch(same, after, failed, 0)
	g.enter(failed)
	g.store(args[1], expected, g.convert(args[1], old, p.t, expected.t))
	g.jump(after)
	g.enter(after)
	return same
}

// plainAtomic translates loads and stores. eBPF up to level 4 has no ordered ones:
// where more than a plain access is asked for, an operation that changes nothing,
// or an exchange, has the order.
func (g *body) plainAtomic(e *cc.PostfixExpression, name string, p place, args []cc.ExpressionNode) *ir.Value {
	p.volatile = true
	a := atomics[name]
	order := int64(orderRelaxed)
	if a.orders > 0 {
		var ok bool
		if order, ok = g.constant(args[a.args]); !ok {
			return g.refuse(e, g.typeOf(e), "the memory order of %s is not constant", name)
		}
	}
	size := g.sizeof(p.t)
	ordered := order != orderRelaxed && order != orderConsume || name == "__sync_lock_release"
	if ordered && (size != 4 && size != 8 || p.align < size || isPointer(underlying(p.t))) {
		return g.refuse(e, g.typeOf(e), "%s of this type with an order is not supported", name)
	}
	g.atNode(e)
	switch name {
	case "__atomic_load_n", "__c11_atomic_load":
		return g.atomicLoad(e, p, ordered)
	case "__atomic_load": // to *args[1]
		to := g.deref(args[1], args[1])
		g.store(e, to, g.convert(e, g.atomicLoad(e, p, ordered), p.t, to.t))
		return nil
	}
	var v *ir.Value
	switch {
	case name == "__atomic_store": // of *args[1]
		from := g.deref(args[1], args[1])
		v = g.convert(e, g.load(args[1], from), from.t, p.t)
	case a.args > 1:
		v = g.argument(args[1], p.t)
	default:
		v = g.number(g.irType(p.t), 0)
	}
	if ordered {
		g.atomicOp(ir.AtomicXchg, p, true, v)
	} else {
		g.store(e, p, v)
	}
	return nil
}

func (g *body) atomicLoad(e *cc.PostfixExpression, p place, ordered bool) *ir.Value {
	if ordered {
		return g.atomicOp(ir.AtomicAdd, p, true, g.number(g.irType(p.t), 0))
	}
	return g.load(e, p)
}

// fence keeps the compiler from moving accesses. One that orders the machine's
// as well has no instruction in eBPF.
func (g *body) fence(e *cc.PostfixExpression, name string, args []cc.ExpressionNode) *ir.Value {
	if len(args) > 0 {
		n, ok := g.constant(args[0])
		if ok && n == orderRelaxed {
			return nil
		}
	}
	if !strings.HasSuffix(name, "signal_fence") {
		g.errorf(e, "%s is not supported: eBPF has no fences; use an atomic operation", name)
		return nil
	}
	g.value(ir.OpBarrier, ir.Void)
	return nil
}
