package run_test

import (
	"context"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/nopfire/nopfire/bpfside/bpfc"
	"github.com/nopfire/nopfire/bpfside/btfvalue"
	"github.com/nopfire/nopfire/bpfside/run"
	"github.com/nopfire/nopfire/internal/testutils"
)

// program counts and reports the calls of getppid of one thread.
const program = `
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

struct call { u64 n; char comm[16]; };
struct last { u32 n; };

struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 4096); } ring SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY); } perf SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 8);
	__type(key, u32); __type(value, u64);
} odd SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); __uint(max_entries, 4);
	__type(key, u32); __type(value, u64);
} percpu SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE); __uint(max_entries, 4);
	__uint(key_size, 4); __uint(value_size, 8);
} stacks SEC(".maps");

const volatile int tid;
const volatile long call_nr = -1;
enum mode { QUIET, LOUD } mode = QUIET;
u64 calls;
static const u64 unset;

SEC("raw_tp/sys_enter")
int on_enter(struct bpf_raw_tracepoint_args *ctx)
{
	u32 two = 2, key;
	u64 *n, one = 1;

	if ((int)bpf_get_current_pid_tgid() != tid || ctx->args[1] != call_nr)
		return 0;
	calls++;
	n = bpf_map_lookup_elem(&percpu, &two);
	if (n)
		(*n)++;
	if (calls & 1) {
		key = calls;
		bpf_map_update_elem(&odd, &key, &one, BPF_ANY);
	}
	struct call *c = bpf_ringbuf_reserve(&ring, sizeof(*c), 0);
	if (c) {
		c->n = calls;
		bpf_get_current_comm(c->comm, sizeof(c->comm));
		bpf_ringbuf_submit(c, 0);
	}
	struct last l = { .n = calls };
	bpf_perf_event_output(ctx, &perf, BPF_F_CURRENT_CPU, &l, sizeof(l));
	if (mode == LOUD)
		bpf_printk("call %llu: a line", calls);
	return 0;
}

SEC("xdp") int never(struct xdp_md *ctx) { return XDP_PASS; }

char LICENSE[] SEC("license") = "GPL";
`

// compileForThread compiles the program for the calls of the calling thread.
func compileForThread(t *testing.T) *ebpf.CollectionSpec {
	t.Helper()
	spec, err := bpfc.Compile(t.Context(), fstest.MapFS{"p.bpf.c": {Data: []byte(program)}}, "p.bpf.c", nil)
	if err != nil {
		t.Fatal(err)
	}
	set(t, spec, "tid", itoa(unix.Gettid()))
	set(t, spec, "call_nr", itoa(unix.SYS_GETPPID))
	return spec
}

func set(t *testing.T, spec *ebpf.CollectionSpec, name, value string) {
	t.Helper()
	if err := run.Set(spec, name, value); err != nil {
		t.Fatal(err)
	}
}

// What programs send and leave is what they were made to, through every way.
func TestSession(t *testing.T) {
	testutils.NeedBPF(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	spec := compileForThread(t)
	set(t, spec, "mode", "LOUD")
	s, err := run.New(spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Attach(); err != nil {
		t.Fatal(err)
	}
	if got := s.Programs(); !slices.Equal(got, []string{"on_enter"}) {
		t.Errorf("attached %v", got)
	}
	if p := s.Problems(); len(p) != 1 || !strings.Contains(p[0].Error(), `program never, section "xdp", is not attached`) {
		t.Errorf("problems %v", p)
	}
	const calls = 5
	for range calls {
		unix.Getppid()
	}
	got := make(map[string][]string)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	for ev, err := range s.Events(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Lost != 0 {
			t.Errorf("%d lost", ev.Lost)
		}
		if ev.Map == "" && (ev.PID != unix.Gettid() || ev.CPU < 0 || ev.Time == "") {
			t.Errorf("a line of %+v", ev)
		}
		got[ev.Map] = append(got[ev.Map], ev.Type+" "+btfvalue.String(ev.Value, false))
	}
	comm := `"` + commOf(t) + `"`
	want := map[string][]string{}
	for i := range calls {
		n := itoa(i + 1)
		want["ring"] = append(want["ring"], "call {n = "+n+", comm = "+comm+"}")
		want["perf"] = append(want["perf"], "last {n = "+n+"}")
		want[""] = append(want[""], ` "call `+n+`: a line"`)
	}
	slices.Sort(got["perf"]) // each CPU has a buffer
	slices.Sort(got[""])
	for name := range want {
		if !slices.Equal(got[name], want[name]) {
			t.Errorf("%q: %q, want %q", name, got[name], want[name])
		}
	}
	// It is detached: nothing is counted any more.
	unix.Getppid()
	var lines []string
	for _, table := range s.Snapshot() {
		if table.Err != nil {
			t.Error(table.Name, table.Err)
		}
		for _, e := range table.Entries {
			lines = append(lines, table.Name+" "+btfvalue.String(e.Key, false)+" "+btfvalue.String(e.Value, false))
		}
	}
	if want := []string{`.bss "calls" 5`, `.bss "mode" LOUD`, "odd 1 1", "odd 3 1", "odd 5 1", "percpu 2 5"}; !slices.Equal(lines, want) &&
		!slices.Equal(lines, append([]string{`.bss "calls" 5`, `.data "mode" LOUD`}, want[2:]...)) {
		t.Errorf("left behind %q", lines)
	}
}

// A caller that breaks off ends the session without a leak of goroutines or of the
// instance of tracefs.
func TestEventsBreak(t *testing.T) {
	testutils.NeedBPF(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	spec := compileForThread(t)
	before := runtime.NumGoroutine()
	s, err := run.New(spec, &run.Options{NoPrintk: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Attach(); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		unix.Getppid()
	}
	n := 0
	for _, err := range s.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 3 {
			break
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

func commOf(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/thread-self/comm")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}
