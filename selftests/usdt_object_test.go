//go:build linux && (amd64 || arm64)

package selftests

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/feature"
	"github.com/nopfire/nopfire/internal/testutils"
)

// seen is struct seen of testprogs/usdtobj/programs.bpf.c.
type seen struct {
	Hits, Sum uint64
	Cookie    int64
	ArgC      int64
	RC, Arg   [14]int64
	Text      [32]byte
}

// The places in the array of them.
const (
	seenSizes = iota
	seenText
	seenSem
	seenNone
	seenSame
	seenMany
	seenManual
	seenUprobe
	seenUretprobe
	seenMulti
	seenProbes
)

// An objectRig is a running target, and the object for it.
type objectRig struct {
	t      *testing.T
	target *testutils.Child
	path   string // of the target
	object string
}

func newObjectRig(t *testing.T, flags ...string) *objectRig {
	t.Helper()
	return newObjectRigBy(t, testutils.BuildBPF, flags...)
}

// newObjectRigBy is newObjectRig with the object of a certain builder.
func newObjectRigBy(t *testing.T, build builder, flags ...string) *objectRig {
	t.Helper()
	testutils.NeedBPF(t)
	src, err := os.ReadFile("testprogs/usdtobj/target.c")
	if err != nil {
		t.Fatal(err)
	}
	path := testutils.BuildC(t, string(src))
	r := &objectRig{t: t, path: path, target: testutils.Start(t, path)}
	if line := r.target.ReadLine(); line != "ready" {
		t.Fatalf("target says %q", line)
	}
	r.object = build(t, "testprogs/usdtobj/programs.bpf.c", append(flags, fmt.Sprintf("-DTARGET=%q", path))...)
	return r
}

// fire makes the target fire all its probes, and returns the semaphore.
func (r *objectRig) fire() string {
	r.t.Helper()
	r.target.WriteLine("")
	return r.target.ReadLine()
}

// load loads the object for a method.
func (r *objectRig) load(m usdt.Method) *usdt.Collection {
	r.t.Helper()
	c, err := usdt.LoadCollection(r.object, &usdt.CollectionOptions{Method: m})
	if err != nil {
		r.t.Fatalf("%+v", err)
	}
	r.t.Cleanup(c.Close)
	return c
}

// find returns the target of a probe, of the running process.
func (r *objectRig) find(probe string) *usdt.Target {
	r.t.Helper()
	res, err := usdt.ProcessTargets(r.target.PID, "app:"+probe)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.Targets[0]
}

