package body

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestErrors(t *testing.T) {
	const (
		args    = "the arguments are n, u, c, big, msg, o, data, data_len, ok, ratio, arg11, arg12"
		compare = "text can only be compared: with ==, !=, strcmp or strncmp"
		assign  = "an expression cannot assign: "
		two     = "text can be compared with a literal only, and neither of the two is one"
	)
	rows := []struct {
		expr  string
		off   int
		other bool // may be right for another probe
		msg   string
	}{
		// What is no expression.
		{" ", 1, false, "unexpected end of the expression, want a value"},
		{"n +", 3, false, "unexpected end of the expression, want a value"},
		{"n n", 2, false, "unexpected n"},
		{`n "x"`, 2, false, `unexpected literal "x"`},
		{`n "ab` + strings.Repeat("é", 20) + `"`, 2, false, `unexpected literal "ab` + strings.Repeat("é", 14) + "…"},
		{"n == 3 && (u", 12, false, "unexpected end of the expression, want )"},
		{"n)", 1, false, "unexpected )"},
		{"n ? 1", 5, false, "unexpected end of the expression, want :"},
		{"n ?: 1", 3, false, "unexpected :, want a value"},
		{"n ? \n\t : 1", 7, false, "unexpected :, want a value"},
		{"@", 0, false, `unexpected character "@"`},
		{"n == é", 5, false, `unexpected character "é"`},
		{"n \x00 m", 2, false, `unexpected character "\x00"`},
		{"\xff", 0, false, `unexpected character "\xff"`},
		{"n \\\n+ 1", 2, false, `unexpected character "\\"`},
		{"$PID", 0, false, `unexpected character "$"`},
		{"n // 3", 3, false, "unexpected /, want a value"},

		// C, and no expression.
		{"n = 3", 2, false, assign + "= is not supported"},
		{"n <<= 3", 2, false, assign + "<<= is not supported"},
		{"n++", 1, false, assign + "++ is not supported"},
		{"--n", 0, false, assign + "-- is not supported"},
		{"(n, u)", 2, false, "the comma operator is not supported"},
		{"({ n; })", 0, false, "statement expressions are not supported"},
		{"n; u", 1, false, "unexpected ;: this is an expression, not a statement"},
		{"n } }", 2, false, "unexpected }: this is an expression, not a statement"},
		{"n\n#include <x>", 2, false, "unexpected #: this is an expression, not a statement"},
		{"return 1", 0, false, "return: this is an expression, not a statement"},
		{`asm("int3")`, 0, false, "asm: this is an expression, not a statement"},
		{"(int){3}", 0, false, "compound literals are not supported"},
		{"typeof(n)", 0, false, "typeof: not supported"},

		// Numbers and literals.
		{"1.5", 0, false, "floating point is not supported: BPF has none"},
		{"n + 1e3", 4, false, "floating point is not supported: BPF has none"},
		{"0x", 0, false, "0x is not a number"},
		{"08", 0, false, "08 is not a number"},
		{"1u2", 0, false, "1u2 is not a number"},
		{"1lul", 0, false, "1lul is not a number"},
		{"99999999999999999999", 0, false, "99999999999999999999 does not fit into 64 bits"},
		{"'ab'", 0, false, "a character constant has one character"},
		{"''", 0, false, "a character constant has one character"},
		{`msg == "abc`, 7, false, "the literal does not end"},
		{`msg == "a\q"`, 9, false, "unknown escape sequence"},
		{`'\400'`, 1, false, "unknown escape sequence"},

		// Names.
		{"foo", 0, true, "foo is not known: " + args},
		{"n == Big", 5, true, "Big is not known: did you mean big? " + args},
		{"datalen", 0, true, "datalen is not known: did you mean data_len? " + args},
		{"arg13", 0, true, "arg13 is not known: the probe has 12 arguments, arg1 to arg12"},
		{"arg0", 0, true, "arg0 is not known: the probe has 12 arguments, arg1 to arg12"},
		{"h->args[0]", 0, true, "h is not known: " + args},
		{"short + 1", 0, false, "short: a type is no value: a cast has it in parentheses"},
		{"foo(1)", 0, false, "function foo is not known: there are strcmp, strncmp and STRCMP"},
		{"__builtin_trap()", 0, false, "function __builtin_trap is not known: there are strcmp, strncmp and STRCMP"},
		{"(n)(1)", 3, false, "only functions that have a name can be called"},

		// Types.
		{"(struct foo *)o", 1, true, "struct foo is not known: the arguments know main.order, main_item"},
		{"(struct ordr *)o", 1, true, "struct ordr is not known: the arguments know main.order, main_item"},
		{"(struct main.odrer *)o", 1, true, "struct main.odrer is not known: did you mean main.order? the arguments know main.order, main_item"},
		{"(struct order)o", 0, false, "cannot cast to struct order"},
		{"(void)n", 0, false, "cannot cast to void"},
		{"(float)n", 1, false, "float: no such type is known"},
		{"(unsigned unsigned)n", 1, false, "this is not a type"},
		{"(long char)n", 1, false, "this is not a type"},
		{"(u8 int)n", 1, false, "this is not a type"},
		{"(int[3])n", 4, false, "unexpected [, want )"},
		{"sizeof(void)", 0, false, "void has no size"},

		// Fields.
		{"o->nam", 3, true, "main.order has no field nam: did you mean name? it has id, next, name, items, tag, small, flag, port, price, text, first, matrix, …"},
		{"o->next->items[1].skuu", 18, true, "main_item has no field skuu: did you mean sku? it has sku, count"},
		{"o.id", 2, true, "this is a pointer: use ->"},
		{"o->name->len", 9, true, "go_string is a struct, not a pointer to one: use a dot"},
		{"msg->x", 5, true, "a string has no fields"},
		{"n->x", 3, true, "a number has no fields: cast it to a pointer to a struct"},
		{"n.x", 2, true, "this is no struct, and has no fields"},
		{"o->any->x", 8, true, "what this points to is not known"},
		{"o->", 3, false, "unexpected end of the expression, want the name of a field"},

		// What has no value, and what cannot be computed with.
		{"ratio + 1", 0, true, "ratio is floating point, which BPF cannot compute with: it can only stand alone"},
		{"(long)arg10", 6, true, "arg10 is floating point, which BPF cannot compute with: it can only stand alone"},
		{"o->price > 1", 3, true, "field price is floating point, which BPF cannot compute with: it can only stand alone"},
		{"-o->rates[1]", 1, true, "this is floating point, which BPF cannot compute with: it can only stand alone"},
		{"n ? *o->rates : 0", 4, true, "this is floating point, which BPF cannot compute with: it can only stand alone"},
		{"*o", 0, true, "main.order is a struct, not a value: name one of its fields"},
		{"o->items[0]", 0, true, "main_item is a struct, not a value: name one of its fields"},
		{"1 && !o->name", 6, true, "a string of Go in memory can stand alone or be compared with text; else it has ptr and len"},
		{"(long)*o", 6, true, "main.order is a struct, not a value: name one of its fields"},
		{"*o->any", 1, true, "what this points to is not known"},
		{"o->any[1]", 0, true, "what this points to is not known"},
		{"1 + *n", 5, true, "operand shall be a pointer: int"},
		{"o + o", 2, true, "invalid operands: pointer to main.order and pointer to main.order"},
		{"u && o * 2", 7, true, "operands shall have arithmetic type: pointer to main.order and int"},
		{"&n", 0, false, "this has no address in the traced process"},
		{"&comm[1]", 0, false, "this has no address in the traced process"},
		{"n / 0", 2, false, "division by zero"},
		{"1 + n + u % 0x0", 10, false, "division by zero"},
		{"n << 64", 2, false, "shift by 64 bits"},

		// Text.
		{`"a"`, 0, false, compare},
		{`n ? "a" : "b"`, 4, false, compare},
		{"msg == o->text", 4, true, two},
		{"msg == o->name", 4, true, two},
		{"msg == o->items[0]", 7, true, "main_item is a struct, not a value: name one of its fields"},
		{"comm == comm", 5, true, two},
		{"comm + 1", 0, false, "comm is text: it can stand alone, be compared with text, or be indexed"},
		{`"a" == "b"`, 7, false, "two literals are not compared"},
		{`1 && n == "x"`, 5, true, "int32 is no address of text: cast it to char * if it is one"},
		{`o->items == "x"`, 0, true, "[3]main_item is no address of text: cast it to char * if it is one"},
		{`strcmp(*o, "x")`, 7, true, "main.order is a struct, not a value: name one of its fields"},
		{"strcmp(msg)", 0, false, "strcmp takes 2 arguments, not 1"},
		{"strcmp(msg, o->text)", 0, false, "strcmp of two strings that are not literals is not supported"},
		{`strncmp(msg, "x", n)`, 18, false, "the third argument of strncmp has to be a number"},
		{`msg == "` + strings.Repeat("x", 128) + `"`, 7, false, "text to compare with is longer than 127 bytes"},

		// What is too much.
		{strings.Repeat("(", 10_000) + "n" + strings.Repeat(")", 10_000), -1, false, "the expression is longer than 16384 bytes"},
		{strings.Repeat("(", 1000) + "n" + strings.Repeat(")", 1000), 100, false, "the expression is nested more than 100 deep"},
		{strings.Repeat("- ", 1000) + "n", 198, false, "the expression is nested more than 100 deep"},
		{strings.Repeat("n?u:", 1000) + "n", 398, false, "the expression is nested more than 100 deep"},
		{strings.Repeat("sizeof ", 1000) + "n", 693, false, "the expression is nested more than 100 deep"},
		{"o" + strings.Repeat("->next", 1000), 0, false, "the expression is nested more than 100 deep"},
		{"n" + strings.Repeat("==n", 1000), 0, false, "the expression is nested more than 100 deep"},
		{"n" + strings.Repeat("||n", 1500), 0, false, "the expression has more than 2000 parts"},
	}
	for _, r := range rows {
		// As a value and as a condition.
		for _, in := range []*Input{{Values: []string{"n", r.expr}}, {Where: r.expr}} {
			in.Args = worldArgs()
			_, err := Compile(context.Background(), in)
			var e *Error
			if !errors.As(err, &e) {
				t.Errorf("%.60q: %v", r.expr, err)
				continue
			}
			index := len(in.Values) - 1
			if e.Off != r.off || e.Msg != r.msg || e.OtherProbe != r.other || e.Expr != index || e.Error() != e.Msg {
				t.Errorf("%.60q of %d: %d %v %q\nwanted %d %v %q", r.expr, e.Expr, e.Off, e.OtherProbe, e.Msg, r.off, r.other, r.msg)
			}
		}
	}
}

