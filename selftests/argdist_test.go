//go:build linux && amd64

package selftests

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf/link"
	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/internal/testutils"
)

// A distribution is how many values lie in each bucket that is not empty. The name
// of a bucket is its bounds, both included, "MIN..MAX"; the bound of one that is
// open is not there.
type distribution map[string]uint64

// A jsonBucket is a bucket as bpftrace and nopfire write them.
type jsonBucket struct {
	Min, Max *int64
	Count    uint64
}

func distributionOf(buckets []jsonBucket) distribution {
	bound := func(b *int64) string {
		if b == nil {
			return ""
		}
		return strconv.FormatInt(*b, 10)
	}
	d := make(distribution)
	for _, b := range buckets {
		if b.Count != 0 {
			d[bound(b.Min)+".."+bound(b.Max)] += b.Count
		}
	}
	return d
}

// remainingLines returns what a child prints until it ends.
func remainingLines(t *testing.T, c *testutils.Child) (lines []string) {
	t.Helper()
	for {
		line, err := c.TryReadLine(time.Minute)
		if err != nil {
			break
		}
		lines = append(lines, line)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("%v: %v\n%s", c.Cmd, err, c.Stderr())
	}
	return lines
}

// waitLinks waits until nopfire's links in a file are as many.
func waitLinks(t *testing.T, path string, want int) {
	t.Helper()
	file, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, fmt.Sprintf("%d links in %s", want, path), func() bool {
		n := 0
		it := new(link.Iterator)
		defer it.Close()
		for it.Next() {
			info, err := it.Link.Info()
			if err != nil || info.UprobeMulti() == nil {
				continue
			}
			if st, err := os.Stat(info.UprobeMulti().File); err == nil && os.SameFile(st, file) {
				n++
			}
		}
		return n == want
	})
}

// An argdist is a running nopfire argdist whose output is JSON. It has one SPEC, so
// one link.
type argdist struct {
	*testutils.Child
	spec string
}

func startArgdist(t *testing.T, nopfire string, pid int, args ...string) *argdist {
	t.Helper()
	args = append([]string{"argdist", "-p", fmt.Sprint(pid), "--json"}, args...)
	return &argdist{testutils.Start(t, nopfire, args...), args[len(args)-1]}
}

// A countRow is a line of nopfire argdist --json or nopfire count --json.
type countRow struct {
	Kind    string
	PID     int
	Key     []struct{ Value any }
	Count   uint64
	Buckets []jsonBucket
}

// rowsOf interrupts a command and returns what it has counted.
func rowsOf(t *testing.T, c *testutils.Child) (rows []countRow) {
	t.Helper()
	if err := c.Cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for _, line := range remainingLines(t, c) {
		var row countRow
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		rows = append(rows, row)
	}
	return rows
}

// histogram returns the one histogram of a command.
func (a *argdist) histogram(t *testing.T) distribution {
	t.Helper()
	rows := rowsOf(t, a.Child)
	if len(rows) != 1 || rows[0].Kind != "histogram" {
		t.Fatalf("%s: %+v, want one histogram", a.spec, rows)
	}
	d := distributionOf(rows[0].Buckets)
	var sum uint64
	for _, n := range d {
		sum += n
	}
	if sum != rows[0].Count {
		t.Errorf("%s: the buckets have %d values, count is %d", a.spec, sum, rows[0].Count)
	}
	return d
}

// counts returns the counts of a command by the one value of the key.
func (a *argdist) counts(t *testing.T) map[string]uint64 {
	t.Helper()
	counts := make(map[string]uint64)
	for _, row := range rowsOf(t, a.Child) {
		if row.Kind != "count" || len(row.Key) != 1 {
			t.Fatalf("%s: %+v, want a count by one value", a.spec, row)
		}
		counts[fmt.Sprint(row.Key[0].Value)] += row.Count
	}
	return counts
}

