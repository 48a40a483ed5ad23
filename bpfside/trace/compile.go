package trace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nopfire/nopfire/bpfside/trace/internal/body"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// A compiled is the function that the expressions of a clause became for probes
// whose arguments look alike.
type compiled struct {
	*body.Function
	id int // tells it apart in the session
}

// A misfit says what is wrong with the expressions of a clause: each of errs.
type misfit struct {
	errs []*ExprError
	// other tells that another probe may have what this one lacks: no error is of
	// another kind.
	other bool
}

func (m *misfit) Error() string { return errors.Join(m.Unwrap()...).Error() }

// Unwrap returns the faults.
func (m *misfit) Unwrap() []error {
	errs := make([]error, len(m.errs))
	for i, e := range m.errs {
		errs[i] = e
	}
	return errs
}

// of returns the misfit as that of one probe.
func (m *misfit) of(probe string) *misfit {
	one := &misfit{other: m.other}
	for _, e := range m.errs {
		copied := *e
		copied.Probe = probe
		one.errs = append(one.errs, &copied)
	}
	return one
}

// compile returns the function of some expressions. The error of expressions that do
// not fit is a *misfit. It names arguments of the probe, so that only functions are
// kept.
func (s *Session) compile(in *body.Input) (*compiled, error) {
	key := signature(in)
	if fn := s.bodies[key]; fn != nil {
		return fn, nil
	}
	fn, err := body.Compile(context.Background(), in)
	if m := newMisfit(in, err); m != nil {
		return nil, m
	}
	if err != nil {
		return nil, err
	}
	s.bodies[key] = &compiled{fn, len(s.bodies)}
	return s.bodies[key], nil
}

// newMisfit returns what an error of package body says; nil if it is none about the
// expressions.
func newMisfit(in *body.Input, err error) *misfit {
	var faults, lacks []*ExprError
	var walk func(error)
	walk = func(err error) {
		if e, ok := err.(*body.Error); ok {
			text := in.Where
			if e.Expr >= 0 && e.Expr < len(in.Values) {
				text = in.Values[e.Expr]
			}
			fault := &ExprError{Expr: text, Off: e.Off, Msg: e.Msg}
			if e.OtherProbe {
				lacks = append(lacks, fault)
			} else {
				faults = append(faults, fault)
			}
			return
		}
		switch u := err.(type) {
		case interface{ Unwrap() []error }:
			for _, e := range u.Unwrap() {
				walk(e)
			}
		case interface{ Unwrap() error }:
			walk(u.Unwrap())
		}
	}
	walk(err)
	switch {
	case len(faults) > 0:
		return &misfit{errs: faults}
	case len(lacks) > 0:
		return &misfit{errs: lacks, other: true}
	}
	return nil
}

// check returns what is wrong with the expressions of a clause for a probe that has a
// number of integers as its arguments; what another probe may have is other.
func (c *clause) check(nargs int) (err error, other bool) {
	in := &body.Input{Where: c.Where, Values: c.expressions()}
	if in.Where == "" && len(in.Values) == 0 {
		return nil, false
	}
	for range nargs {
		in.Args = append(in.Args, body.Arg{Size: 8, Signed: true})
	}
	_, err = body.Compile(context.Background(), in)
	if m := newMisfit(in, err); m != nil {
		return m, m.other
	}
	return err, false
}

// mistake returns what is wrong with the expressions whatever the probe.
func (c *clause) mistake() error {
	if err, other := c.check(0); !other {
		return err
	}
	return nil
}

// expressions returns the values that the clause asks for: what it captures, then the
// value of a histogram.
func (c *clause) expressions() []string {
	var exprs []string
	for _, capture := range c.Capture {
		exprs = append(exprs, capture.Expr)
	}
	if c.Value != "" {
		exprs = append(exprs, c.Value)
	}
	return exprs
}

// A source is where the value of an expression comes from for one probe: an argument
// in full, the name of the thread, or what a function leaves.
type source struct {
	arg   int // -1: none
	comm  bool
	value int // index among the values of the function
	body.Value
}

// builtins are the names that are no arguments.
var builtins = []string{"pid", "tid", "uid", "cpu", "ts", "comm"}