// All expressions that are wrong are named, in what the front end sees and in what
// it does not.
func TestErrorsOfAll(t *testing.T) {
	_, err := Compile(context.Background(), &Input{Args: worldArgs(), Where: "n ==", Values: []string{"n", "u u", "big"}})
	if got, want := all(err), "-1:4 1:2"; got != want {
		t.Errorf("syntax: %s, wanted %s: %v", got, want, err)
	}
	_, err = Compile(context.Background(), &Input{Args: worldArgs(), Where: "o->foo", Values: []string{"n", "bar"}})
	if got, want := all(err), "-1:3 1:0"; got != want {
		t.Errorf("names: %s, wanted %s: %v", got, want, err)
	}
	_, err = Compile(context.Background(), &Input{Args: worldArgs(), Where: "*n", Values: []string{"-o", "n", "1 + o * o", `n == "x"`}})
	if got, want := all(err), "-1:1 0:0 2:6"; got != want {
		t.Errorf("types: %s, wanted %s: %v", got, want, err)
	}
}

// all lists the expressions and offsets of errors.
func all(err error) string {
	var list []string
	if e, ok := err.(*Error); ok {
		return fmt.Sprintf("%d:%d", e.Expr, e.Off)
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			list = append(list, all(err))
		}
	}
	return strings.Join(list, " ")
}

