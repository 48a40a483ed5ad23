//go:build amd64 || arm64

package trace_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/emit"
	"github.com/nopfire/nopfire/internal/testutils"
)

// count starts a session of one counting clause on this process.
func count(t *testing.T, c trace.Clause) *trace.Session {
	t.Helper()
	return start(t, trace.Query{PID: os.Getpid(), Clauses: []trace.Clause{c}})
}

// rows returns the rows of a session.
func rows(t *testing.T, s *trace.Session) []trace.Row {
	t.Helper()
	rows, err := s.Rows()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// lines returns rows as "provider:probe pid KEY… count [min,max]=n …".
func lines(rows []trace.Row) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%s:%s", r.Provider, r.Probe)
		for _, v := range r.Key {
			fmt.Fprintf(&b, " %s=%s", v.Name, v)
		}
		fmt.Fprintf(&b, " %d", r.Count)
		for _, k := range r.Buckets {
			if k.Unsigned {
				fmt.Fprintf(&b, " [%d,%d]=%d", uint64(k.Min), uint64(k.Max), k.Count)
			} else {
				fmt.Fprintf(&b, " [%d,%d]=%d", k.Min, k.Max, k.Count)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestCounts(t *testing.T) {
	testutils.NeedBPF(t)
	s := newShop(t, "counts")
	for _, tt := range []struct {
		name   string
		clause trace.Clause
		want   string
	}{
		{"hits", trace.Clause{}, "counts:sold 10\n"},
		{"some hits", trace.Clause{Where: "n >= 4"}, "counts:sold 6\n"},
		{"no hits", trace.Clause{Where: "n >= 10"}, ""},
		{"by an argument", trace.Clause{Capture: captures("ok")}, "counts:sold ok=false 5\ncounts:sold ok=true 5\n"},
		{"by an expression", trace.Clause{Capture: captures("n / 4")}, "counts:sold n / 4=0 4\ncounts:sold n / 4=1 4\ncounts:sold n / 4=2 2\n"},
		{"by strings", trace.Clause{Capture: captures("msg"), Where: "n > 7"}, `counts:sold msg="msg 8" 1` + "\n" + `counts:sold msg="msg 9" 1` + "\n"},
		{"by several", trace.Clause{Capture: captures("n > 8", "comm", "n % 2"), Where: "n > 6"},
			fmt.Sprintf("counts:sold n > 8=0 comm=%q n %% 2=0 1\ncounts:sold n > 8=0 comm=%[1]q n %% 2=1 1\ncounts:sold n > 8=1 comm=%[1]q n %% 2=1 1\n", testComm(t))},
		{"by a string of Go", trace.Clause{Capture: captures("o->Name"), Where: "n >= 8"},
			"counts:sold o->Name=\"xxxxxxxx\" 1\ncounts:sold o->Name=\"xxxxxxxxx\" 1\n"},
		{"by a float", trace.Clause{Capture: captures("f"), Where: "n < 2"}, "counts:sold f=0 1\ncounts:sold f=0.5 1\n"},
		{"two strings, and the value of a histogram", trace.Clause{Capture: captures("msg", "comm", "msg"), Where: "n == 5", Aggregate: trace.Log2Hist, Value: "n * 2"},
			fmt.Sprintf(`counts:sold msg="msg 5" comm=%q msg="msg 5" 1 [8,15]=1`+"\n", testComm(t))},
		{"a histogram", trace.Clause{Aggregate: trace.Log2Hist, Value: "n"},
			"counts:sold 10 [0,0]=1 [1,1]=1 [2,3]=2 [4,7]=4 [8,15]=2\n"},
		{"a histogram of an expression", trace.Clause{Aggregate: trace.Log2Hist, Value: "n - 5", Capture: captures("ok")},
			"counts:sold ok=false 5 [-9223372036854775808,-1]=2 [0,0]=1 [2,3]=1 [4,7]=1\ncounts:sold ok=true 5 [-9223372036854775808,-1]=3 [1,1]=1 [2,3]=1\n"},
		{"a linear histogram", trace.Clause{Aggregate: trace.LinearHist, Value: "n", Linear: trace.Linear{Min: 1, Max: 8, Step: 3}},
			"counts:sold 10 [-9223372036854775808,0]=1 [1,3]=3 [4,6]=3 [7,7]=1 [8,9223372036854775807]=2\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := tt.clause
			c.Pattern = "counts:*"
			if c.Aggregate == trace.Events {
				c.Aggregate = trace.Count
			}
			ses := count(t, c)
			s.fire()
			if got := lines(rows(t, ses)); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

// model is what a histogram of powers of two is.
func model(values []uint64, signed bool) []trace.Bucket {
	counts := make(map[trace.Bucket]uint64)
	for _, v := range values {
		var b trace.Bucket
		switch n := bits.Len64(v); {
		case signed && int64(v) < 0:
			b = trace.Bucket{Min: math.MinInt64, Max: -1}
		case n == 0:
		case n == 64:
			b = trace.Bucket{Min: math.MinInt64, Max: -1, Unsigned: true}
		default:
			b = trace.Bucket{Min: 1 << (n - 1), Max: int64(1<<n - 1)}
		}
		counts[b]++
	}
	var list []trace.Bucket
	for b, n := range counts {
		b.Count = n
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b trace.Bucket) int {
		if a.Unsigned != b.Unsigned { // above all others
			return map[bool]int{true: 1, false: -1}[a.Unsigned]
		}
		return cmp.Compare(a.Min, b.Min)
	})
	return list
}

// Histograms of values around every power of two, of both signs, are those of a
// model in Go.
func TestHistogramsAreTheModel(t *testing.T) {
	testutils.NeedBPF(t)
	p := provider(t, "model", nil)
	h, err := emit.NewProbe2[int64, uint64](p, "value", &emit.ProbeOptions{Args: []string{"s", "u"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	const lin = 1 << 61
	ses := start(t, trace.Query{PID: os.Getpid(), Clauses: []trace.Clause{
		{Pattern: "model:value", Aggregate: trace.Log2Hist, Value: "s"},
		{Pattern: "model:value", Aggregate: trace.Log2Hist, Value: "u"},
		{Pattern: "model:value", Aggregate: trace.Log2Hist, Value: "u + 0"},
		{Pattern: "model:value", Aggregate: trace.LinearHist, Value: "s", Linear: trace.Linear{Min: -3 * lin, Max: 3 * lin, Step: lin}},
		{Pattern: "model:value", Aggregate: trace.LinearHist, Value: "u", Linear: trace.Linear{Min: lin, Max: 3*lin + 1, Step: lin}},
	}})
	var values []uint64
	for n := range 64 {
		v := uint64(1) << n
		values = append(values, v-1, v, v+1, -v, ^v, v|v>>1)
	}
	for _, v := range values {
		h.Fire(int64(v), v)
	}
	got := rows(t, ses)
	if len(got) != 5 {
		t.Fatalf("%d rows", len(got))
	}
	var signed, unsigned []trace.Bucket
	linear := func(bs []trace.Bucket, in func(b trace.Bucket, v uint64) bool) (out []trace.Bucket) {
		for _, b := range bs {
			for _, v := range values {
				if in(b, v) {
					b.Count++
				}
			}
			if b.Count > 0 {
				out = append(out, b)
			}
		}
		return out
	}
	signed = linear([]trace.Bucket{
		{Min: math.MinInt64, Max: -3*lin - 1}, {Min: -3 * lin, Max: -2*lin - 1}, {Min: -2 * lin, Max: -lin - 1}, {Min: -lin, Max: -1},
		{Min: 0, Max: lin - 1}, {Min: lin, Max: 2*lin - 1}, {Min: 2 * lin, Max: 3*lin - 1}, {Min: 3 * lin, Max: math.MaxInt64},
	}, func(b trace.Bucket, v uint64) bool { return b.Min <= int64(v) && int64(v) <= b.Max })
	unsigned = linear([]trace.Bucket{
		{Min: 0, Max: lin - 1}, {Min: lin, Max: 2*lin - 1}, {Min: 2 * lin, Max: 3*lin - 1}, {Min: 3 * lin, Max: 3 * lin}, {Min: 3*lin + 1, Max: -1, Unsigned: true},
	}, func(b trace.Bucket, v uint64) bool { return uint64(b.Min) <= v && v <= uint64(b.Max) })
	for i, want := range [][]trace.Bucket{model(values, true), model(values, false), model(values, false), signed, unsigned} {
		if diff := gocmp.Diff(want, got[i].Buckets); diff != "" {
			t.Errorf("clause %d (-want +got):\n%s", i, diff)
		}
		if typ := []string{"int64", "uint64", "uint64", "int64", "uint64"}[i]; got[i].ValueType != typ {
			t.Errorf("clause %d: values of type %q, want %q", i, got[i].ValueType, typ)
		}
		if got[i].Count != uint64(len(values)) {
			t.Errorf("clause %d: %d hits of %d", i, got[i].Count, len(values))
		}
	}
}

// Counts are exact over a million hits of four processes, each row has its process,
// also when that has ended.
func TestMillionHitsOfFourProcesses(t *testing.T) {
	testutils.NeedBPF(t)
	const processes, each, keys = 4, 250_000, 100
	var children []*testutils.Child
	for range processes {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFireMany$")
		cmd.Env = append(os.Environ(), "NOPFIRE_TEST_FIRE="+strconv.Itoa(each))
		c := testutils.StartCmd(t, cmd)
		if line := c.ReadLine(); line != "ready" {
			t.Fatalf("child says %q: %s", line, c.Stderr())
		}
		children = append(children, c)
	}
	ses, err := trace.Start(trace.Query{Clauses: []trace.Clause{
		{Pattern: "million:hit", Aggregate: trace.Count, ByProcess: true},
		{Pattern: "million:hit", Aggregate: trace.Count, Capture: captures("key")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer ses.Close()
	for _, p := range ses.Problems() {
		if strings.Contains(p.Error(), "million") { // others are those of this machine's processes
			t.Error(p)
		}
	}
	for _, c := range children {
		c.WriteLine("fire")
	}
	var wg sync.WaitGroup
	for _, c := range children {
		wg.Go(func() {
			if line := c.ReadLine(); line != "fired" {
				t.Errorf("child says %q", line)
			}
			c.CloseInput()
			c.Wait()
		})
	}
	wg.Wait()
	var byProcess, byKey uint64
	for _, r := range rows(t, ses) {
		switch r.Clause {
		case 0:
			byProcess += r.Count
			if r.Count != each || r.Comm == "" || !slices.ContainsFunc(children, func(c *testutils.Child) bool { return c.PID == r.PID }) {
				t.Errorf("process %d (%s) has %d hits, want %d", r.PID, r.Comm, r.Count, each)
			}
		case 1:
			byKey += r.Count
			if r.Count != processes*each/keys {
				t.Errorf("%v has %d hits, want %d", r.Key, r.Count, processes*each/keys)
			}
		}
	}
	if byProcess != processes*each || byKey != processes*each || ses.Lost() != 0 {
		t.Errorf("%d hits by process, %d by key, %d lost, want %d", byProcess, byKey, ses.Lost(), processes*each)
	}
}

// TestFireMany is a child of TestMillionHitsOfFourProcesses.
func TestFireMany(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("NOPFIRE_TEST_FIRE"))
	if err != nil {
		t.Skip("skipped: run by another test")
	}
	p := provider(t, "million", nil)
	h, err := emit.NewProbe1[int](p, "hit", &emit.ProbeOptions{Args: []string{"key"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	fmt.Println("ready")
	var line string
	fmt.Scanln(&line)
	var wg sync.WaitGroup
	for g := range 2 {
		wg.Go(func() {
			for i := range n / 2 {
				h.Fire((g*n/2 + i) % 100)
			}
		})
	}
	wg.Wait()
	fmt.Println("fired")
	fmt.Scanln(&line)
}

// What is no value, or no whole one, is a key of its own.
func TestOddKeys(t *testing.T) {
	testutils.NeedBPF(t)
	p := provider(t, "odd", nil)
	h, err := emit.NewProbe2[uintptr, []byte](p, "key", &emit.ProbeOptions{Args: []string{"p", "data"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	ses := start(t, trace.Query{PID: os.Getpid(), Options: &trace.Options{MaxString: 8}, Clauses: []trace.Clause{
		{Pattern: "odd:key", Aggregate: trace.Count, Capture: []trace.Capture{{Expr: "p", String: true}}},
		{Pattern: "odd:key", Aggregate: trace.Count, Capture: captures("data")},
	}})
	var kept []*byte
	c := func(s string) uintptr {
		kept = append(kept, unsafe.StringData(s+"\x00"))
		return uintptr(unsafe.Pointer(kept[len(kept)-1]))
	}
	h.Fire(0, nil)
	h.Fire(0, []byte{})
	h.Fire(16, []byte{0})
	h.Fire(24, []byte{0, 0})
	h.Fire(c(""), []byte("12345678"))
	h.Fire(c("12345678"), []byte("123456789"))
	h.Fire(c("123456789"), []byte("123456789"))
	h.Fire(c("123456780"), []byte("1234567"))
	runtime.KeepAlive(kept)
	want := `odd:key p=!(read string: bad address) 2
odd:key p="" 1
odd:key p="12345678" 1
odd:key p="12345678"… 2
odd:key p=<nil> 2
odd:key data="" 2
odd:key data="1234567" 1
odd:key data="12345678" 1
odd:key data="12345678"… 2
odd:key data="\x00" 1
odd:key data="\x00\x00" 1
`
	if got := lines(rows(t, ses)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Hits of more keys than there is room for are lost, which is told; those of known
// keys count on.
func TestTooManyKeys(t *testing.T) {
	testutils.NeedBPF(t)
	s := newShop(t, "full")
	ses := start(t, trace.Query{PID: os.Getpid(), Options: &trace.Options{MaxKeys: 4}, Clauses: []trace.Clause{
		{Pattern: "full:sold", Aggregate: trace.Count, Capture: captures("n")},
		{Pattern: "full:sold", Aggregate: trace.Count, Capture: captures("n / 3")}, // has room of its own
	}})
	s.fire()
	s.fire()
	events, errs := drainAll(ses)
	var lost *trace.LostError
	if len(events) != 0 || len(errs) != 1 || !errors.As(errs[0], &lost) || *lost != (trace.LostError{Count: 12, Reason: trace.TooManyKeys}) {
		t.Errorf("events %v, errors %v", events, errs)
	}
	if ses.Lost() != 12 {
		t.Errorf("%d lost", ses.Lost())
	}
	if got, want := lines(rows(t, ses)), "full:sold n=0 2\nfull:sold n=1 2\nfull:sold n=2 2\nfull:sold n=3 2\n"+
		"full:sold n / 3=0 6\nfull:sold n / 3=1 6\nfull:sold n / 3=2 6\nfull:sold n / 3=3 2\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Losses are told while a session counts, Close ends it while others count, and then
// there are no rows.
func TestCloseWhileCounting(t *testing.T) {
	testutils.NeedBPF(t)
	s := newShop(t, "closing")
	ses, err := trace.Start(trace.Query{PID: os.Getpid(), Options: &trace.Options{MaxKeys: 1}, Clauses: []trace.Clause{
		{Pattern: "closing:sold", Aggregate: trace.Count, Capture: captures("n")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				s.fire()
			}
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	told := false
	for _, err := range ses.Events(ctx) {
		var lost *trace.LostError
		if !errors.As(err, &lost) || lost.Reason != trace.TooManyKeys {
			t.Errorf("error %v", err)
		}
		told = true
		break
	}
	if !told {
		t.Error("no loss was told")
	}
	if err := ses.Close(); err != nil {
		t.Error(err)
	}
	close(stop)
	wg.Wait()
	if rows, err := ses.Rows(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("rows %v, error %v after Close", rows, err)
	}
}
