package selftest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf"

	"github.com/nopfire/nopfire/bpfside/bpfc"
	"github.com/nopfire/nopfire/bpfside/btfvalue"
	"github.com/nopfire/nopfire/bpfside/run"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/emit"
)

// bpfcChecks are about BPF programs in C: each is compiled, loaded, attached to
// selftest:call(long a, long b, const char *s), and what it leaves is compared.
var bpfcChecks = []Check{
	{Name: "global variables", Needs: traces, run: bpfcGlobals},
	{Name: "64-bit arithmetic is that of C", Needs: traces, run: bpfcArithmetic},
	{Name: "narrow types wrap and extend", Needs: traces, run: bpfcNarrow},
	{Name: "loops, switch and functions", Needs: traces, run: bpfcControl},
	{Name: "structs, arrays and pointers", Needs: traces, run: bpfcStructs},
	{Name: "a hash map counts by key", Needs: traces, run: bpfcHash},
	{Name: "per-CPU values add up", Needs: traces, run: bpfcPerCPU},
	{Name: "a string of the traced process as a key", Needs: traces, run: bpfcString},
	{Name: "atomic operations", Needs: traces, run: bpfcAtomic},
	{Name: "a ring buffer gives structs with their names", Needs: traces, run: bpfcRing},
	{Name: "a perf buffer gives structs with their names", Needs: traces, run: bpfcPerf},
	{Name: "variables are set before the program is loaded", Needs: traces, run: bpfcSet},
	{Name: "fields of the kernel's structs (CO-RE)", Needs: traces | KernelTypes, run: bpfcCORE},
	{Name: "a raw tracepoint of the kernel", Needs: traces, run: bpfcRawTracepoint},
	{Name: "an object file is the program again", Needs: traces, run: bpfcObject},
	{Name: "a mistake is told with its line", run: bpfcMistake},
	{Name: "the verifier's refusal is told with its line", Needs: traces, run: bpfcRefusal},
}

// callHeader begins the programs, callProgram makes one of the body of a function.
const (
	callHeader = `
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>
char LICENSE[] SEC("license") = "GPL";
`
	callFunction = `
SEC("usdt/*:selftest:call") int BPF_USDT(on_call, long a, long b, const char *s)
`
)

// callProgram returns a program with declarations and the body of a function.
func callProgram(declarations, body string) string {
	return callHeader + declarations + callFunction + "{" + body + "}\n"
}

// A caller is a program at work, and the probe that it is attached to.
type caller struct {
	t *T
	*run.Session
	probe *emit.Probe3[int64, int64, string]
}

