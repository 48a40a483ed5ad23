package front

import (
	"regexp"
	"strconv"
	"strings"

	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// The instructions that programs write in assembly to show the verifier a bound:
// assignments and arithmetic on operands, and conditional jumps forward, such as
//
//	if %0 <= %[max] goto +1
//	%0 = %[max]
//
// All work on 64 bits. What else there is in the language is refused: it would
// be an assembler for a processor that this compiler describes elsewhere.

// asmLine is an instruction: an assignment by op, or a jump over skip of them.
type asmLine struct {
	dst, src asmValue
	op       ir.Op // OpInvalid: dst = src
	cond     ir.Cond
	skip     int
}

// An asmValue is an operand by its number, or a constant.
type asmValue struct {
	operand int // -1: the constant
	n       int64
}

const asmTerm = `(%\[\w+\]|%\d+|-?\w+)`

var (
	asmAssign = regexp.MustCompile(`^` + asmTerm + `\s*(s>>|<<|>>|[-+*/&|^])?=\s*` + asmTerm + `$`)
	asmBranch = regexp.MustCompile(`^if\s+` + asmTerm + `\s*(s<=|s>=|s<|s>|<=|>=|==|!=|<|>)\s*` + asmTerm + `\s+goto\s+\+(\d+)$`)
)

var asmOps = map[string]ir.Op{
	"": ir.OpInvalid, "+": ir.OpAdd, "-": ir.OpSub, "*": ir.OpMul, "/": ir.OpUDiv,
	"&": ir.OpAnd, "|": ir.OpOr, "^": ir.OpXor, "<<": ir.OpShl, ">>": ir.OpLShr, "s>>": ir.OpAShr,
}

var asmConds = map[string]ir.Cond{
	"==": ir.EQ, "!=": ir.NE, "<": ir.ULT, "<=": ir.ULE, ">": ir.UGT, ">=": ir.UGE,
	"s<": ir.SLT, "s<=": ir.SLE, "s>": ir.SGT, "s>=": ir.SGE,
}

// parseAsm reads a template; ok is false of what is not understood.
func parseAsm(text string, ops []asmOperand) (code []asmLine, ok bool) {
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == ';' }) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		var l asmLine
		var dst, src string
		if m := asmAssign.FindStringSubmatch(line); m != nil {
			dst, src, l.op = m[1], m[3], asmOps[m[2]]
		} else if m := asmBranch.FindStringSubmatch(line); m != nil {
			dst, src, l.cond = m[1], m[3], asmConds[m[2]]
			l.skip, _ = strconv.Atoi(m[4])
		} else {
			return nil, false
		}
		var okDst, okSrc bool
		l.dst, okDst = parseAsmValue(dst, ops)
		l.src, okSrc = parseAsmValue(src, ops)
		if !okDst || !okSrc || l.dst.operand < 0 {
			return nil, false
		}
		code = append(code, l)
	}
	for i, l := range code {
		if i+1+l.skip > len(code) {
			return nil, false // a jump out of the statement
		}
	}
	return code, true
}

func parseAsmValue(s string, ops []asmOperand) (asmValue, bool) {
	name, isOperand := strings.CutPrefix(s, "%")
	if !isOperand {
		n, err := strconv.ParseInt(s, 0, 32)
		return asmValue{-1, n}, err == nil
	}
	if n, err := strconv.Atoi(name); err == nil {
		return asmValue{operand: n}, n < len(ops)
	}
	for i, op := range ops {
		if name == "["+op.name+"]" {
			return asmValue{operand: i}, true
		}
	}
	return asmValue{}, false
}

// asmCode translates a template with instructions.
func (g *body) asmCode(s *cc.Asm, text string, outputs, inputs []asmOperand) {
	ops := append(append([]asmOperand(nil), outputs...), inputs...)
	code, ok := parseAsm(text, ops)
	if !ok {
		g.errorf(s, "this inline assembly is not supported")
		return
	}
	regs := make([]*ir.Value, len(ops))
	places := make([]place, len(outputs))
	for i, op := range ops {
		if op.x == nil || !isScalar(g.typeOf(op.x)) {
			g.errorf(s, "an operand of inline assembly is no integer or pointer")
			return
		}
		t := g.decay(g.typeOf(op.x))
		if isPointer(t) && i < len(outputs) {
			g.errorf(s, "pointers as results of inline assembly are not supported")
			return
		}
		switch c := op.constraint; {
		case i < len(outputs) && strings.HasPrefix(c, "+"):
			places[i] = g.lvalue(op.x)
			regs[i] = g.widen(g.load(op.x, places[i]), underlying(t))
		case i < len(outputs):
			places[i] = g.lvalue(op.x)
			regs[i] = g.undefined(ir.I64)
		default:
			regs[i] = g.widen(g.expr(op.x), underlying(t))
			if n := c; len(n) == 1 && n[0] >= '0' && int(n[0]-'0') < len(outputs) {
				regs[n[0]-'0'] = regs[i]
			}
		}
	}
	// What goes in is not known to be what it is: the optimizer would find
	// that the instructions change nothing.
	for i := range outputs {
		regs[i] = g.value(ir.OpBarrier, ir.I64, regs[i])
	}
	g.asmRun(code, regs)
	for i, op := range outputs {
		t := g.typeOf(op.x)
		g.store(op.x, places[i], g.convert(op.x, regs[i], g.basic(cc.ULong), t))
	}
}

// asmRun translates the instructions. regs are the operands before and after. A
// jump leads to a block that has each as a parameter.
func (g *body) asmRun(code []asmLine, regs []*ir.Value) {
	targets := map[int]*ir.Block{}
	arrive := func(i int) *ir.Block {
		if targets[i] == nil {
			targets[i] = g.block()
			for range regs {
				targets[i].NewParam(ir.I64, "")
			}
		}
		return targets[i]
	}
	land := func(i int) {
		if b := targets[i]; b != nil {
			g.jump(b, append([]*ir.Value(nil), regs...)...)
			g.enter(b)
			copy(regs, b.Params)
		}
	}
	for i, l := range code {
		land(i)
		src := func() *ir.Value {
			if l.src.operand >= 0 {
				return regs[l.src.operand]
			}
			return g.number(ir.I64, l.src.n)
		}()
		switch {
		case l.cond != 0:
			next := g.block()
			v := g.compare(l.cond, regs[l.dst.operand], src)
			g.end(ir.Term{Kind: ir.TermIf, Args: []*ir.Value{v}, Succs: []ir.Edge{
				{To: arrive(i + 1 + l.skip), Args: append([]*ir.Value(nil), regs...)}, {To: next},
			}})
			g.enter(next)
		case l.op == ir.OpInvalid:
			regs[l.dst.operand] = src
		default:
			regs[l.dst.operand] = g.value(l.op, ir.I64, regs[l.dst.operand], src)
		}
	}
	land(len(code))
}
