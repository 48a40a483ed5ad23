package selftest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/emit"
	"github.com/nopfire/nopfire/urdt"
	"github.com/nopfire/nopfire/urdt/abi"
)

// urdtChecks are about tracepoints of any name at any time, in the terms of the RFC
// "libbpf Userspace Runtime-Defined Tracing" and of docs/urdt-spec.md. Names are those
// of this process, which uses whatever object Scope finds; the checks that are about
// the object have processes of their own.
var urdtChecks = []Check{
	{Name: "hashes are those of the contract", run: urdtHashes},
	{Name: "a call by name fires", Needs: traces, run: urdtByName},
	{Name: "a handle fires", Needs: traces, run: urdtHandle},
	{Name: "no argument and eleven arguments are exact", Needs: traces, run: urdtArities},
	{Name: "the number of arguments belongs to the name", Needs: traces, run: urdtArityIsName},
	{Name: "names of one shard do not mix", Needs: traces, run: urdtOneShard},
	{Name: "names of one hash do not mix", Needs: traces, run: urdtOneHash},
	{Name: "enabled follows the tracer", Needs: traces, run: urdtEnabled},
	{Name: "an untraced shard pays nothing", Needs: traces, run: urdtOtherShard},
	{Name: "types of a registered name reach the tracer", Needs: traces, run: urdtRegistered},
	{Name: "two handles of one hash are refused", Needs: Fires, run: urdtCollision},
	{Name: "RFC basic, attached by hand with a cookie", Needs: traces, run: urdtBasic},
	{Name: "RFC three arguments by section name, and not the neighbour's", Needs: traces, run: urdtThree},
	{Name: "RFC eleven arguments by section name", Needs: traces, run: urdtEleven},
	{Name: "lean programs take marked objects alone", Needs: traces, run: urdtLean},
	{Name: "an unmarked object is traced at all its sites", Needs: traces, run: urdtUnmarked},
	{Name: "shared", Needs: traces | MapsFiles, run: urdtShared},
	{Name: "one process among those that share", Needs: traces | MapsFiles, run: urdtOneProcess},
	{Name: "an object that others can write is not used", Needs: Fires | MapsFiles, run: urdtUntrusted},
	{Name: "every process makes the same library", Needs: Fires, run: urdtLibrary},
}

func urdtHashes(t *T) {
	for _, row := range []struct {
		provider, name string
		hash, hash2    uint32
	}{
		{"", "", 0, 0x050c5d1f},
		{"a", "b", 0xc21, 0x10f3abd2}, // 97*31 + 98
		{"app", "request", 0x2197014e, 0x348ca41d},
		{"dyn", "urdt3", 0x5722b30d, 0x86c9a5bc},
	} {
		equal(t, "hash of "+row.provider+":"+row.name, abi.Hash(row.provider, row.name), row.hash)
		equal(t, "second hash of "+row.provider+":"+row.name, abi.Hash2(row.provider, row.name), row.hash2)
	}
	// Without a separator, the first hash cannot tell these; the second one can.
	equal(t, "hash of ab:c and a:bc", abi.Hash("ab", "c"), abi.Hash("a", "bc"))
	if abi.Hash2("ab", "c") == abi.Hash2("a", "bc") {
		t.Errorf("ab:c and a:bc have the same second hash")
	}
	// C's char is signed on x86, and so it is in the contract.
	equal(t, "hash of a byte above 0x7f", abi.Hash("\xff", ""), ^uint32(0))
	equal(t, "shard of hash 0", abi.Shard(0, abi.Shards), 0)
}

// traceURDT traces names of URDT in this process. Its object is opened before, since
// a tracer attaches to what is there: one that appears later it takes in a moment
// later.
func traceURDT(t *T, names ...string) *tracer {
	urdt.Scope()
	for i, name := range names {
		names[i] = abi.Provider + ":" + name
	}
	return traceSelf(t, names...)
}

func urdtByName(t *T) {
	tr := traceURDT(t, "selftest:byname/2")
	urdt.Probe2(provider, "byname", 7, -8)
	urdt.Probe2(provider, "byname", int64(-1)<<63, true)
	tr.expect("selftest:byname arg1=7 arg2=-8", "selftest:byname arg1=-9223372036854775808 arg2=1")
}

func urdtHandle(t *T) {
	h, err := urdt.New2[int, string](provider, "handle")
	t.Must(err)
	tr := traceQuery(t, trace.Query{
		PID:     os.Getpid(),
		Clauses: []trace.Clause{{Pattern: "urdt:selftest:handle/2"}},
		Options: &trace.Options{Strings: []string{"arg2"}},
	})
	h.Fire(1, "one")
	h.FireFunc(func() (int, string) { return 2, "zwei – 二" })
	tr.expect(`selftest:handle arg1=1 arg2="one"`, `selftest:handle arg1=2 arg2="zwei – 二"`)
}