// startCaller attaches a specification.
func startCaller(t *T, spec *ebpf.CollectionSpec) *caller {
	p := newProvider(t, nil)
	c := &caller{t: t, probe: define[*emit.Probe3[int64, int64, string]](t, p)(emit.NewProbe3[int64, int64, string](p, "call", nil))}
	var err error
	c.Session, err = run.New(spec, &run.Options{PID: os.Getpid(), NoPrintk: true})
	if err != nil {
		t.Fatalf("load:\n%v", bpfc.Explain(spec, err))
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	t.Must(c.Attach())
	for _, problem := range c.Problems() {
		t.Errorf("problem: %v", problem)
	}
	return c
}

// call fires the probe.
func (c *caller) call(a, b int64, s string) { c.probe.Fire(a, b, s) }

// expect compares what the program has left: "VARIABLE = VALUE" and "MAP[KEY] = VALUE".
func (c *caller) expect(want ...string) {
	var got []string
	for _, table := range c.Snapshot() {
		if table.Err != nil {
			c.t.Errorf("%s: %v", table.Name, table.Err)
		}
		for _, e := range table.Entries {
			if table.Globals {
				got = append(got, fmt.Sprintf("%s = %s", e.Key, btfvalue.String(e.Value, false)))
			} else {
				got = append(got, fmt.Sprintf("%s[%s] = %s", table.Name, btfvalue.String(e.Key, false), btfvalue.String(e.Value, false)))
			}
		}
	}
	slices.Sort(got) // variables lie in sections by their values
	slices.Sort(want)
	equalLines(c.t, "what the program has left", got, want)
}

// events detaches the program and returns what it has sent.
func (c *caller) events() []string {
	ctx, cancel := context.WithCancel(c.t.ctx)
	cancel() // what has been sent is all that is wanted
	var got []string
	for ev, err := range c.Events(ctx) {
		if err != nil {
			c.t.Errorf("%v", err)
			continue
		}
		got = append(got, fmt.Sprintf("%s: %s %s, lost %d", ev.Map, ev.Type, btfvalue.String(ev.Value, false), ev.Lost))
	}
	return got
}

func bpfcGlobals(t *T) {
	c := startCaller(t, compile(t, callProgram(`
long last, total = 1000;
unsigned int hits;
bool negative;`, `
	last = a;
	total += b;
	hits++;
	negative = a < 0;
	return 0;`)))
	c.call(5, 10, "")
	c.call(-6, 20, "")
	c.expect("hits = 2", "last = -6", "negative = true", "total = 1030")
}

func bpfcArithmetic(t *T) {
	c := startCaller(t, compile(t, callProgram(`
long sdiv, smod;
unsigned long udiv, umod, mul, bits, shl;
long sar; unsigned long shr;
int less_signed, less_unsigned;`, `
	/* BPF has no signed division before its fourth instruction set: a program writes it */
	sdiv = a < 0 ? -((unsigned long)-a / b) : (unsigned long)a / b;
	smod = a - sdiv * b;
	udiv = (unsigned long)a / b;
	umod = (unsigned long)a % b;
	mul = (unsigned long)a * a;
	bits = (a & 0xff) | (b ^ 0xf0f0) ;
	shl = a << b;
	sar = a >> b;
	shr = (unsigned long)a >> b;
	less_signed = a < b;
	less_unsigned = (unsigned long)a < (unsigned long)b;
	return 0;`)))
	a, b := int64(-1000000007), int64(37)
	c.call(a, b, "")
	u := uint64(a)
	c.expect(
		fmt.Sprintf("bits = %d", a&0xff|(b^0xf0f0)), "less_signed = 1", "less_unsigned = 0",
		fmt.Sprintf("mul = %d", u*u), fmt.Sprintf("sar = %d", a>>b), fmt.Sprintf("sdiv = %d", a/b),
		fmt.Sprintf("shl = %d", u<<b), fmt.Sprintf("shr = %d", u>>b), fmt.Sprintf("smod = %d", a%b),
		fmt.Sprintf("udiv = %d", u/uint64(b)), fmt.Sprintf("umod = %d", u%uint64(b)))
}

func bpfcNarrow(t *T) {
	c := startCaller(t, compile(t, callProgram(`
signed char c; unsigned char uc; short sh; unsigned short us; int i; unsigned int ui;
struct { unsigned int low : 4, mid : 9; int high : 5; } bits;
long widened;`, `
	c = a; uc = a; bits.low = a; bits.mid = b; bits.high = a;
	i = a * 65537; ui = (int)a; sh = b + 32767; us = b;
	widened = (long)(signed char)a + (unsigned char)b;
	return 0;`)))
	c.call(-3, 70000, "")
	a, b := int64(-3), int64(70000)
	c.expect(
		fmt.Sprintf("bits = {low = %d, mid = %d, high = %d}", a&15, b&511, a), "c = -3",
		fmt.Sprintf("i = %d", int32(a*65537)), fmt.Sprintf("sh = %d", int16(b+32767)), "uc = 253", fmt.Sprintf("ui = %d", uint32(a)),
		fmt.Sprintf("us = %d", uint16(b)), fmt.Sprintf("widened = %d", a+int64(uint8(b))))
}

func bpfcControl(t *T) {
	c := startCaller(t, compile(t, callProgram(`
long sum, odd; int kinds[4];
static __noinline int kind(long x)
{
	switch (x) {
	case 0: return 0;
	case 1 ... 9: return 1;
	default: return x < 0 ? 3 : 2;
	}
}
static __always_inline long twice(long x) { return x + x; }`, `
	for (int i = 0; i < 20; i++) {
		if (i == b)
			break;
		if (i & 1) {
			odd++;
			continue;
		}
		sum += twice(i);
	}
	int k = kind(a);
	if (k >= 0 && k < 4)
		kinds[k]++;
	return 0;`)))
	c.call(0, 5, "")   // 0+2+4, two odd ones
	c.call(7, 0, "")   // none
	c.call(10, 99, "") // 0+2+…+18, ten odd ones
	c.call(-1, 1, "")
	c.expect("kinds = [1, 1, 1, 1]", "odd = 12", "sum = 192")
}

func bpfcStructs(t *T) {
	c := startCaller(t, compile(t, callProgram(`
struct point { int x; long y; };
struct box { struct point from, to; char name[8]; } box;
struct point path[3];
int written;`, `
	struct box local = { .to = { .x = a, .y = b }, .name = "box" };
	struct point *p = &local.from;
	p->x = local.to.x + 1;
	*p = (struct point){ p->x, -1 };
	box = local;
	for (int i = 0; i < 3; i++)
		path[i] = (struct point){ .x = i, .y = i * a };
	written = sizeof(path) / sizeof(path[0]);
	return 0;`)))
	c.call(6, 1<<40, "")
	c.expect(
		`box = {from = {x = 7, y = -1}, to = {x = 6, y = 1099511627776}, name = "box"}`,
		"path = [{x = 0, y = 0}, {x = 1, y = 6}, {x = 2, y = 12}]", "written = 3")
}

func bpfcHash(t *T) {
	c := startCaller(t, compile(t, callProgram(`
struct key { long a; int b; int pad; };
struct {
	__uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 16);
	__type(key, struct key); __type(value, long);
} counts SEC(".maps");`, `
	struct key k = { .a = a, .b = b };
	long one = 1, *n = bpf_map_lookup_elem(&counts, &k);
	if (n)
		*n += 1;
	else
		bpf_map_update_elem(&counts, &k, &one, BPF_ANY);
	return 0;`)))
	for _, a := range []int64{1, 2, 1, -5, 1} {
		c.call(a, a*2, "")
	}
	c.expect(
		"counts[{a = -5, b = -10, pad = 0}] = 1",
		"counts[{a = 1, b = 2, pad = 0}] = 3",
		"counts[{a = 2, b = 4, pad = 0}] = 1")
}

func bpfcPerCPU(t *T) {
	c := startCaller(t, compile(t, callProgram(`
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); __uint(max_entries, 4);
	__type(key, __u32); __type(value, __u64);
} sums SEC(".maps");`, `
	__u32 k = b;
	__u64 *n = bpf_map_lookup_elem(&sums, &k);
	if (n)
		*n += a;
	return 0;`)))
	for i := range int64(100) {
		c.call(i, i%2+1, "")
	}
	c.expect("sums[1] = 2450", "sums[2] = 2500")
}

func bpfcString(t *T) {
	c := startCaller(t, compile(t, callProgram(`
struct {
	__uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 16);
	__type(key, char[16]); __type(value, int);
} lengths SEC(".maps");`, `
	char text[16] = {};
	int n = bpf_probe_read_user_str(text, sizeof(text), s);
	if (n == 0)
		n = 1; /* older kernels do not count the NUL of an empty string */
	bpf_map_update_elem(&lengths, text, &n, BPF_ANY);
	return 0;`)))
	for _, s := range []string{"tea", "", "a text that is cut"} {
		c.call(0, 0, s)
	}
	c.expect(`lengths[""] = 1`, `lengths["a text that is "] = 16`, `lengths["tea"] = 4`)
}

func bpfcAtomic(t *T) {
	c := startCaller(t, compile(t, callProgram(`
long added, old, swapped = 5, failed = 5;
long found, other;`, `
	old = __sync_fetch_and_add(&added, a);
	found = __sync_val_compare_and_swap(&swapped, 5, b);
	other = __sync_val_compare_and_swap(&failed, 6, b);
	return 0;`)))
	c.call(3, 50, "")
	c.call(4, 60, "")
	c.expect("added = 7", "failed = 5", "found = 50", "old = 3", "other = 5", "swapped = 50")
}

// eventDeclarations are those of the programs that send.
const eventDeclarations = `
enum mood { CALM, LOUD };
struct event { long a; enum mood mood; char text[8]; };
`

func bpfcRing(t *T) {
	c := startCaller(t, compile(t, callProgram(eventDeclarations+`
struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 4096); } events SEC(".maps");
struct event *unused __attribute__((unused));`, `
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e)
		return 0;
	e->a = a;
	e->mood = b;
	bpf_probe_read_user_str(e->text, sizeof(e->text), s);
	bpf_ringbuf_submit(e, 0);
	return 0;`)))
	c.call(-1, 0, "one")
	c.call(1<<50, 1, "twenty-two")
	equalLines(t, "events", c.events(), []string{
		`events: event {a = -1, mood = CALM, text = "one"}, lost 0`,
		`events: event {a = 1125899906842624, mood = LOUD, text = "twenty-"}, lost 0`,
	})
}

func bpfcPerf(t *T) {
	c := startCaller(t, compile(t, callProgram(eventDeclarations+`
struct { __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY); } events SEC(".maps");`, `
	struct event e = { .a = a, .mood = b };
	bpf_probe_read_user_str(e.text, sizeof(e.text), s);
	bpf_perf_event_output(ctx, &events, BPF_F_CURRENT_CPU, &e, sizeof(e));
	return 0;`)))
	c.call(7, 1, "perf")
	equalLines(t, "events", c.events(), []string{`events: event {a = 7, mood = LOUD, text = "perf"}, lost 0`})
}

func bpfcSet(t *T) {
	spec := compile(t, callProgram(`
const volatile long limit = 10;
long over;`, `
	if (a > limit)
		over++;
	return 0;`))
	t.Must(run.Set(spec, "limit", "2"))
	wantError(t, "a variable that is not there", run.Set(spec, "limits", "2"), run.ErrNoVariable)
	c := startCaller(t, spec)
	for a := range int64(5) {
		c.call(a, 0, "")
	}
	c.expect("over = 2")
}

func bpfcCORE(t *T) {
	spec := compile(t, strings.Replace(callProgram(`
int pid, parent, threads_alike, here, nowhere;
struct task_struct___other { int no_such_field; } __attribute__((preserve_access_index));`, `
	struct task_struct *task = (void *)bpf_get_current_task();
	pid = BPF_CORE_READ(task, tgid);
	parent = BPF_CORE_READ(task, real_parent, tgid);
	threads_alike = BPF_CORE_READ(task, group_leader, tgid) == pid;
	here = bpf_core_field_exists(task->group_leader);
	nowhere = bpf_core_field_exists(((struct task_struct___other *)task)->no_such_field);
	return 0;`),
		"#include <linux/bpf.h>\n#include <linux/ptrace.h>\n#include <stdbool.h>",
		"#include \"vmlinux.h\"\n#include <bpf/bpf_core_read.h>", 1))
	c := startCaller(t, spec)
	c.call(0, 0, "")
	c.expect("here = 1", "nowhere = 0", fmt.Sprintf("parent = %d", os.Getppid()), fmt.Sprintf("pid = %d", os.Getpid()), "threads_alike = 1")
}

func bpfcRawTracepoint(t *T) {
	spec := compile(t, callHeader+`
const volatile int pid;
const volatile long magic;
long calls;
SEC("raw_tp/sys_enter") int on_enter(struct bpf_raw_tracepoint_args *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 == pid && ctx->args[1] == magic)
		__sync_fetch_and_add(&calls, 1);
	return 0;
}`)
	t.Must(run.Set(spec, "pid", fmt.Sprint(os.Getpid())))
	t.Must(run.Set(spec, "magic", fmt.Sprint(unusedCall)))
	c := startCaller(t, spec)
	for range 3 {
		unusedSyscall()
	}
	c.expect("calls = 3")
}

func bpfcObject(t *T) {
	text := callProgram("long sum;", "sum += a * b; return 0;")
	object, err := bpfc.CompileELF(t.ctx, source(text), programFile, nil)
	t.Must(err)
	again, err := bpfc.CompileELF(t.ctx, source(text), programFile, nil)
	t.Must(err)
	equal(t, "the same text gives the same object", bytes.Equal(object, again), true)
	spec, err := usdt.LoadCollectionSpecFromReader(bytes.NewReader(object))
	t.Must(err)
	c := startCaller(t, spec)
	c.call(6, 7, "")
	c.expect("sum = 42")
}

func bpfcMistake(t *T) {
	for _, row := range []struct {
		body      string
		line, col int // a column of 0 is any
	}{
		{"\n\treturn nobody;", 2, 9},
		{"\n\treturn a +;", 2, 12},
		{"\n\tdouble d = a;\n\treturn d;", 2, 0}, // BPF has no floats
	} {
		// Lines are counted from the brace on.
		text := "typedef int i; int f(long a) {" + row.body + "\n}\n"
		_, err := bpfc.Compile(t.ctx, source(text), programFile, &bpfc.Options{KernelBTF: []byte{}})
		var d *bpfc.Diagnostic
		if !errors.As(err, &d) {
			t.Errorf("%q: got error %v, want a %T", row.body, err, d)
			continue
		}
		equal(t, fmt.Sprintf("file of %q", row.body), d.File, programFile)
		equal(t, fmt.Sprintf("line of %q (%s)", row.body, d.Msg), d.Line, row.line)
		if row.col > 0 {
			equal(t, fmt.Sprintf("column of %q (%s)", row.body, d.Msg), d.Col, row.col)
		}
	}
}

func bpfcRefusal(t *T) {
	text := callProgram(`
struct {
	__uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 16);
	__type(key, long); __type(value, long);
} counts SEC(".maps");`, `
	long *n = bpf_map_lookup_elem(&counts, &a);
	*n += 1; /* which may be NULL */
	return 0;`)
	spec := compile(t, text)
	s, err := run.New(spec, nil)
	if err == nil {
		s.Close()
		t.Fatalf("the kernel takes a program that follows a NULL pointer")
	}
	err = bpfc.Explain(spec, err)
	var refused *bpfc.VerifierError
	if !errors.As(err, &refused) {
		t.Fatalf("got error %v, want a %T", err, refused)
	}
	line := 1 + strings.Count(text[:strings.Index(text, "*n += 1")], "\n")
	equal(t, "line of the refusal ("+refused.Msg+")", refused.Line, line)
	equal(t, "program", refused.Program, "on_call")
}
