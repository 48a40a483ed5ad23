package body

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/bpfside/bpfc"
)

// Compile compiles expressions. What is wrong with one of them is an *Error; of
// several there is one for each, joined. Other errors are of ctx, or of this
// package.
//
// It takes a few milliseconds, unless there is no condition and each value is an
// argument or the name of the thread alone: then nothing is compiled.
func Compile(ctx context.Context, in *Input) (*Function, error) {
	if len(in.Args) > MaxArgs {
		return nil, fmt.Errorf("compile expressions: %d arguments are more than %d", len(in.Args), MaxArgs)
	}
	if len(in.Values) > MaxValues {
		return nil, fmt.Errorf("compile expressions: %d values are more than %d", len(in.Values), MaxValues)
	}
	u := &unit{in: in, p: newPrinter(in)}
	u.parse()
	if u.err() != nil {
		return nil, u.err()
	}
	if in.Where == "" && !slices.ContainsFunc(u.exprs, func(e *expression) bool { return e.computed() }) {
		return u.function(asm.Instructions{asm.Mov.Imm(asm.R0, 1).WithSymbol(Symbol), asm.Return()}, nil)
	}
	args := u.print()
	if u.err() != nil {
		return nil, u.err()
	}
	prog := u.program(args)
	spec, err := bpfc.Compile(ctx, source(prog.String()), file, nil)
	if err != nil {
		u.diagnose(prog, err)
		if u.err() != nil {
			return nil, u.err()
		}
		return nil, fmt.Errorf("compile expressions: %w", err)
	}
	insns, stack, err := instructions(spec)
	if err != nil {
		return nil, fmt.Errorf("compile expressions: %w", err)
	}
	fn, err := u.function(insns, spec)
	if err != nil {
		return nil, err
	}
	fn.Stack = stack
	return fn, nil
}

// file is the name of what is printed, for bpfc.
const file = "expression.bpf.c"

// A unit is the compilation of one Input.
type unit struct {
	in    *Input
	p     *printer
	exprs []*expression // the condition, if there is one, is the first
}

// An expression is one of an Input.
type expression struct {
	index int // as Error.Expr has it
	text  string
	tree  *node
	c     string // printed
	marks []mark // in c
	args  uint16 // that c looks at
	value Value
	err   *Error
}

// computed tells whether the function has something to compute for e.
func (e *expression) computed() bool { return e.index < 0 || e.value.Arg < 0 && !e.value.Comm }

// err returns all that was found wrong, nil if nothing was.
func (u *unit) err() error {
	var errs []error
	for _, e := range u.exprs {
		if e.err != nil {
			e.err.Expr = e.index
			errs = append(errs, e.err)
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// parse reads the expressions.
func (u *unit) parse() {
	if u.in.Where != "" {
		u.exprs = append(u.exprs, &expression{index: -1, text: u.in.Where})
	}
	for i, s := range u.in.Values {
		u.exprs = append(u.exprs, &expression{index: i, text: s})
	}
	names := map[string]bool{}
	for name := range u.p.args {
		names[name] = true
	}
	for _, e := range u.exprs {
		e.value.Arg = -1
		if e.tree, e.err = parse(e.text, names); e.err != nil || e.index < 0 || e.tree.kind != nodeIdent {
			continue
		}
		if isComm(e.tree) {
			e.value.Comm, e.value.Kind, e.value.Size, e.value.Type = true, String, 8, "string"
		} else if i, ok := u.p.argument(e.tree.text); ok {
			e.value = argumentValue(i, &u.in.Args[i])
		}
	}
}
