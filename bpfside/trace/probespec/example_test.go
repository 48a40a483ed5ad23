package probespec_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/trace/probespec"
)

func ExampleParseTrace() {
	p, err := probespec.ParseTrace(`u:/usr/lib/libfoo.so:loop_iter (arg1 > 3) "i=%d msg=%s", arg1, arg2`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Clause.Path, p.Clause.Pattern)
	fmt.Println(p.Clause.Where)
	for _, c := range p.Clause.Capture {
		fmt.Println(c.Expr, c.String)
	}
	// What an event would have:
	fmt.Println(string(p.Format.Append(nil, []trace.Value{
		{Name: "arg1", Type: "int32", Value: int64(7)},
		{Name: "arg2", Type: "string", Value: "hello"},
	})))
	// Output:
	// /usr/lib/libfoo.so :loop_iter
	// arg1 > 3
	// arg1 false
	// arg2 true
	// i=7 msg=hello
}

func ExampleParseDist() {
	d, err := probespec.ParseDist(`u:c:memory_sbrk_more():char*,u64:arg1,arg2:arg2 > 0#growth`, trace.Log2Hist)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Label, "of", d.ValueName, "by", d.Clause.Capture[0].Expr, "where", d.Clause.Where)
	fmt.Println(d.Clause.Value)
	// Output:
	// growth of arg2 by arg1 where arg2 > 0
	// (u64)arg2
}

func ExampleSyntaxError() {
	_, err := probespec.ParseTrace(`myapp:request (status >= 500 "%d", status`)
	var se *probespec.SyntaxError
	if errors.As(err, &se) {
		fmt.Println(se.Text)
		fmt.Println(strings.Repeat(" ", se.Column())+"^", se.Msg)
	}
	// Output:
	// myapp:request (status >= 500 "%d", status
	//               ^ "(" is not closed
}

func ExampleFormat() {
	f, err := probespec.ParseFormat(`%-8s|%08.3f|%#x\n`)
	if err != nil {
		fmt.Println(err)
		return
	}
	values := []trace.Value{
		{Type: "string", Value: "a\x1b[2J"},
		{Type: "float64", Value: 3.14159},
		{Type: "int32", Value: int64(-1)},
	}
	fmt.Print(string(f.AppendPrintable(nil, values)))
	// Output:
	// a\x1b[2J|0003.142|0xffffffff
}