// bpftraceMaps returns the maps by name that bpftrace prints at its end: histograms
// and counts.
func bpftraceMaps(t *testing.T, lines []string) (hists map[string]distribution, counts map[string]map[string]uint64) {
	t.Helper()
	hists, counts = make(map[string]distribution), make(map[string]map[string]uint64)
	for _, line := range lines {
		if line == "" {
			continue
		}
		var entry struct {
			Type string
			Data json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("bpftrace prints %q: %v", line, err)
		}
		var err error
		switch entry.Type {
		case "hist", "lhist":
			var data map[string][]jsonBucket
			err = json.Unmarshal(entry.Data, &data)
			for name, buckets := range data {
				hists[name] = distributionOf(buckets)
			}
		case "map":
			var data map[string]map[string]uint64
			err = json.Unmarshal(entry.Data, &data)
			maps.Copy(counts, data)
		}
		if err != nil {
			t.Fatalf("bpftrace prints %q: %v", line, err)
		}
	}
	return hists, counts
}

// TestArgdistAgreesWithBpftrace looks at the same hits with both: histograms by
// powers of two of signed and unsigned values, a linear one, and counts. (The linear
// one ends where a bucket does: bpftrace 0.17 has no short last bucket, and puts
// what belongs into it with what is larger than all.)
func TestArgdistAgreesWithBpftrace(t *testing.T) {
	testutils.NeedBPF(t)
	bpftrace := testutils.Oracle(t, "bpftrace")
	nopfire := nopfirePath(t)
	s := startSeed(t)

	// Hits of these values are signs to bpftrace and are not counted. Its integers
	// are of 64 bits, so it has to be told that the argument is an int.
	const sign, end = -1000, -2000
	script := fmt.Sprintf(`usdt:%s:seed:value {
		$small = (int32)arg0;
		if ($small == %d) { printf("attached\n"); }
		else if ($small == %d) { exit(); }
		else {
			@small = hist($small);
			@large = hist(arg1);
			@linear = lhist($small, 0, 80, 10);
			@count[$small] = count();
		}
	}`, s.lib, sign, end)
	tracer := testutils.Start(t, bpftrace, "-f", "json", "-B", "line", "-p", fmt.Sprint(s.PID), "-e", script)
	if line := tracer.ReadLine(); !strings.Contains(line, "attached_probes") {
		t.Fatalf("bpftrace says %q\n%s", line, tracer.Stderr())
	}
	for line := ""; !strings.Contains(line, `"attached\n"`); line, _ = tracer.TryReadLine(200 * time.Millisecond) {
		s.command(t, fmt.Sprintf("value %d 0", sign), "fired 1")
	}

	probe := fmt.Sprintf("%s:seed:value (arg1 > %d) ", s.lib, sign)
	small := startArgdist(t, nopfire, s.PID, "-H", probe+"arg1")
	large := startArgdist(t, nopfire, s.PID, "-H", fmt.Sprintf("u:%s:value():u64:arg2:arg1 > %d", s.lib, sign))
	linear := startArgdist(t, nopfire, s.PID, "--linear", "0,80,10", "-H", probe+"arg1")
	count := startArgdist(t, nopfire, s.PID, "-C", probe+"arg1")
	waitLinks(t, s.lib, 4)

	const n = 20000
	s.command(t, fmt.Sprint("values ", n), fmt.Sprint("fired ", n))
	s.command(t, fmt.Sprintf("value %d 0", end), "fired 1")
	hists, counts := bpftraceMaps(t, remainingLines(t, tracer))
	for _, h := range []struct {
		name string
		got  distribution
	}{{"@small", small.histogram(t)}, {"@large", large.histogram(t)}, {"@linear", linear.histogram(t)}} {
		if len(hists[h.name]) < 8 {
			t.Errorf("bpftrace's %s has %v", h.name, hists[h.name])
		}
		if diff := cmp.Diff(hists[h.name], h.got); diff != "" {
			t.Errorf("%s: bpftrace -, nopfire +\n%s", h.name, diff)
		}
	}
	if len(counts["@count"]) != 100 {
		t.Errorf("bpftrace counts %v", counts["@count"])
	}
	if diff := cmp.Diff(counts["@count"], count.counts(t)); diff != "" {
		t.Errorf("counts: bpftrace -, nopfire +\n%s", diff)
	}
}

