package front

import (
	"reflect"
	"testing"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

func TestParseUnroll(t *testing.T) {
	for _, r := range []struct {
		pragma string
		n      int
		ok     bool
	}{
		{"unroll", ir.UnrollFull, true},
		{"unroll 4", 4, true},
		{"unroll(8)", 8, true},
		{"nounroll", 1, true},
		{"GCC unroll 3", 3, true},
		{"clang loop unroll(full)", ir.UnrollFull, true},
		{"clang loop unroll(enable)", ir.UnrollFull, true},
		{"clang loop unroll(disable)", 1, true},
		{"clang loop unroll_count(16)", 16, true},
		{"clang loop vectorize(enable)", 0, false},
		{"unroll(N)", 0, false}, // a macro: it is left to the optimizer
		{"once", 0, false},
		{"", 0, false},
	} {
		if n, ok := parseUnroll(r.pragma); n != r.n || ok != r.ok {
			t.Errorf("#pragma %s: got %d, %v, want %d, %v", r.pragma, n, ok, r.n, r.ok)
		}
	}
}

func TestBitPieces(t *testing.T) {
	for _, r := range []struct {
		bit, bits, size int
		want            []bitPiece
	}{
		{0, 3, 4, []bitPiece{{off: 0, size: 1, shift: 0, bits: 3}}},
		{3, 5, 4, []bitPiece{{off: 0, size: 1, shift: 3, bits: 5}}},
		{6, 5, 4, []bitPiece{{off: 0, size: 2, shift: 6, bits: 5}}},
		{20, 10, 4, []bitPiece{{off: 2, size: 2, shift: 4, bits: 10}}},
		{12, 10, 4, []bitPiece{{off: 0, size: 4, shift: 12, bits: 10}}},
		{32, 40, 16, []bitPiece{{off: 4, size: 1, shift: 0, low: 0, bits: 8}, {off: 5, size: 1, low: 8, bits: 8},
			{off: 6, size: 1, low: 16, bits: 8}, {off: 7, size: 1, low: 24, bits: 8}, {off: 8, size: 1, low: 32, bits: 8}}},
		{64, 40, 16, []bitPiece{{off: 8, size: 8, shift: 0, bits: 40}}},
		// A word that is longer than the struct is not touched.
		{4, 8, 2, []bitPiece{{off: 0, size: 2, shift: 4, bits: 8}}},
		{12, 10, 3, []bitPiece{{off: 1, size: 1, shift: 4, low: 0, bits: 4}, {off: 2, size: 1, low: 4, bits: 6}}},
	} {
		if got := bitPieces(r.bit, r.bits, r.size); !reflect.DeepEqual(got, r.want) {
			t.Errorf("%d bits from bit %d of %d bytes:\n got %+v\nwant %+v", r.bits, r.bit, r.size, got, r.want)
		}
	}
}

// What is sent through a map is known by its type, wherever that shows.
func TestEvents(t *testing.T) {
	m := mustTranslate(t, `
static void *(*bpf_ringbuf_reserve)(void *, unsigned long, unsigned long) = (void *)131;
static long (*bpf_ringbuf_output)(void *, void *, unsigned long, unsigned long) = (void *)130;
static long (*bpf_perf_event_output)(void *, void *, unsigned long, void *, unsigned long) = (void *)25;
#define RINGBUF struct { int (*type)[27]; int (*max_entries)[4096]; }
RINGBUF declared __attribute__((section(".maps"), used)), assigned __attribute__((section(".maps"), used)),
	cast __attribute__((section(".maps"), used)), output __attribute__((section(".maps"), used)),
	perf __attribute__((section(".maps"), used)), bytes __attribute__((section(".maps"), used));
struct a { int x; }; struct b { int x; }; struct c { int x; }; struct d { int x; }; struct e { int x; };
int f(void *ctx)
{
	struct a *a = bpf_ringbuf_reserve(&declared, sizeof *a, 0);
	struct b *b;
	if (!(b = bpf_ringbuf_reserve(&assigned, sizeof *b, 0)))
		return !a;
	((struct c *)bpf_ringbuf_reserve(&cast, sizeof(struct c), 0))->x = 1;
	struct d d = { 1 };
	bpf_ringbuf_output(&output, &d, sizeof d, 0);
	bpf_ringbuf_output(&output, (void *)&d, sizeof d, 0);
	struct e e = { 1 };
	bpf_perf_event_output(ctx, &perf, 0, &e, sizeof e);
	char text[8] = "bytes";
	bpf_ringbuf_output(&bytes, text, sizeof text, 0);
	return 0;
}`)
	want := map[string][]string{
		"declared": {"a"}, "assigned": {"b"}, "cast": {"c"}, "output": {"d"}, "perf": {"e"}, "bytes": nil,
	}
	for _, g := range m.Globals {
		names, ok := want[g.Name]
		if !ok {
			continue
		}
		var got []string
		for _, e := range g.Events {
			got = append(got, e.TypeName())
		}
		if !reflect.DeepEqual(got, names) {
			t.Errorf("%s: got %q, want %q", g.Name, got, names)
		}
	}
}