// seenBy returns what the programs have seen.
func seenBy(t *testing.T, c *usdt.Collection) (all [seenProbes]seen) {
	t.Helper()
	if err := c.Variables["seen"].Get(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

var objectMethods = []usdt.Method{usdt.UprobeMulti, usdt.PerfEvent}

func needMethod(t *testing.T, m usdt.Method) {
	t.Helper()
	if m == usdt.PerfEvent {
		testutils.Need(t, feature.PerfUprobe)
	} else {
		testutils.Need(t, feature.UprobeMulti)
	}
}

// returnCodes are those of bpf_usdt_arg for n arguments and what lies beyond.
func returnCodes(n int) (rc [14]int64) {
	const enoent = 2
	for i := n; i < len(rc); i++ {
		rc[i] = -enoent
	}
	return rc
}

// Every program of an unmodified libbpf object sees its probe: arguments of every
// size, none, a semaphore, a sleepable program, 400 places, a cookie.
func TestObjectAutoAttach(t *testing.T) {
	const cookie = 0x7eed5eed7eed5eed
	for _, by := range builders {
		for _, m := range objectMethods {
			t.Run(by.name+"/"+m.String(), func(t *testing.T) { testObjectAutoAttach(t, by.build, m, cookie) })
		}
	}
}

func testObjectAutoAttach(t *testing.T, build builder, m usdt.Method, cookie int64) {
	needMethod(t, m)
	flags := []string{"-DSLEEPABLE"}
	same := seen{}
	if m == usdt.UprobeMulti { // by perf_event they take half a minute to detach
		flags = append(flags, "-DMANY_PLACES")
		same = seen{Hits: 1200, Sum: 3600}
	}
	r := newObjectRigBy(t, build, flags...)
	c := r.load(m)
	a, err := usdt.AutoAttach(c, &usdt.AutoOptions{Cookie: uint64(cookie)})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Left) != 1 || a.Left[0].Program != "on_manual" || !errors.Is(a.Left[0].Err, usdt.ErrLeftToCaller) {
		t.Errorf("left %v, want on_manual alone", a.Left)
	}
	for range 3 {
		if sem := r.fire(); sem == "0" {
			t.Errorf("semaphore %s while attached", sem)
		}
	}
	got := seenBy(t, c)
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if sem := r.fire(); sem != "0" {
		t.Errorf("semaphore %s after close", sem)
	}
	if diff := cmp.Diff(got, seenBy(t, c)); diff != "" {
		t.Errorf("hits after close:\n%s", diff)
	}

	minus := func(n int64) uint64 { return uint64(-n) }
	want := [seenProbes]seen{
		seenSizes: {Hits: 3, Sum: minus(3 * 8), Cookie: cookie, ArgC: 12, RC: returnCodes(12),
			Arg: [14]int64{-8, 208, -16000, 60000, -320000, 4000000000, -64000000000, -1 << 63, -8, 60000, -9, 250}},
		seenText: {Hits: 3, Sum: minus(3 * 5), Cookie: cookie, ArgC: 2, RC: returnCodes(2), Arg: [14]int64{-5, got[seenText].Arg[1]}},
		seenSem:  {Hits: 3, Sum: 3 * 77, Cookie: cookie, ArgC: 1, RC: returnCodes(1), Arg: [14]int64{77}},
		seenNone: {Hits: 3, Cookie: cookie, RC: returnCodes(0)},
		seenSame: same,
	}
	copy(want[seenText].Text[:], "a text of the target")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
	var version uint64
	if err := c.Variables["kernel_version"].Get(&version); err != nil || version < 5<<16 {
		t.Errorf("LINUX_KERNEL_VERSION %#x, %v", version, err)
	}
}

// libbpf's own loader and ours, with the same object and process: all that the
// programs write is the same, byte for byte.
func TestObjectEqualsLibbpf(t *testing.T) {
	gcc := testutils.Oracle(t, "gcc")
	loader := filepath.Join(t.TempDir(), "loader")
	if out, err := exec.Command(gcc, "-O1", "testprogs/usdtobj/loader.c", "-o", loader, "-lbpf", "-lelf", "-lz").CombinedOutput(); err != nil {
		t.Fatalf("build loader: %v\n%s", err, out)
	}
	for _, by := range builders {
		// A loader of libbpf fills the map as the header of its version has it:
		// ours is that of a later one.
		if by.name != "bpfc" {
			t.Run(by.name, func(t *testing.T) { testObjectEqualsLibbpf(t, by.build, loader) })
		}
	}
}

func testObjectEqualsLibbpf(t *testing.T, build builder, loader string) {
	// Not all 400 places of app:same: libbpf 1.1 attaches by perf_event, and
	// takes a minute to detach from them.
	r := newObjectRigBy(t, build)
	for _, probe := range []string{"sizes", "few"} {
		t.Run(probe, func(t *testing.T) {
			tracer := testutils.Start(t, loader, r.object, r.path, fmt.Sprint(r.target.PID), "app", probe, "0xcafe")
			if line := tracer.ReadLine(); line != "attached" {
				t.Fatalf("libbpf says %q\n%s", line, tracer.Stderr())
			}
			r.fire()
			r.fire()
			tracer.WriteLine("")
			libbpf, err := hex.DecodeString(tracer.ReadLine())
			if err != nil {
				t.Fatal(err)
			}
			if err := tracer.Wait(); err != nil {
				t.Fatal(err, tracer.Stderr())
			}

			c := r.load(usdt.Auto)
			a, err := usdt.AutoAttach(c, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			l, err := c.AttachUSDT(c.Programs["on_manual"], r.find(probe), &usdt.Options{Cookie: 0xcafe})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			r.fire()
			r.fire()
			ours, err := c.Maps[".bss"].LookupBytes(uint32(0))
			if err != nil {
				t.Fatal(err)
			}
			if len(ours) != len(libbpf) || len(ours) < seenProbes*binary.Size(seen{}) {
				t.Fatalf(".bss has %d bytes, %d with libbpf", len(ours), len(libbpf))
			}
			for i := range ours {
				if ours[i] != libbpf[i] {
					t.Fatalf(".bss differs first at %#x: ours …% x, libbpf's …% x", i, ours[i:min(i+16, len(ours))], libbpf[i:min(i+16, len(ours))])
				}
			}
			if got := seenBy(t, c)[seenManual]; got.Hits != 2*uint64(len(r.find(probe).Locations)) || got.Cookie != 0xcafe {
				t.Errorf("on_manual has seen %+v", got)
			}
		})
	}
}

// A pid filter: another process with the same probes is not seen, nor is its
// semaphore touched.
func TestObjectPIDFilter(t *testing.T) {
	r := newObjectRig(t)
	other := &objectRig{t: t, path: r.path, target: testutils.Start(t, r.path)}
	other.target.ReadLine()
	for _, m := range objectMethods {
		t.Run(m.String(), func(t *testing.T) {
			needMethod(t, m)
			c := r.load(m)
			a, err := usdt.AutoAttach(c, &usdt.AutoOptions{PID: r.target.PID})
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			if sem := other.fire(); sem != "0" {
				t.Errorf("semaphore %s in the other process", sem)
			}
			if got := seenBy(t, c)[seenSem].Hits; got != 0 {
				t.Errorf("%d hits of the other process", got)
			}
			if sem := r.fire(); sem == "0" {
				t.Error("semaphore 0 in the traced process")
			}
			if got := seenBy(t, c)[seenSem].Hits; got != 1 {
				t.Errorf("%d hits, want 1", got)
			}
		})
	}
}

// More descriptions than the map has room for: refused with the way out, and
// nothing is left behind; with room, all 300 constants are seen.
func TestObjectManySpecs(t *testing.T) {
	testutils.NeedBPF(t)
	testutils.Need(t, feature.UprobeMulti)
	r := newObjectRig(t)
	c := r.load(usdt.UprobeMulti)
	many := r.find("many")
	if len(many.Locations) != 300 {
		t.Fatalf("%d locations", len(many.Locations))
	}
	_, err := c.AttachUSDT(c.Programs["on_manual"], many, nil)
	if err == nil || !strings.Contains(err.Error(), "all 256 places of __bpf_usdt_specs are taken: build the object with a larger BPF_USDT_MAX_SPEC_CNT") {
		t.Fatalf("300 descriptions in a map for 256: %v", err)
	}
	// Everything was given back: one that fits does fit.
	fits := *many
	fits.Locations = many.Locations[:256]
	for range 2 {
		l, err := c.AttachUSDT(c.Programs["on_manual"], &fits, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.AttachUSDT(c.Programs["on_manual"], r.find("sem"), nil); err == nil {
			t.Error("a 257th description was stored")
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}

	spec, err := usdt.LoadCollectionSpec(r.object)
	if err != nil {
		t.Fatal(err)
	}
	spec.Maps["__bpf_usdt_specs"].MaxEntries = 300
	if c, err = usdt.NewCollection(spec, &usdt.CollectionOptions{Method: usdt.UprobeMulti}); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	l, err := c.AttachUSDT(c.Programs["on_manual"], many, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r.fire()
	if got := seenBy(t, c)[seenManual]; got.Hits != 300 || got.Sum != 300*1000+299*300/2 {
		t.Errorf("%d hits, sum %d", got.Hits, got.Sum)
	}
}

// Without bpf cookies the program finds the description by the address.
func TestObjectWithoutCookies(t *testing.T) {
	r := newObjectRig(t)
	spec, err := usdt.LoadCollectionSpec(r.object)
	if err != nil {
		t.Fatal(err)
	}
	if err := usdt.PrepareCollection(spec, usdt.Auto); err != nil {
		t.Fatal(err)
	}
	if err := spec.Variables["LINUX_HAS_BPF_COOKIE"].Set(false); err != nil {
		t.Fatal(err)
	}
	coll, err := ebpf.NewCollection(spec)
	if err != nil {
		t.Fatal(err)
	}
	defer coll.Close()
	m, err := usdt.NewManager(spec, coll)
	if err != nil {
		t.Fatal(err)
	}
	prog := coll.Programs["on_manual"]
	if _, err := m.AttachUSDT(prog, r.find("sizes"), &usdt.Options{PID: usdt.AllProcesses}); err == nil || !strings.Contains(err.Error(), "give a pid") {
		t.Errorf("all processes without cookies: %v", err)
	}
	l, err := m.AttachUSDT(prog, r.find("sizes"), &usdt.Options{Cookie: 11})
	if err != nil {
		t.Fatal(err)
	}
	ips := func() (n int) {
		var ip uint64
		var id uint32
		for it := coll.Maps["__bpf_usdt_ip_to_spec_id"].Iterate(); it.Next(&ip, &id); n++ {
		}
		return n
	}
	if got := ips(); got != 1 {
		t.Errorf("%d addresses in the map, want 1", got)
	}
	r.fire()
	got := seenBy(t, &usdt.Collection{Collection: coll})[seenManual]
	if got.Hits != 1 || got.Cookie != 11 || got.ArgC != 12 || got.Arg[5] != 4000000000 {
		t.Errorf("seen %+v", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := ips(); got != 0 {
		t.Errorf("%d addresses in the map after close", got)
	}
}

// All other sections that go by themselves, and those that do not.
func TestObjectOtherSections(t *testing.T) {
	r := newObjectRig(t, "-DMORE_SECTIONS")
	for _, m := range objectMethods {
		t.Run(m.String(), func(t *testing.T) {
			needMethod(t, m)
			spec, err := usdt.LoadCollectionSpec(r.object)
			if err != nil {
				t.Fatal(err)
			}
			if err := spec.Variables["pid"].Set(uint32(r.target.PID)); err != nil {
				t.Fatal(err)
			}
			if m == usdt.PerfEvent {
				delete(spec.Programs, "on_optional")
			}
			c, err := usdt.NewCollection(spec, &usdt.CollectionOptions{Method: m})
			if err != nil {
				t.Fatalf("%+v", err)
			}
			defer c.Close()
			a, err := usdt.AutoAttach(c, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			left := make(map[string]error)
			for _, l := range a.Left {
				left[l.Program] = l.Err
			}
			wantLeft := map[string]error{"on_manual": usdt.ErrLeftToCaller, "on_packet": usdt.ErrUnknownSection, "on_custom": usdt.ErrUnknownSection}
			if m == usdt.UprobeMulti {
				wantLeft["on_optional"] = usdt.ErrLeftToCaller
			}
			for name, want := range wantLeft {
				if !errors.Is(left[name], want) {
					t.Errorf("%s: %v, want %v", name, left[name], want)
				}
			}
			if len(left) != len(wantLeft) {
				t.Errorf("left %v", left)
			}
			r.fire()
			got := seenBy(t, c)
			for _, tc := range []struct {
				name      string
				i         int
				hits, sum uint64
			}{
				{"uprobe", seenUprobe, 1, 1},
				{"uretprobe", seenUretprobe, 1, 4},
				{"uprobe.multi", seenMulti, 2, 3},
				{"optional", seenMany, 0, 0},
			} {
				if s := got[tc.i]; s.Hits != tc.hits || s.Sum != tc.sum {
					t.Errorf("%s: %d hits, sum %d, want %d and %d", tc.name, s.Hits, s.Sum, tc.hits, tc.sum)
				}
			}
			var enters uint64
			if err := c.Variables["sys_enters"].Get(&enters); err != nil {
				t.Fatal(err)
			}
			// Each of raw_tp and tp_btf sees the calls of the firing.
			if enters%1000000 == 0 || enters/1000000 == 0 {
				t.Errorf("system calls seen: %d", enters)
			}
		})
	}
}

// Tracepoints need tracefs: mounted in a namespace of our own, where the test runs
// a second time.
func TestObjectTracepoint(t *testing.T) {
	const env = "NOPFIRE_TEST_TRACEFS"
	testutils.Root(t)
	if os.Getenv(env) == "" {
		cmd := exec.Command(testutils.Oracle(t, "unshare"), "-m", "sh", "-c",
			`mount -t tracefs tracefs /sys/kernel/tracing && exec "$0" -test.run '^TestObjectTracepoint$' -test.v`, os.Args[0])
		cmd.Env = append(os.Environ(), env+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if !strings.Contains(string(out), "--- PASS: TestObjectTracepoint") {
			t.Errorf("not run:\n%s", out)
		}
		return
	}
	r := newObjectRig(t, "-DTRACEPOINT")
	spec, err := usdt.LoadCollectionSpec(r.object)
	if err != nil {
		t.Fatal(err)
	}
	if err := spec.Variables["pid"].Set(uint32(r.target.PID)); err != nil {
		t.Fatal(err)
	}
	c, err := usdt.NewCollection(spec, nil)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	defer c.Close()
	a, err := usdt.AutoAttach(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	// It waits in a read, and writes its answer before the next.
	r.fire()
	r.fire()
	var enters uint64
	if err := c.Variables["sys_enters"].Get(&enters); err != nil || enters < 3 {
		t.Errorf("%d system calls of the target, %v; it has answered, read and answered", enters, err)
	}
}

// A section that names what is not there fails the whole, by name, and leaves
// nothing attached.
func TestObjectAutoAttachFails(t *testing.T) {
	r := newObjectRig(t)
	spec, err := usdt.LoadCollectionSpec(r.object)
	if err != nil {
		t.Fatal(err)
	}
	spec.Programs["on_text"].SectionName = "usdt/" + r.path + ":app:texd"
	c, err := usdt.NewCollection(spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = usdt.AutoAttach(c, nil)
	if !errors.Is(err, usdt.ErrNoProbe) || !strings.Contains(err.Error(), "program on_text") || !strings.Contains(err.Error(), "did you mean app:text?") {
		t.Errorf("error %v", err)
	}
	if sem := r.fire(); sem != "0" {
		t.Errorf("semaphore %s: something is still attached", sem)
	}
	for i, s := range seenBy(t, c) {
		if s.Hits != 0 {
			t.Errorf("program %d has seen %d hits", i, s.Hits)
		}
	}
}

// Attach and detach, again and again: no descriptor and no place of the map is
// lost. NOPFIRE_CYCLES sets how often.
func TestObjectCycles(t *testing.T) {
	testutils.NeedBPF(t)
	testutils.Need(t, feature.UprobeMulti)
	r := newObjectRig(t)
	c := r.load(usdt.UprobeMulti)
	targets := []*usdt.Target{r.find("sizes"), r.find("text"), r.find("sem"), r.find("none"), r.find("same")}
	before := testutils.CountFDs(t)
	cycles := 20
	if n, err := strconv.Atoi(os.Getenv("NOPFIRE_CYCLES")); err == nil {
		cycles = n
	}
	for i := range cycles {
		// Another cookie each time, so that no description is there already:
		// 5 for each cycle, in a map for 256.
		links, err := c.AttachAll(c.Programs["on_manual"], targets, &usdt.Options{Cookie: uint64(i)})
		if err != nil {
			t.Fatalf("cycle %d: %v", i, err)
		}
		if len(links) != 1 {
			t.Fatalf("%d links for one file and process", len(links))
		}
		if sem := r.fire(); sem == "0" {
			t.Errorf("cycle %d: semaphore 0 while attached", i)
		}
		if err := links[0].Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := seenBy(t, c)[seenManual].Hits; got != uint64(cycles)*404 {
		t.Errorf("%d hits, want %d", got, cycles*404)
	}
	if after := testutils.CountFDs(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
	if sem := r.fire(); sem != "0" {
		t.Errorf("semaphore %s after the last close", sem)
	}
}
