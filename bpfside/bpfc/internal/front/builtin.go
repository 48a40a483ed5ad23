package front

import (
	"strings"

	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// typeOfBuiltin returns the type of a call of a builtin whose declaration does
// not tell, nil of others.
func (u *unit) typeOfBuiltin(name string, args []cc.ExpressionNode) cc.Type {
	switch {
	case name == "__builtin_choose_expr" && len(args) == 3:
		if n, ok := u.constant(args[0]); ok && n != 0 {
			return u.typeOf(args[1])
		}
		return u.typeOf(args[2])
	case name == "__builtin_constant_p", name == "__ccgo__types_compatible_p":
		return u.basic(cc.Int)
	}
	if a, ok := atomics[name]; ok && len(args) > 0 {
		switch a.result {
		case atomicOld, atomicNew:
			return pointee(u.decay(u.typeOf(args[0])))
		}
	}
	return nil
}

// chosen returns the expression that __builtin_choose_expr stands for.
func (g *body) chosen(e *cc.PostfixExpression) cc.ExpressionNode {
	args := arguments(e)
	if len(args) != 3 {
		g.errorf(e, "__builtin_choose_expr takes three arguments")
		return nil
	}
	n, ok := g.constant(args[0])
	if !ok {
		g.errorf(args[0], "the first argument of __builtin_choose_expr is not constant")
		return nil
	}
	if n != 0 {
		return args[1]
	}
	return args[2]
}

// expected looks for __builtin_expect(x, n) and returns x and the likelihood that
// it is not 0.
func (g *body) expected(e *cc.PostfixExpression) (x cc.ExpressionNode, likely int8, ok bool) {
	if e.Case != cc.PostfixExpressionCall || builtinName(e.PostfixExpression) != "__builtin_expect" {
		return nil, 0, false
	}
	args := arguments(e)
	if len(args) != 2 {
		return nil, 0, false
	}
	n, isConst := g.constant(args[1])
	switch {
	case !isConst:
		return args[0], 0, true
	case n != 0:
		return args[0], 1, true
	}
	return args[0], -1, true
}

// A builtinFunc translates a call. args has as many elements as the builtin
// takes.
type builtinFunc struct {
	args int
	emit func(g *body, e *cc.PostfixExpression, args []cc.ExpressionNode) *ir.Value
}

// builtinFuncs are the builtins that are no atomic and no memory operations, by
// their names without "__builtin_".
var builtinFuncs map[string]builtinFunc

func init() {
	builtinFuncs = map[string]builtinFunc{
		"expect":                  {2, (*body).builtinExpect},
		"expect_with_probability": {3, (*body).builtinExpect},
		"assume":                  {1, (*body).builtinAssume},
		"unreachable":             {0, (*body).builtinUnreachable},
		"trap":                    {0, (*body).builtinTrap},
		"object_size":             {2, (*body).builtinObjectSize},
		"dynamic_object_size":     {2, (*body).builtinObjectSize},

		"memcpy":        {3, (*body).builtinMemcpy},
		"memcpy_inline": {3, (*body).builtinMemcpy},
		"memmove":       {3, (*body).builtinMemmove},
		"memset":        {3, (*body).builtinMemset},
		"memset_inline": {3, (*body).builtinMemset},
		"bzero":         {2, (*body).builtinBzero},
		"memcmp":        {3, (*body).builtinMemcmp},
		"bcmp":          {3, (*body).builtinMemcmp},
		"strlen":        {1, (*body).builtinStrlen},

		"bswap16": {1, bswap(2)},
		"bswap32": {1, bswap(4)},
		"bswap64": {1, bswap(8)},

		"preserve_field_info": {2, (*body).builtinFieldInfo},
		"preserve_type_info":  {2, (*body).builtinTypeInfo},
		"preserve_enum_value": {2, (*body).builtinEnumValue},
		"btf_type_id":         {2, (*body).builtinTypeID},
	}
	for suffix, size := range map[string]int{"": 4, "l": 8, "ll": 8} {
		for name, emit := range map[string]func(*body, *ir.Value) *ir.Value{
			"popcount": (*body).popcount,
			"parity":   (*body).parity,
			"clz":      (*body).leadingZeros,
			"ctz":      (*body).trailingZeros,
			"ffs":      (*body).firstSet,
		} {
			builtinFuncs[name+suffix] = builtinFunc{1, counted(size, emit)}
		}
	}
	for _, name := range []string{"abs", "labs", "llabs"} {
		builtinFuncs[name] = builtinFunc{1, (*body).builtinAbs}
	}
	for name, op := range map[string]operator{"add": opAdd, "sub": opSub, "mul": opMul} {
		builtinFuncs[name+"_overflow"] = builtinFunc{3, overflow(op)}
	}
}

// builtin translates a call of what the compiler knows by its name.
func (g *body) builtin(e *cc.PostfixExpression, name string, wanted bool) *ir.Value {
	t := g.typeOf(e)
	args := arguments(e)
	if a, ok := atomics[name]; ok {
		return g.atomic(e, name, a, args, wanted)
	}
	switch name {
	case "__builtin_choose_expr":
		if x := g.chosen(e); x != nil {
			return g.convert(x, g.expr(x), g.decay(g.typeOf(x)), g.decay(t))
		}
		return g.undefined(g.valueType(t))
	case "__builtin_prefetch":
		for _, x := range args {
			g.discard(x)
		}
		return nil
	case "__builtin_constant_p", "__ccgo__types_compatible_p":
		n, _ := g.constant(e)
		return g.number(ir.I32, n)
	}
	b, ok := builtinFuncs[strings.TrimPrefix(name, "__builtin_")]
	switch {
	case !ok || !strings.HasPrefix(name, "__builtin_"):
		return g.refuse(e, t, "%s is not supported", name)
	case len(args) != b.args:
		return g.refuse(e, t, "%s takes %d arguments, not %d", name, b.args, len(args))
	}
	return b.emit(g, e, args)
}

// argument returns the value of x as one of type t.
func (g *body) argument(x cc.ExpressionNode, t cc.Type) *ir.Value {
	v := g.convert(x, g.expr(x), g.decay(g.typeOf(x)), t)
	if v == nil {
		v = g.undefined(g.valueType(t))
	}
	return v
}

func (g *body) builtinExpect(e *cc.PostfixExpression, args []cc.ExpressionNode) *ir.Value {
	for _, x := range args[1:] {
		if _, ok := g.constant(x); !ok && isScalar(g.typeOf(x)) {
			g.discard(x)
		}
	}
	return g.argument(args[0], g.basic(cc.Long))
}

// builtinAssume has no effect, not even that of its argument.
func (g *body) builtinAssume(*cc.PostfixExpression, []cc.ExpressionNode) *ir.Value { return nil }

func (g *body) builtinUnreachable(*cc.PostfixExpression, []cc.ExpressionNode) *ir.Value {
	g.end(ir.Term{Kind: ir.TermUnreachable})
	g.dead()
	return nil
}

// builtinTrap makes the verifier refuse a program that gets there.
func (g *body) builtinTrap(e *cc.PostfixExpression, _ []cc.ExpressionNode) *ir.Value {
	g.poison("__builtin_trap")
	return g.builtinUnreachable(e, nil)
}

// builtinObjectSize says that the size is not known, as it may: (size_t)-1, and 0
// where the smallest is asked for.
func (g *body) builtinObjectSize(_ *cc.PostfixExpression, args []cc.ExpressionNode) *ir.Value {
	if n, ok := g.constant(args[1]); ok && n&2 != 0 {
		return g.number(ir.I64, 0)
	}
	return g.number(ir.I64, -1)
}

// bswap reverses the bytes of a value of size bytes.
func bswap(size int) func(*body, *cc.PostfixExpression, []cc.ExpressionNode) *ir.Value {
	kind := map[int]cc.Kind{2: cc.UShort, 4: cc.UInt, 8: cc.ULong}[size]
	return func(g *body, e *cc.PostfixExpression, args []cc.ExpressionNode) *ir.Value {
		x := g.argument(args[0], g.basic(kind))
		v := g.value(ir.OpBswap, x.Type, x)
		v.Size = size
		return v
	}
}
