package probespec

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/trace"
)

// captures makes captures of expressions; one that begins with "$" is a string.
func captures(exprs ...string) []trace.Capture {
	list := []trace.Capture{}
	for _, e := range exprs {
		expr, isString := strings.CutPrefix(e, "$")
		list = append(list, trace.Capture{Expr: expr, String: isString})
	}
	return list
}

func TestParseTrace(t *testing.T) {
	for _, row := range []struct {
		text       string
		path       string
		pattern    string
		where      string
		capture    []trace.Capture
		directives int // -1: no format
		bcc        bool
	}{
		// The probe, our way.
		{text: `myapp:request`, pattern: "myapp:request", directives: -1},
		{text: `myapp:*`, pattern: "myapp:*", directives: -1},
		{text: ` myapp: `, pattern: "myapp:", directives: -1},
		{text: `/usr/bin/app:myapp:re?uest`, path: "/usr/bin/app", pattern: "myapp:re?uest", directives: -1},
		{text: `./app:request`, path: "./app", pattern: ":request", directives: -1},
		{text: `libc.so.6:libc:setjmp`, path: "libc.so.6", pattern: "libc:setjmp", directives: -1},
		{text: `postgres:postgresql:query__start`, path: "postgres", pattern: "postgresql:query__start", directives: -1},
		{text: `c:libc:a:b`, path: "c", pattern: "libc:a:b", directives: -1},
		{text: `myapp:"a:b"`, pattern: "myapp:a:b", directives: -1},
		{text: `myapp:a\:b`, pattern: "myapp:a:b", directives: -1},
		{text: `*:myapp:request`, pattern: "myapp:request", directives: -1},
		{text: `:myapp:request`, pattern: "myapp:request", directives: -1},
		{text: `urdt:job:step`, pattern: "urdt:job:step", directives: -1},
		{text: `urdt:job:step/2`, pattern: "urdt:job:step/2", directives: -1},
		{text: `urdt:probe2`, pattern: "urdt:probe2", directives: -1},
		{text: `urdt:*`, pattern: "urdt:*", directives: -1},
		{text: `urdt:job:"a*"`, pattern: "urdt:job:a*", directives: -1},
		{text: `urdt:job:why\?`, pattern: "urdt:job:why?", directives: -1},
		{text: `u:probe`, pattern: "u:probe", directives: -1},

		// bcc's way.
		{text: `u:pthread:pthread_create`, path: "pthread", pattern: ":pthread_create", bcc: true, directives: -1},
		{text: `u:pthread:libpthread:pthread_create`, path: "pthread", pattern: "libpthread:pthread_create", bcc: true, directives: -1},
		{text: `usdt:/usr/lib/libfoo.so:probe`, path: "/usr/lib/libfoo.so", pattern: ":probe", bcc: true, directives: -1},
		{text: `u::probe`, pattern: ":probe", bcc: true, directives: -1},
		{text: `u:c:setjmp()`, path: "c", pattern: ":setjmp", bcc: true, directives: -1},

		// bpftrace's.
		{text: `usdt:*:shop:order`, pattern: "shop:order", bcc: true, directives: -1},
		{text: `usdt::shop:order`, pattern: "shop:order", bcc: true, directives: -1},
		{text: `u:*:order`, pattern: ":order", bcc: true, directives: -1},
		{text: `usdt:*`, pattern: "usdt:*", directives: -1},

		// Quoting.
		{text: `u:"/a b:c":x`, path: "/a b:c", pattern: ":x", bcc: true, directives: -1},
		{text: `u:/a\ b\:c\(1\):x`, path: "/a b:c(1)", pattern: ":x", bcc: true, directives: -1},
		{text: `u:/tmp/a,b/c,d.so:x, arg1`, path: "/tmp/a,b/c,d.so", pattern: ":x", capture: captures("arg1"), bcc: true, directives: -1},
		{text: `/tmp/a,b:x:y,z`, path: "/tmp/a,b", pattern: "x:y", capture: captures("z"), directives: -1},
		{text: `urdt:a:b/2,x?y:z`, pattern: "urdt:a:b/2", capture: captures("x?y:z"), directives: -1},
		{text: `"u":a`, pattern: "u:a", directives: -1},
		{text: `"u":a:b`, path: "u", pattern: "a:b", directives: -1},
		{text: `"/opt/\"x\"/app":a:b`, path: `/opt/"x"/app`, pattern: "a:b", directives: -1},

		// Conditions and expressions.
		{text: `myapp:request (status >= 500)`, pattern: "myapp:request", where: "status >= 500", directives: -1},
		{text: `myapp:request(status >= 500)`, pattern: "myapp:request", where: "status >= 500", directives: -1},
		{text: `myapp:request status, path`, pattern: "myapp:request", capture: captures("status", "path"), directives: -1},
		{text: `myapp:request, status,path`, pattern: "myapp:request", capture: captures("status", "path"), directives: -1},
		{text: `myapp:request, (a+b)*c`, pattern: "myapp:request", capture: captures("(a+b)*c"), directives: -1},
		{text: `myapp:request (int)a, (b)`, pattern: "myapp:request", capture: captures("(int)a", "(b)"), directives: -1},
		{text: `myapp:request (unsigned  char) (a)`, pattern: "myapp:request", capture: captures("(unsigned  char) (a)"), directives: -1},
		{text: `myapp:request (struct order *)a`, pattern: "myapp:request", capture: captures("(struct order *)a"), directives: -1},
		{text: `myapp:request ((struct basket *)a), ((struct basket *)a)->cap`, pattern: "myapp:request", where: "(struct basket *)a", capture: captures("((struct basket *)a)->cap"), directives: -1},
		{text: `myapp:request (a) -b, *c, !d, &e[0], ~f`, pattern: "myapp:request", where: "a", capture: captures("-b", "*c", "!d", "&e[0]", "~f"), directives: -1},
		{text: `myapp:request (u64x) (s8)a`, pattern: "myapp:request", where: "u64x", capture: captures("(s8)a"), directives: -1},
		{text: `myapp:request ((a == 1) && f(b, c)) f(b, c[1]), a ? b : c`, pattern: "myapp:request", where: "(a == 1) && f(b, c)",
			capture: captures("f(b, c[1])", "a ? b : c"), directives: -1},
		{text: `a:b (strcmp(arg1, ")") == 0) arg1 == ',' , "x,y"[0]`, pattern: "a:b", where: `strcmp(arg1, ")") == 0`,
			capture: captures("arg1 == ','", `"x,y"[0]`), directives: -1},

		// Formats.
		{text: `u:pthread:pthread_start (arg1 != 0) "i=%d msg=%s", arg1, arg2`, path: "pthread", pattern: ":pthread_start", where: "arg1 != 0",
			capture: captures("arg1", "$arg2"), directives: 2, bcc: true},
		{text: `u:ruby:method__entry "%s.%s", arg1, arg2`, path: "ruby", pattern: ":method__entry", capture: captures("$arg1", "$arg2"), directives: 2, bcc: true},
		{text: `a:b "x=%d" arg1`, pattern: "a:b", capture: captures("arg1"), directives: 1},
		{text: `a:b, "x=%d", arg1`, pattern: "a:b", capture: captures("arg1"), directives: 1},
		{text: `a:b"x"`, pattern: "a:b", capture: captures(), directives: 0},
		{text: `a:b "say \"%s\" 100%%", p->name`, pattern: "a:b", capture: captures("$p->name"), directives: 1},

		// bcc's names.
		{text: `u:x:y ($pid == 7 && $tgid == 8) "%d %d %s", $uid, $cpu, $task->comm`, path: "x", pattern: ":y", where: "tid == 7 && pid == 8",
			capture: []trace.Capture{{Name: "$uid", Expr: "uid"}, {Name: "$cpu", Expr: "cpu"}, {Name: "$task->comm", Expr: "comm", String: true}}, directives: 3, bcc: true},
		{text: `u:x:y (STRCMP("$pid", arg1)) "%s", arg1@user`, path: "x", pattern: ":y", where: `STRCMP("$pid", arg1)`,
			capture: []trace.Capture{{Expr: "arg1", Name: "arg1@user", String: true}}, directives: 1, bcc: true},
	} {
		t.Run(row.text, func(t *testing.T) {
			p, err := ParseTrace(row.text)
			if err != nil {
				t.Fatal(err)
			}
			want := trace.Clause{Path: row.path, Pattern: row.pattern, Where: row.where, Capture: row.capture}
			if diff := cmp.Diff(want, p.Clause); diff != "" {
				t.Errorf("clause (-want +got):\n%s", diff)
			}
			n := -1
			if p.Format != nil {
				n = p.Format.Directives()
			}
			if n != row.directives || p.BCC != row.bcc || p.Text != row.text {
				t.Errorf("%d directives, bcc %v, want %d, %v", n, p.BCC, row.directives, row.bcc)
			}
		})
	}
}