func urdtArities(t *T) {
	tr := traceURDT(t, "selftest:none/0", "selftest:eleven/11")
	urdt.Probe0(provider, "none")
	urdt.Probe11(provider, "eleven", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
	tr.expect("selftest:none",
		"selftest:eleven arg1=1 arg2=2 arg3=3 arg4=4 arg5=5 arg6=6 arg7=7 arg8=8 arg9=9 arg10=10 arg11=11")
}

func urdtArityIsName(t *T) {
	tr := traceURDT(t, "selftest:arity/2")
	urdt.Probe1(provider, "arity", 1)
	urdt.Probe2(provider, "arity", 1, 2)
	urdt.Probe3(provider, "arity", 1, 2, 3)
	tr.expect("selftest:arity arg1=1 arg2=2")
}

// neighbour returns a name that fires, or does not, at the shard of another.
func neighbour(name string, sameShard bool) string {
	shard := func(name string) int { return abi.Shard(abi.Hash(provider, name), abi.Shards) }
	for i := 0; ; i++ {
		if other := fmt.Sprintf("%s_%d", name, i); (shard(other) == shard(name)) == sameShard {
			return other
		}
	}
}

func urdtOneShard(t *T) {
	other := neighbour("shard", true)
	tr := traceURDT(t, "selftest:shard/1")
	equal(t, "the neighbour looks traced, as documented", urdt.Enabled(provider, other, 1), true)
	urdt.Probe1(provider, other, 1)
	urdt.Probe1(provider, "shard", 2)
	urdt.Probe1(provider, other, 3)
	tr.expect("selftest:shard arg1=2")
}

func urdtOneHash(t *T) {
	equal(t, "hash of Aa and BB", abi.Hash(provider, "Aa"), abi.Hash(provider, "BB"))
	tr := traceURDT(t, "selftest:Aa/1")
	urdt.Probe1(provider, "BB", 1)
	urdt.Probe1(provider, "Aa", 2)
	tr.expect("selftest:Aa arg1=2")
}

func urdtEnabled(t *T) {
	h, err := urdt.New1[int](provider, "watched")
	t.Must(err)
	t.Untraced("a name that nobody has asked for", h.Enabled)
	tr := traceURDT(t, "selftest:watched/1")
	equal(t, "enabled with a tracer", h.Enabled(), true)
	equal(t, "enabled by name with a tracer", urdt.Enabled(provider, "watched", 1), true)
	t.Must(tr.Close())
	t.Untraced("the name, after the tracer,", h.Enabled)
}

func urdtOtherShard(t *T) {
	other := neighbour("alone", false)
	traceURDT(t, "selftest:alone/1")
	t.Untraced("a name of another shard", func() bool { return urdt.Enabled(provider, other, 1) })
	t.Untraced("another number of arguments", func() bool { return urdt.Enabled(provider, "alone", 2) })
}

func urdtRegistered(t *T) {
	h, err := urdt.New3[time.Duration, string, bool](provider, "typed")
	t.Must(err)
	registered, _ := usdt.RegisteredNames(os.Getpid())
	i := slices.IndexFunc(registered, func(r usdt.Registered) bool { return r.Provider == provider && r.Name == "typed" })
	if i < 0 {
		t.Fatalf("selftest:typed is not among the %d registered names", len(registered))
	}
	var types []string
	for _, p := range registered[i].Params {
		types = append(types, trace.TypeName(p))
	}
	equalLines(t, "registered types", types, []string{"time.Duration", "string", "bool"})
	tr := traceURDT(t, "selftest:typed/3")
	h.Fire(time.Second, "text", true)
	equal(t, "number of events", len(tr.gather()), 1)
}

func urdtCollision(t *T) {
	_, err := urdt.New4[int, int, int, int](provider, "FrAa")
	t.Must(err)
	h, err := urdt.New4[int, int, int, int](provider, "FrBB")
	var collision *urdt.CollisionError
	if !errors.As(err, &collision) {
		t.Fatalf("the second name: got error %v, want a %T", err, collision)
	}
	equal(t, "the names", []string{collision.Name, collision.Other}, []string{"selftest:FrBB", "selftest:FrAa"})
	h.Fire(1, 2, 3, 4)
	equal(t, "the refused handle is enabled", h.Enabled(), false)
	if _, err := urdt.New5[int, int, int, int, int](provider, "FrBB"); err != nil {
		t.Errorf("with another number of arguments: %v", err)
	}
}

// urdtProgram begins the programs for URDT: with LEAN they read registers, else the
// map of usdt.bpf.h.
const urdtProgram = `
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#ifdef LEAN
#define URDT_LEAN
#endif
#include "urdt.bpf.h"
char LICENSE[] SEC("license") = "GPL";
`

func urdtBasic(t *T) {
	c := load(t, urdtProgram+`
__u64 hits, cookie;
__s64 count, code, value;
SEC("urdt") int basic(struct pt_regs *ctx)
{
	long x = 1;
	if (!bpf_urdt_match(ctx))
		return 0;
	__sync_fetch_and_add(&hits, 1);
	cookie = bpf_urdt_cookie(ctx);
	count = bpf_urdt_arg_cnt(ctx);
	code = bpf_urdt_arg(ctx, bpf_get_prandom_u32(), &x);
	value = x;
	return 0;
}`)
	urdt.Probe0(provider, "basic") // opens the object, and is seen by nobody
	l, err := c.AttachURDT(c.Programs["basic"], provider, "basic", &usdt.URDTOptions{Cookie: 0xcafedead, Path: "/proc/self/exe"})
	t.Must(err)
	closeLater(t, l)
	urdt.Probe0(provider, "basic")
	equal(t, "hits", variable[uint64](t, c, "hits"), uint64(1))
	equal(t, "cookie", variable[uint64](t, c, "cookie"), uint64(0xcafedead))
	equal(t, "number of arguments", variable[int64](t, c, "count"), int64(0))
	equal(t, "an argument that is not there", variable[int64](t, c, "code"), int64(-2)) // -ENOENT
	equal(t, "its value", variable[int64](t, c, "value"), int64(0))
}

// attachSections attaches the programs of a collection by their sections, to this
// process.
func attachSections(t *T, c *usdt.Collection) {
	a, err := c.AutoAttach(&usdt.AutoOptions{PID: os.Getpid()})
	t.Must(err)
	closeLater(t, a)
	if len(a.Left) > 0 || len(a.Problems) > 0 {
		t.Fatalf("not attached: %v, problems: %v", a.Left, a.Problems)
	}
}

func urdtThree(t *T) {
	c := load(t, urdtProgram+`
__u64 hits, alt;
__s64 args[3];
SEC("urdt//proc/self/exe:3:selftest:urdt3")
int BPF_URDT(on_three, int x, unsigned long y, const long *z)
{
	__sync_fetch_and_add(&hits, 1);
	args[0] = x; args[1] = y; args[2] = (long)z;
	return bpf_urdt_cookie(ctx) == 0;
}
SEC("urdt//proc/self/exe:3:selftest:urdt3alt")
int BPF_URDT(on_alt, long x, long y, long z)
{
	__sync_fetch_and_add(&alt, x);
	return 0;
}`)
	urdt.Probe3(provider, "urdt3", 0, 0, 0)
	attachSections(t, c)
	const address = uint64(1)<<46 | 0x42
	urdt.Probe3(provider, "urdt3", 1, 42, address)
	equal(t, "hits", variable[uint64](t, c, "hits"), uint64(1))
	equal(t, "arguments", variable[[3]int64](t, c, "args"), [3]int64{1, 42, int64(address)})
	equal(t, "hits of the neighbour", variable[uint64](t, c, "alt"), uint64(0))
	urdt.Probe3(provider, "urdt3alt", 5, 0, 0)
	equal(t, "hits after the neighbour was fired", variable[uint64](t, c, "hits"), uint64(1))
	equal(t, "hits of the neighbour then", variable[uint64](t, c, "alt"), uint64(5))
}

// elevenProgram notes eleven arguments.
const elevenProgram = urdtProgram + `
__u64 hits;
__s64 args[11];
SEC("urdt/*:11:selftest:urdt11")
int BPF_URDT(on_eleven, long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k)
{
	__sync_fetch_and_add(&hits, 1);
	args[0] = a; args[1] = b; args[2] = c; args[3] = d; args[4] = e; args[5] = f;
	args[6] = g; args[7] = h; args[8] = i; args[9] = j; args[10] = k;
	return 0;
}`

func fireEleven(t *T, c *usdt.Collection) {
	urdt.Probe11(provider, "urdt11", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
	equal(t, "hits", variable[uint64](t, c, "hits"), uint64(1))
	equal(t, "arguments", variable[[11]int64](t, c, "args"), [11]int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
}

func urdtEleven(t *T) {
	urdt.Scope() // the object is to be there
	c := load(t, elevenProgram)
	attachSections(t, c)
	fireEleven(t, c)
}

// unmarkedObject defines urdt:probe2 as a foreign emitter would, in an object without
// the marker: two arguments and the hash, in whatever registers.
func unmarkedObject(t *T) *emit.Probe3[int64, int64, int32] {
	p, err := emit.NewProvider(abi.Provider, nil)
	t.Must(err)
	t.Cleanup(func() { p.Close() })
	return define[*emit.Probe3[int64, int64, int32]](t, p)(emit.NewProbe3[int64, int64, int32](p, abi.SiteName(2), nil))
}

func urdtLean(t *T) {
	urdt.Scope()
	c := load(t, elevenProgram, "LEAN")
	attachSections(t, c)
	fireEleven(t, c)

	p := unmarkedObject(t)
	res, err := usdt.ProcessTargets(os.Getpid(), "urdt:probe2")
	t.Must(err)
	i := slices.IndexFunc(res.Targets, func(target *usdt.Target) bool { return target.Shards == 0 })
	if i < 0 {
		t.Fatalf("the unmarked object is not among %d targets", len(res.Targets))
	}
	lean := load(t, urdtProgram+`
SEC("urdt") int BPF_URDT(on_two, long a, long b) { return 0; }`, "LEAN")
	l, err := lean.AttachURDT(lean.Programs["on_two"], provider, "unmarked", &usdt.URDTOptions{NArgs: 2, Path: res.Targets[i].Open})
	if err == nil {
		l.Close()
	}
	wantError(t, "attach a lean program to an unmarked object", err, usdt.ErrUnmarked)
	t.Untraced("the unmarked site", p.Enabled)
}

func urdtUnmarked(t *T) {
	p := unmarkedObject(t)
	tr := traceURDT(t, "selftest:foreign/2")
	hash := int32(abi.Hash(provider, "foreign"))
	p.Fire(-5, 6, hash)
	p.Fire(7, 8, hash+1) // another name
	tr.expect("selftest:foreign arg1=-5 arg2=6")
}

func urdtShared(t *T) {
	object := sharedObject(t)
	early := startPeer(t, object)
	equal(t, "object of the first process", strings.HasSuffix(early.tell("scope"), " "+object), true)
	tr := traceShared(t, object, 0)
	early.tell("urdt event 1")
	late := startPeer(t, object) // attached to before it was started
	late.tell("urdt event 2")
	var got []string
	for _, ev := range tr.gather() {
		who := map[int]string{early.pid(): "first", late.pid(): "second"}[ev.PID]
		got = append(got, who+" "+ev.String())
	}
	equalLines(t, "events", got, []string{
		`first selftest:event arg1=0 arg2="message 0"`,
		`second selftest:event arg1=0 arg2="message 0"`,
		`second selftest:event arg1=1 arg2="message 1"`,
	})
}

// traceShared traces urdt:selftest:event/2 of the processes, or one of them, that
// share an object.
func traceShared(t *T, object string, pid int) *tracer {
	// A session finds the objects of URDT that processes have mapped: one must have.
	return traceQuery(t, trace.Query{
		PID:     pid,
		Clauses: []trace.Clause{{Pattern: "urdt:selftest:event/2"}},
		Options: &trace.Options{Strings: []string{"arg2"}},
	})
}

func urdtOneProcess(t *T) {
	object := sharedObject(t)
	a, b := startPeer(t, object), startPeer(t, object)
	a.tell("scope")
	b.tell("scope")
	tr := traceShared(t, object, a.pid())
	b.tell("urdt event 3")
	a.tell("urdt event 1")
	tr.expect(`selftest:event arg1=0 arg2="message 0"`)
}

func urdtUntrusted(t *T) {
	object := sharedObject(t)
	t.Must(os.Chmod(object, 0o777))
	scope := startPeer(t, object).tell("scope")
	equal(t, "the object that everybody can write is used", strings.HasSuffix(scope, " "+object), false)
	t.Must(os.Chmod(object, 0o755))
	data, err := os.ReadFile(object)
	t.Must(err)
	data[len(data)/2] ^= 1
	t.Must(os.WriteFile(object, data, 0o755))
	scope = startPeer(t, object).tell("scope")
	equal(t, "the object with another byte is used", strings.HasSuffix(scope, " "+object), false)
}

func urdtLibrary(t *T) {
	object := sharedObject(t)
	dir := t.TempDir()
	status, _, stderr := finish(t, "", "urdt", "install", "--dir", dir)
	if status != 0 {
		t.Fatalf("nopfire urdt install: status %d, %s", status, stderr)
	}
	a, err := os.ReadFile(object)
	t.Must(err)
	b, err := os.ReadFile(dir + "/" + abi.Library)
	t.Must(err)
	equal(t, "same bytes", bytes.Equal(a, b), true)
}