func TestErrorsOfProbes(t *testing.T) {
	rows := []struct {
		args []Arg
		expr string
		msg  string
	}{
		{nil, "n", "n is not known: the probe has no arguments"},
		{nil, "arg1", "arg1 is not known: the probe has no arguments"},
		{[]Arg{{Size: 4}}, "arg2", "arg2 is not known: the probe has one argument, arg1"},
		{nil, "(struct x *)0", "struct x is not known: the arguments know of no struct"},
		{[]Arg{{Size: 4, Float: true}}, "arg1 + 1", "arg1 is floating point, which BPF cannot compute with: it can only stand alone"},
		{[]Arg{{Size: 16}}, "arg1 + 1", "arg1 is a value of 16 bytes, which BPF cannot compute with: it can only stand alone"},
		{[]Arg{{Name: "a\x1b[2J", Size: 4}}, "x", "x is not known: the arguments are arg1"},
	}
	for _, r := range rows {
		_, err := Compile(context.Background(), &Input{Args: r.args, Values: []string{r.expr}})
		var e *Error
		if !errors.As(err, &e) || e.Msg != r.msg || !e.OtherProbe {
			t.Errorf("%s: %v", r.expr, err)
		}
	}
	many := make([]Arg, MaxArgs+1)
	if _, err := Compile(context.Background(), &Input{Args: many}); err == nil || err.Error() != "compile expressions: 13 arguments are more than 12" {
		t.Error(err)
	}
	if _, err := Compile(context.Background(), &Input{Values: make([]string, MaxValues+1)}); err == nil || err.Error() != "compile expressions: 14 values are more than 13" {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Compile(ctx, &Input{Where: "1"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