func TestParseTraceErrors(t *testing.T) {
	for _, row := range []struct {
		text string
		mark string // a "^" at the place
		want string // the error without the text
	}{
		{``, `^`, `no probe: want PROVIDER:PROBE`},
		{`  `, `  ^`, `no probe: want PROVIDER:PROBE`},
		{`malloc`, `^`, `"malloc" names no probe: want PROVIDER:PROBE, such as "malloc:*"`},
		{`p:c:malloc "%d", arg1`, `^`, `p: is no USDT probe but a function's entry: want PROVIDER:PROBE, or u:PATH:PROBE`},
		{`r::__vfs_read`, `^`, `r: is no USDT probe but a function's return: want PROVIDER:PROBE, or u:PATH:PROBE`},
		{`t:irq:irq_handler_entry`, `^`, `t: is no USDT probe but a tracepoint of the kernel: want PROVIDER:PROBE, or u:PATH:PROBE`},
		{`kprobe:do_exit`, `^`, `kprobe: is no USDT probe but a function of the kernel: want PROVIDER:PROBE, or u:PATH:PROBE`},
		{`urdt:shop:*`, `          ^`, `tracepoints that are defined at run time are told apart by a hash of their names, so there are no wildcards; nopfire list urdt shows the registered ones: want a whole name, or one in quotes`},
		{`urdt:sh?p:order (arg1 > 1)`, `       ^`, `tracepoints that are defined at run time are told apart by a hash of their names, so there are no wildcards; nopfire list urdt shows the registered ones: want a whole name, or one in quotes`},
		{`urdt:a:b/99`, `^`, `name "urdt:a:b/99": "99" is no number of arguments within 0..11`},
		{`my*:myapp:request`, `^`, `a wildcard in the name of a program or library: want PATH:PROVIDER:PROBE, or quotes around a PROBE with a colon`},
		{`a:b ((struct c *)arg1)->d.e`, `                      ^`, `the parentheses behind the probe are its condition: want a:b, ((struct c *)arg1)->d.e`},
		{`a:b(x) != y`, `       ^`, `the parentheses behind the probe are its condition: want a:b, (x) != y`},
		{`a:b (x)[1]`, `       ^`, `the parentheses behind the probe are its condition: want a:b, (x)[1]`},
		{`a:b (x + y) / 2`, `            ^`, `the parentheses behind the probe are its condition: want a:b, (x + y) / 2`},
		{`c:"a:b":d`, `  ^`, `a colon in the name of a provider`},
		{`u:"/a b`, `  ^`, `no closing quote`},
		{`u:"/a b"x:y`, `        ^`, `text directly behind a quoted part: want a colon or a blank`},
		{`a:b\`, `    ^`, `nothing behind the backslash`},
		{`a:b (x`, `    ^`, `"(" is not closed`},
		{`a:b ((x)`, `    ^`, `"(" is not closed`},
		{`a:b (x[1)`, `        ^`, `")" does not close "["`},
		{`a:b (x) y)`, `         ^`, `")" closes nothing`},
		{`a:b x,`, `      ^`, `an expression is missing`},
		{`a:b ,, x`, `     ^`, `an expression is missing`},
		{`a:b (x == "y)`, `          ^`, `no closing quote`},
		{`a:b "x`, `    ^`, `no closing quote`},
		{`a:b "%d"`, `        ^`, `the format shows 1 value, there are no expressions`},
		{`a:b "%d %d", x`, `              ^`, `the format shows 2 values, there is 1 expression`},
		{`a:b "%d", x, y`, `             ^`, `the format at 5 shows 1 value, there are 2 expressions`},
		{`a:b "%d%U", x, y`, `       ^`, `%U would be a symbol, which nobody looks up: want %p or %lx`},
		{`a:b x + $retval`, `        ^`, `$retval: a USDT probe returns nothing: want arg1, arg2, … or names`},
		{`a:b ($entry(x) > 1)`, `     ^`, `$entry: a USDT probe is no function: want arg1, arg2, … or names`},
		{`a:b $latency`, `    ^`, `$latency: a USDT probe has no duration: want an argument that tells it`},
		{`a:b $task->mm`, `    ^`, `$task: of the task of the kernel only a few things are known: want $task->comm, comm, pid, tid, uid or cpu`},
		{`a:b $pids`, `    ^`, `$pids is not known: want pid, tid, uid, cpu, ts, comm, or an argument`},
		{`a:b 1,2,3,4,5,6,7,8,9,10,11,12,13`, `                               ^`, `more than 12 expressions`},
	} {
		t.Run(row.text, func(t *testing.T) {
			_, err := ParseTrace(row.text)
			checkSyntaxError(t, err, row.text, row.mark, row.want)
		})
	}
}

// checkSyntaxError checks an error, and where it is: mark has a "^" there.
func checkSyntaxError(t *testing.T, err error, text, mark, want string) {
	t.Helper()
	var se *SyntaxError
	if !errors.As(err, &se) {
		t.Fatalf("error %v, want a SyntaxError", err)
	}
	got := se.Msg
	if se.Want != "" {
		got += ": want " + se.Want
	}
	if got != want || strings.Repeat(" ", se.Column())+"^" != mark || se.Text != text {
		t.Errorf("\n%s\n%s^ %s\nwant\n%s %s", se.Text, strings.Repeat(" ", se.Column()), got, mark, want)
	}
}
