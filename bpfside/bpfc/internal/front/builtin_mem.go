package front

import (
	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// maxMemcmp is up to how many bytes are compared inline: there is no function
// that could be called.
const maxMemcmp = 512

// memory returns where the pointer e points and the alignment that its type
// promises there, before any conversion to void *.
func (g *body) memory(e cc.ExpressionNode) (p *ir.Value, off int64, align int, volatile bool) {
	x := bare(e)
	for {
		c, ok := x.(*cc.CastExpression)
		if !ok || !isPointer(g.decay(g.typeOf(c.CastExpression))) || !isPointer(g.typeOf(c)) {
			break
		}
		x = bare(c.CastExpression)
	}
	t := g.typeOf(x)
	if u, ok := x.(*cc.UnaryExpression); ok && u.Case == cc.UnaryExpressionAddrof && g.typeOf(u.CastExpression).Kind() != cc.Function {
		at := g.lvalue(u.CastExpression)
		g.notUser(e, at)
		p, off = g.address(at)
		return p, off, at.align, at.volatile
	}
	if t.Kind() == cc.Array {
		at := g.lvalue(x)
		g.notUser(e, at)
		p, off = g.address(at)
		return p, off, at.align, at.volatile
	}
	p, off = g.pointer(x)
	align = 1
	if elem := pointee(t); !isVoid(elem) {
		align = max(1, g.alignof(elem))
	}
	return p, off, align, g.isVolatile(pointee(t))
}

// memorySize returns the size that e gives, which has to be constant.
func (g *body) memorySize(e cc.ExpressionNode, what string) (int, bool) {
	n, ok := g.constant(e)
	switch {
	case !ok:
		g.errorf(e, "%s of a size that is not constant is not supported", what)
		return 0, false
	case n < 0 || n > 1<<20:
		g.errorf(e, "%s of %d bytes is not supported", what, uint64(n))
		return 0, false
	}
	return int(n), true
}

func (g *body) builtinMemcpy(e *cc.PostfixExpression, args []cc.ExpressionNode) *ir.Value {
	return g.memoryCopy(e, ir.OpCopy, "memcpy", args)
}

func (g *body) builtinMemmove(e *cc.PostfixExpression, args []cc.ExpressionNode) *ir.Value {
	return g.memoryCopy(e, ir.OpMove, "memmove", args)
}

func (g *body) memoryCopy(e *cc.PostfixExpression, op ir.Op, what string, args []cc.ExpressionNode) *ir.Value {
	to, off, align, volatile := g.memory(args[0])
	from, fromOff, fromAlign, fromVolatile := g.memory(args[1])
	n, ok := g.memorySize(args[2], what)
	to = g.pointerAdd(to, off)
	if !ok || n == 0 {
		return to
	}
	from = g.pointerAdd(from, fromOff)
	g.atNode(e)
	v := g.value(op, ir.Void, to, from)
	v.Size, v.Align = n, min(commonAlign(align, 0), fromAlign)
	v.Volatile = volatile || fromVolatile
	return to
}

func (g *body) builtinMemset(e *cc.PostfixExpression, args []cc.ExpressionNode) *ir.Value {
	p, off, align, volatile := g.memory(args[0])
	c := g.argument(args[1], g.basic(cc.Int))
	return g.memorySet(e, g.pointerAdd(p, off), align, volatile, c, args[2])
}

func (g *body) builtinBzero(e *cc.PostfixExpression, args []cc.ExpressionNode) *ir.Value {
	p, off, align, volatile := g.memory(args[0])
	g.memorySet(e, g.pointerAdd(p, off), align, volatile, g.number(ir.I32, 0), args[1])
	return nil
}

func (g *body) memorySet(e *cc.PostfixExpression, p *ir.Value, align int, volatile bool, c *ir.Value, size cc.ExpressionNode) *ir.Value {
	n, ok := g.memorySize(size, "memset")
	if !ok || n == 0 {
		return p
	}
	g.atNode(e)
	v := g.value(ir.OpSet, ir.Void, p, c)
	v.Size, v.Align, v.Volatile = n, align, volatile
	return p
}

// builtinMemcmp compares a word at a time. Of the first words that differ the
// bytes decide, the first of which is the lowest in memory: reversed, the words
// compare as the bytes do.
func (g *body) builtinMemcmp(e *cc.PostfixExpression, args []cc.ExpressionNode) *ir.Value {
	a, aOff, aAlign, aVolatile := g.memory(args[0])
	b, bOff, bAlign, bVolatile := g.memory(args[1])
	n, ok := g.memorySize(args[2], "memcmp")
	if !ok {
		return g.undefined(ir.I32)
	}
	if n > maxMemcmp {
		return g.refuse(e, g.basic(cc.Int), "memcmp of more than %d bytes is not supported", maxMemcmp)
	}
	g.atNode(e)
	differ, after := g.block(), g.block()
	wordA, wordB := differ.NewParam(ir.I64, ""), differ.NewParam(ir.I64, "")
	result := after.NewParam(ir.I32, "")
	load := func(p *ir.Value, off int64, align, size int, volatile bool) *ir.Value {
		v := g.value(ir.OpLoad, ir.I64, p)
		v.Imm, v.Size, v.Align, v.Volatile = off, size, min(size, align), volatile
		return v
	}
	for off := 0; off < n; {
		size := 8
		for size > n-off {
			size /= 2
		}
		x := load(a, aOff+int64(off), commonAlign(aAlign, int64(off)), size, aVolatile)
		y := load(b, bOff+int64(off), commonAlign(bAlign, int64(off)), size, bVolatile)
		next, differs := g.block(), g.block()
		g.branch(g.compare(ir.EQ, x, y), next, differs, 0)
		g.enter(differs)
		g.jump(differ, x, y)
		g.enter(next)
		off += size
	}
	g.jump(after, g.number(ir.I32, 0))

	g.enter(differ)
	reverse := func(v *ir.Value) *ir.Value {
		r := g.value(ir.OpBswap, ir.I64, v)
		r.Size = 8
		return r
	}
	less := g.compare(ir.ULT, reverse(wordA), reverse(wordB))
	// 1 - 2 * less
	g.jump(after, g.value(ir.OpSub, ir.I32, g.number(ir.I32, 1), g.op(ir.OpShl, less, 1)))
	g.enter(after)
	return result
}

// builtinStrlen is known of string literals; nothing else is counted here.
func (g *body) builtinStrlen(e *cc.PostfixExpression, args []cc.ExpressionNode) *ir.Value {
	x := bare(args[0])
	for {
		c, ok := x.(*cc.CastExpression)
		if !ok {
			break
		}
		x = bare(c.CastExpression)
	}
	if p, ok := x.(*cc.PrimaryExpression); ok && p.Case == cc.PrimaryExpressionString {
		if s, ok := p.Value().(cc.StringValue); ok {
			for i := range len(s) {
				if s[i] == 0 {
					return g.number(ir.I64, int64(i))
				}
			}
		}
	}
	return g.refuse(e, g.basic(cc.ULong), "strlen of what is no string literal is not supported")
}
