package front

import (
	"strconv"
	"strings"

	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// A label is one of a function, or of the block that declares it with __label__.
type label struct {
	in   *cc.LabelDeclaration
	name string
}

// compound translates the items of a block.
func (g *body) compound(s *cc.CompoundStatement) { g.items(s, nil) }

// items translates those of a block. last is called, if it is not nil, with the
// expression that the block ends with, in the place of translating it.
func (g *body) items(s *cc.CompoundStatement, last func(cc.ExpressionNode)) {
	value := cc.ExpressionNode(nil)
	if last != nil {
		value = lastExpression(s)
	}
	for l := s.BlockItemList; l != nil; l = l.BlockItemList {
		if g.ctx.Err() != nil {
			return
		}
		item := l.BlockItem
		switch item.Case {
		case cc.BlockItemDecl:
			g.declaration(item.Declaration, func(d *cc.Declarator) bool {
				return g.bypassed(d.NameTok(), s, l.BlockItemList)
			})
		case cc.BlockItemStmt:
			if value != nil && l.BlockItemList == nil {
				g.lastStatement(item.Statement, value, last)
				return
			}
			g.statement(item.Statement)
		case cc.BlockItemFuncDef:
			g.errorf(item.Declarator, "nested functions are not supported")
		}
	}
}

// lastStatement translates the labels of a statement and hands what it says to
// last.
func (g *body) lastStatement(s *cc.Statement, value cc.ExpressionNode, last func(cc.ExpressionNode)) {
	for s.Case == cc.StatementLabeled {
		g.label(s.LabeledStatement)
		s = s.LabeledStatement.Statement
	}
	g.atNode(value)
	last(value)
}

// statementValue translates a statement expression whose value is a scalar, or
// none.
func (g *body) statementValue(e *cc.PrimaryExpression) (v *ir.Value) {
	t := g.typeOf(e)
	if !isScalar(t) {
		g.compound(e.CompoundStatement)
		return nil
	}
	v = g.undefined(g.irType(t))
	g.items(e.CompoundStatement, func(x cc.ExpressionNode) { v = g.expr(x) })
	return v
}

// statementExpression translates one whose value is an aggregate. That leaves
// the scope of its block, so that it is copied.
func (g *body) statementExpression(e *cc.PrimaryExpression) place {
	t := g.typeOf(e)
	if !inMemory(t) {
		g.errorf(e, "expression is not an object")
		return place{base: g.undefined(ir.Ptr), t: t, align: 1}
	}
	p := g.temporary(t)
	g.items(e.CompoundStatement, func(x cc.ExpressionNode) { g.copyTo(p, g.object(x, t)) })
	return p
}

func (g *body) statement(s *cc.Statement) {
	if s == nil {
		return
	}
	switch s.Case {
	case cc.StatementLabeled:
		g.label(s.LabeledStatement)
		g.statement(s.LabeledStatement.Statement)
	case cc.StatementCompound:
		g.compound(s.CompoundStatement)
	case cc.StatementExpr:
		if e := s.ExpressionStatement.ExpressionList; e != nil {
			g.atNode(e)
			g.discard(e)
		}
	case cc.StatementSelection:
		g.atNode(s.SelectionStatement)
		if s.SelectionStatement.Case == cc.SelectionStatementSwitch {
			g.switchStatement(s.SelectionStatement)
		} else {
			g.ifStatement(s.SelectionStatement)
		}
	case cc.StatementIteration:
		g.atNode(s.IterationStatement)
		g.loop(s.IterationStatement)
	case cc.StatementJump:
		g.atNode(s.JumpStatement)
		g.jumpStatement(s.JumpStatement)
	case cc.StatementAsm:
		g.atNode(s.AsmStatement)
		g.asm(s.AsmStatement.Asm)
	}
}

func (g *body) ifStatement(s *cc.SelectionStatement) {
	if n, ok := g.constant(s.ExpressionList); ok {
		// What cannot run is not translated, unless it can be jumped into:
		// it may hold what the target does not have.
		live, dead := s.Statement, s.Statement2
		if n == 0 {
			live, dead = dead, live
		}
		if dead == nil || !hasLabel(dead) {
			g.statement(live)
			return
		}
	}
	yes, after := g.block(), g.block()
	no := after
	if s.Statement2 != nil {
		no = g.block()
	}
	g.cond(s.ExpressionList, yes, no, 0)
	g.enter(yes)
	g.statement(s.Statement)
	g.jump(after)
	if s.Statement2 != nil {
		g.enter(no)
		g.statement(s.Statement2)
		g.jump(after)
	}
	g.enter(after)
}

func (g *body) loop(s *cc.IterationStatement) {
	head, body, next, after := g.block(), g.block(), g.block(), g.block()
	breaks, conts := g.breaks, g.conts
	defer func() { g.breaks, g.conts = breaks, conts }()

	unroll := g.unrollHint(s)
	test, step := s.ExpressionList, cc.ExpressionNode(nil)
	switch s.Case {
	case cc.IterationStatementDo:
		g.jump(body)
		body.Unroll = unroll
		g.enter(body)
		g.breaks, g.conts = after, head
		g.statement(s.Statement)
		g.jump(head)
		g.enter(head)
		g.atNode(s.ExpressionList)
		g.cond(s.ExpressionList, body, after, 0)
		g.enter(after)
		g.removeBlock(next)
		return
	case cc.IterationStatementFor:
		if s.ExpressionList != nil {
			g.discard(s.ExpressionList)
		}
		test, step = s.ExpressionList2, s.ExpressionList3
	case cc.IterationStatementForDecl:
		g.declaration(s.Declaration, func(*cc.Declarator) bool { return hasLabel(s.Statement) })
		test, step = s.ExpressionList, s.ExpressionList2
	}
	g.jump(head)
	head.Unroll = unroll
	g.enter(head)
	if test != nil {
		g.atNode(test)
		g.cond(test, body, after, 0)
	} else {
		g.jump(body)
	}
	g.enter(body)
	g.breaks, g.conts = after, next
	g.statement(s.Statement)
	g.jump(next)
	g.enter(next)
	if step != nil {
		g.atNode(step)
		g.discard(step)
	}
	g.jump(head)
	g.enter(after)
}

// removeBlock takes back a block that was just not needed.
func (g *body) removeBlock(b *ir.Block) {
	for i, x := range g.f.Blocks {
		if x == b {
			g.f.Blocks = append(g.f.Blocks[:i], g.f.Blocks[i+1:]...)
			return
		}
	}
}

// unrollHint returns what a #pragma before a loop asks for, as [ir.Block.Unroll]
// has it. cc hands pragmas on without their place in the grammar, so that it is
// the text above the loop that tells.
func (g *body) unrollHint(s *cc.IterationStatement) int {
	at := g.pos(s)
	for line := at.Line - 1; line > 0; line-- {
		text := strings.TrimSpace(at.File.Line(line))
		pragma, ok := strings.CutPrefix(text, "#")
		if !ok {
			if text == "" || strings.HasPrefix(text, "//") || strings.HasPrefix(text, "/*") && strings.HasSuffix(text, "*/") {
				continue
			}
			return 0
		}
		if pragma, ok = strings.CutPrefix(strings.TrimSpace(pragma), "pragma"); !ok {
			return 0
		}
		if n, ok := parseUnroll(pragma); ok {
			return n
		}
	}
	return 0
}

// parseUnroll reads "unroll", "unroll(4)", "nounroll" and their forms behind
// "clang loop" and "GCC".
func parseUnroll(pragma string) (n int, ok bool) {
	words := strings.FieldsFunc(pragma, func(r rune) bool { return strings.ContainsRune(" \t()", r) })
	switch {
	case len(words) > 2 && words[0] == "clang" && words[1] == "loop":
		words = words[2:]
	case len(words) > 1 && words[0] == "GCC":
		words = words[1:]
	}
	if len(words) == 0 {
		return 0, false
	}
	arg := "full"
	if len(words) > 1 {
		arg = words[1]
	}
	switch words[0] {
	case "nounroll":
		return 1, true
	case "unroll_count":
	case "unroll":
		switch arg {
		case "full", "enable":
			return ir.UnrollFull, true
		case "disable":
			return 1, true
		}
	default:
		return 0, false
	}
	n, err := strconv.Atoi(arg)
	if err != nil || n < 1 {
		return 0, false
	}
	return n, true
}

func (g *body) jumpStatement(s *cc.JumpStatement) {
	switch s.Case {
	case cc.JumpStatementGoto:
		g.jump(g.labelBlock(gotoLabel(s)))
	case cc.JumpStatementGotoExpr:
		g.errorf(s, "computed goto is not supported")
	case cc.JumpStatementContinue:
		g.jumpOut(s, g.conts)
	case cc.JumpStatementBreak:
		g.jumpOut(s, g.breaks)
	case cc.JumpStatementReturn:
		g.returnStatement(s)
	}
	if g.b.Term.Kind == ir.TermNone {
		g.end(ir.Term{Kind: ir.TermUnreachable})
	}
	g.dead()
}

func (g *body) jumpOut(at cc.Node, to *ir.Block) {
	if to == nil {
		g.errorf(at, "there is nothing to leave here")
		return
	}
	g.jump(to)
}

func (g *body) returnStatement(s *cc.JumpStatement) {
	e := s.ExpressionList
	switch {
	case e == nil:
		g.finish(nil)
	case isVoid(g.result):
		g.discard(e)
		g.finish(nil)
	case inMemory(g.result):
		if !inMemory(g.typeOf(e)) && !isWide(g.result) {
			g.errorf(e, "cannot return %s as %s", g.typeOf(e), g.result)
			return
		}
		g.copyTo(place{base: g.ret, t: g.result, align: g.alignof(g.result)}, g.object(e, g.result))
		g.finish(nil)
	default:
		v := g.convert(e, g.expr(e), g.decay(g.typeOf(e)), g.result)
		g.atNode(s)
		g.finish(v)
	}
}

// finish ends the block with the return of v; nil if nobody says what.
func (g *body) finish(v *ir.Value) {
	t := ir.Term{Kind: ir.TermRet}
	if g.f.Result != ir.Void {
		if v == nil {
			v = g.undefined(g.f.Result)
		}
		t.Args = []*ir.Value{v}
	}
	g.end(t)
}

func (g *body) labelBlock(l label) *ir.Block {
	b := g.labels[l]
	if b == nil {
		b = g.block()
		g.labels[l] = b
	}
	return b
}

// label translates a label, up to its colon.
func (g *body) label(s *cc.LabeledStatement) {
	g.atNode(s)
	var b *ir.Block
	switch s.Case {
	case cc.LabeledStatementLabel:
		name := s.Token.SrcStr()
		b = g.labelBlock(label{localLabel(s.LexicalScope(), name), name})
	default:
		b = g.block()
		if g.cases == nil {
			g.errorf(s, "a case stands outside of a switch")
			return
		}
		g.cases.add(g, s, b)
	}
	g.jump(b)
	g.enter(b)
}

// gotoLabel returns the label that a goto names.
func gotoLabel(s *cc.JumpStatement) label {
	l := label{name: s.Token2.SrcStr()}
	switch at := s.Label().(type) {
	case *cc.LabelDeclaration:
		l.in = at
	case *cc.LabeledStatement:
		l.in = localLabel(at.LexicalScope(), l.name)
	}
	return l
}

// localLabel returns the __label__ declaration of name that is seen from a scope,
// nil if there is none.
func localLabel(s *cc.Scope, name string) *cc.LabelDeclaration {
	for ; s != nil && s.Parent != nil; s = s.Parent {
		for _, n := range s.Nodes[name] {
			if d, ok := n.(*cc.LabelDeclaration); ok {
				return d
			}
		}
	}
	return nil
}

// A crossing is a jump, by the places of its ends in the token stream.
type crossing struct{ from, to int }

// crossings returns the gotos of a function.
func crossings(s *cc.CompoundStatement) (all []crossing) {
	for _, j := range s.Gotos() {
		from, to := j.Token, cc.Token{}
		switch at := j.Label().(type) {
		case *cc.LabeledStatement:
			to = at.Token
		case *cc.LabelDeclaration: // the label is in the block of that
			to = at.Token
		default:
			continue
		}
		all = append(all, crossing{from.Seq(), to.Seq()})
	}
	return all
}

// bypassed reports whether a jump from outside of a block leads behind one of its
// declarations, at, after which the items rest are.
func (g *body) bypassed(at cc.Token, block *cc.CompoundStatement, rest *cc.BlockItemList) bool {
	for l := rest; l != nil; l = l.BlockItemList {
		if l.BlockItem.Case == cc.BlockItemStmt && anyLabel(l.BlockItem.Statement, true, isCase) {
			return true
		}
	}
	end := block.Token2
	within := func(seq int) bool { return at.Seq() < seq && seq < end.Seq() }
	for _, c := range g.crossings {
		if within(c.to) && !within(c.from) {
			return true
		}
	}
	return false
}

// hasLabel reports whether code from outside of s can jump into it. The labels
// of statement expressions are not seen: they cannot be jumped to from outside.
func hasLabel(s *cc.Statement) bool {
	return anyLabel(s, true, func(*cc.LabeledStatement) bool { return true })
}

func isCase(l *cc.LabeledStatement) bool { return l.Case != cc.LabeledStatementLabel }

// anyLabel reports whether test holds of a label in s; the cases of a switch
// within s are not looked at, and none is if cases is not set.
func anyLabel(s *cc.Statement, cases bool, test func(*cc.LabeledStatement) bool) bool {
	if s == nil {
		return false
	}
	switch s.Case {
	case cc.StatementLabeled:
		l := s.LabeledStatement
		return (cases || !isCase(l)) && test(l) || anyLabel(l.Statement, cases, test)
	case cc.StatementCompound:
		for l := s.CompoundStatement.BlockItemList; l != nil; l = l.BlockItemList {
			if l.BlockItem.Case == cc.BlockItemStmt && anyLabel(l.BlockItem.Statement, cases, test) {
				return true
			}
		}
	case cc.StatementSelection:
		sel := s.SelectionStatement
		cases = cases && sel.Case != cc.SelectionStatementSwitch
		return anyLabel(sel.Statement, cases, test) || anyLabel(sel.Statement2, cases, test)
	case cc.StatementIteration:
		return anyLabel(s.IterationStatement.Statement, cases, test)
	}
	return false
}
