package front

import (
	"strconv"
	"strings"

	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// An asmOperand is one of an asm statement: "=r"(x).
type asmOperand struct {
	name       string // [name]"=r"(x)
	constraint string
	x          cc.ExpressionNode
}

// asm translates inline assembly: without an instruction, which keeps clang from
// knowing a value, or what memory holds, as barrier() and barrier_var() of libbpf
// do, or with a few, see asmCode.
func (g *body) asm(s *cc.Asm) {
	text, err := strconv.Unquote(s.Token3.SrcStr())
	if err != nil {
		g.errorf(s, "this inline assembly is not supported")
		return
	}
	for l := s.AsmQualifierList; l != nil; l = l.AsmQualifierList {
		if l.AsmQualifier.Case == cc.AsmQualifierGoto {
			g.errorf(s, "asm goto is not supported")
			return
		}
	}
	var lists [4][]asmOperand // outputs, inputs, clobbers, and nothing
	i := 0
	for l := s.AsmArgList; l != nil && i < len(lists); l = l.AsmArgList {
		lists[i] = asmOperands(l.AsmExpressionList)
		i++
	}
	if strings.TrimSpace(text) == "" {
		g.asmBarrier(s, lists[0], lists[1])
	} else {
		g.asmCode(s, text, lists[0], lists[1])
	}
	memory := len(lists[0])+len(lists[1]) == 0 // volatile: nothing moves over it
	for _, c := range lists[2] {
		memory = memory || c.constraint == "memory"
	}
	if memory {
		g.value(ir.OpBarrier, ir.Void)
	}
}

// asmBarrier gives each output the value of the input that shares its register,
// as if nobody knew it.
func (g *body) asmBarrier(at cc.Node, outputs, inputs []asmOperand) {
	held := make([]*ir.Value, len(outputs))
	for _, in := range inputs {
		if in.x == nil {
			continue
		}
		v := g.expr(in.x)
		if v == nil {
			continue
		}
		v = g.value(ir.OpBarrier, v.Type, v)
		// "0"(x) is in the register of the first output.
		if n := in.constraint; len(n) == 1 && n[0] >= '0' && int(n[0]-'0') < len(outputs) {
			out := outputs[n[0]-'0'].x
			if out != nil {
				v = g.convert(in.x, v, g.decay(g.typeOf(in.x)), g.typeOf(out))
			}
			held[n[0]-'0'] = v
		}
	}
	for i, out := range outputs {
		if out.x == nil {
			continue
		}
		t := g.typeOf(out.x)
		if strings.ContainsAny(out.constraint, "m") {
			g.value(ir.OpBarrier, ir.Void)
			continue
		}
		if !isScalar(t) {
			g.errorf(at, "%s is not an operand of inline assembly", t)
			continue
		}
		p := g.lvalue(out.x)
		v := held[i]
		switch {
		case v != nil:
		case strings.HasPrefix(out.constraint, "+"):
			v = g.load(out.x, p)
			v = g.value(ir.OpBarrier, v.Type, v)
		default:
			v = g.undefined(g.irType(t))
		}
		g.store(at, p, v)
	}
}

// asmOperands returns the operands of a list. cc takes each for an expression: a
// call of the constraint, or the string alone of a clobber.
func asmOperands(l *cc.AsmExpressionList) (ops []asmOperand) {
	for ; l != nil; l = l.AsmExpressionList {
		name := ""
		if l.AsmIndex != nil {
			if p, ok := bare(l.AsmIndex.ExpressionList).(*cc.PrimaryExpression); ok {
				name = p.Token.SrcStr()
			}
		}
		switch e := bare(l.AssignmentExpression).(type) {
		case *cc.PrimaryExpression:
			ops = append(ops, asmOperand{name: name, constraint: strings.Trim(e.Token.SrcStr(), `"`)})
		case *cc.PostfixExpression:
			op := asmOperand{name: name}
			if s, ok := bare(e.PostfixExpression).(*cc.PrimaryExpression); ok {
				op.constraint = strings.Trim(s.Token.SrcStr(), `"`)
			}
			if args := arguments(e); len(args) == 1 {
				op.x = args[0]
			}
			ops = append(ops, op)
		}
	}
	return ops
}