// TestArgdistAgreesWithBcc gives both the same specifier. They look at the hits one
// after the other, because the same values are fired for each.
func TestArgdistAgreesWithBcc(t *testing.T) {
	testutils.NeedBPF(t)
	nopfire := nopfirePath(t)
	s := startSeed(t)
	spec := fmt.Sprintf("u:%s:value():int:arg1", s.lib)
	const n = 1000
	fire := func() { s.command(t, fmt.Sprint("values ", n), fmt.Sprint("fired ", n)) }

	// bcc prints all counts each second; the first time of day tells that it is
	// attached.
	bcc := testutils.StartCmd(t, bccTool(t, "argdist", "-c", "-i", "1", "-p", fmt.Sprint(s.PID), "-C", spec))
	for line := ""; !strings.HasPrefix(line, "["); {
		line = bcc.ReadLine()
	}
	fire()
	var want map[string]uint64
	for sum := uint64(0); sum < n; {
		line := bcc.ReadLine()
		if strings.HasPrefix(line, "[") {
			want, sum = make(map[string]uint64), 0
		}
		var count uint64
		var value int64
		if k, _ := fmt.Sscanf(line, "\t%d arg1 = %d", &count, &value); k == 2 && want != nil {
			want[fmt.Sprint(value)] = count
			sum += count
		}
	}
	bcc.Interrupt()

	a := startArgdist(t, nopfire, s.PID, "-C", spec)
	waitLinks(t, s.lib, 1)
	fire()
	if diff := cmp.Diff(want, a.counts(t)); diff != "" || len(want) != 100 {
		t.Errorf("bcc -, nopfire +\n%s", diff)
	}
}

// TestCountsAreExact counts a million hits of four processes, that fire at the same
// time, by process and by value.
func TestCountsAreExact(t *testing.T) {
	testutils.NeedBPF(t)
	nopfire := nopfirePath(t)
	program, lib := buildSeed(t)
	const processes, each = 4, 250_000
	byProcess := testutils.Start(t, nopfire, "count", "--json", lib+":seed:loop_iter")
	byValue := testutils.Start(t, nopfire, "argdist", "--json", "-C", lib+":seed:loop_iter arg1 % 5")
	waitLinks(t, lib, 2)

	var seeds []*seed
	for range processes {
		seeds = append(seeds, newSeed(t, testutils.Start(t, program), lib))
	}
	for _, s := range seeds {
		s.command(t, "enabled", "enabled 1") // the kernel raises it once for a location
	}
	for _, s := range seeds {
		s.WriteLine(fmt.Sprint("fire ", each))
	}
	wantPID, gotPID := make(map[int]uint64), make(map[int]uint64)
	for _, s := range seeds {
		if got, want := s.ReadLine(), fmt.Sprint("fired ", each); got != want {
			t.Fatalf("the program says %q, want %q", got, want)
		}
		wantPID[s.PID] = each
	}
	for _, row := range rowsOf(t, byProcess) {
		gotPID[row.PID] += row.Count
	}
	if diff := cmp.Diff(wantPID, gotPID); diff != "" {
		t.Errorf("by process, want -, got +\n%s", diff)
	}
	wantValue, gotValue := make(map[string]uint64), make(map[string]uint64)
	for i := range 5 {
		wantValue[fmt.Sprint(i)] = processes * each / 5
	}
	for _, row := range rowsOf(t, byValue) {
		gotValue[fmt.Sprint(row.Key[0].Value)] += row.Count
	}
	if diff := cmp.Diff(wantValue, gotValue); diff != "" {
		t.Errorf("by value, want -, got +\n%s", diff)
	}
	for _, c := range []*testutils.Child{byProcess, byValue} {
		if strings.Contains(c.Stderr(), "lost") {
			t.Errorf("%v says %q", c.Cmd, c.Stderr())
		}
	}
}