// plainSource returns the source of an expression that asks for no function.
func plainSource(expr string, args []stapsdt.Arg, params []usdt.Param) (source, bool) {
	expr = strings.TrimSpace(expr)
	if expr == "comm" {
		return source{arg: -1, comm: true}, true
	}
	if slices.Contains(builtins, expr) {
		return source{}, false
	}
	i := argNamed(expr, args, params)
	return source{arg: i}, i >= 0
}

// sources returns where the values of the clause's expressions come from, and the
// function that some of them, or the condition, need; nil if none does.
func (c *clause) sources(args []stapsdt.Arg, all []shown, params []usdt.Param, compile func(*body.Input) (*compiled, error)) ([]source, *compiled, error) {
	exprs := c.expressions()
	in := &body.Input{Where: c.Where}
	out := make([]source, len(exprs))
	var computed []int // of each value of the function its expression
	for i, e := range exprs {
		var plain bool
		if out[i], plain = plainSource(e, args, params); !plain {
			computed = append(computed, i)
			in.Values = append(in.Values, e)
		}
	}
	if in.Where == "" && len(computed) == 0 {
		return out, nil, nil
	}
	in.Args = bodyArgs(args, all, params)
	fn, err := compile(in)
	if err != nil {
		return nil, nil, err
	}
	needed := in.Where != ""
	for n, i := range computed {
		v := fn.Values[n]
		out[i] = source{arg: v.Arg, comm: v.Comm, value: n, Value: v}
		needed = needed || v.Arg < 0 && !v.Comm
	}
	if !needed {
		fn = nil // an argument in parentheses
	}
	return out, fn, nil
}

// bodyArgs describes the arguments of a probe to the compiler.
func bodyArgs(args []stapsdt.Arg, all []shown, params []usdt.Param) []body.Arg {
	if len(args) > body.MaxArgs {
		args = args[:body.MaxArgs]
	}
	out := make([]body.Arg, len(args))
	for i, a := range args {
		out[i] = body.Arg{Size: a.Size, Signed: a.Signed, Float: a.Float}
		if params != nil {
			out[i].Name, out[i].Type, out[i].Len = params[i].Name, params[i].Type, params[i].Len
		}
		switch f := all[i].form; {
		case f == formCounted && all[i].len > 0:
			out[i].Type, out[i].Len = bytesType, all[i].len
		case f == formCounted, f == formString && (out[i].Type == nil || out[i].Type.Kind != usdt.Error):
			out[i].Type = stringType
		}
	}
	return out
}

// The types of what Options.Strings says is a string, by its end or by its length.
var (
	stringType = &usdt.Type{Kind: usdt.String, Size: 8}
	bytesType  = &usdt.Type{Kind: usdt.Bytes, Size: 8}
)

// signature tells inputs apart of which different functions may come. Types are written
// out: those of two files are equal if they look alike. Arguments that nothing refers to
// may be what they like.
func signature(in *body.Input) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %q", in.Where, in.Values)
	mentioned := func(name string) bool {
		return name != "" && (strings.Contains(in.Where, name) ||
			slices.ContainsFunc(in.Values, func(v string) bool { return strings.Contains(v, name) }))
	}
	structs := mentioned("struct") // whose types those of any argument may be
	for i, a := range in.Args {
		if !structs && !mentioned(argName(i)) && !mentioned(a.Name) {
			b.WriteString(" *")
			continue
		}
		fmt.Fprintf(&b, " %q %d %d %t %t", a.Name, a.Len, a.Size, a.Signed, a.Float)
		writeType(&b, a.Type, make(map[*usdt.Type]int))
	}
	return b.String()
}

// writeType writes a type, one that stands in itself by its number.
func writeType(b *strings.Builder, t *usdt.Type, seen map[*usdt.Type]int) {
	if t == nil {
		b.WriteString(" -")
		return
	}
	if n, ok := seen[t]; ok {
		b.WriteString(" #" + strconv.Itoa(n))
		return
	}
	seen[t] = len(seen)
	fmt.Fprintf(b, " (%d %d %q %q %d", t.Kind, t.Size, t.Name, t.Go, t.Len)
	writeType(b, t.Elem, seen)
	for _, f := range t.Fields {
		fmt.Fprintf(b, " %q %d", f.Name, f.Offset)
		writeType(b, f.Type, seen)
	}
	b.WriteByte(')')
}
