package selftest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/emit"
	"github.com/nopfire/nopfire/urdt"
	"github.com/nopfire/nopfire/urdt/abi"
)

// usdtChecks are about finding probes and attaching programs to them: what libbpf's
// own test of USDT shows, and what it leaves to the tools.
var usdtChecks = []Check{
	{Name: "a probe is found in its file, its process, and among all", Needs: Fires | MapsFiles, run: usdtFind},
	{Name: "a name that is not there is told with what is near", Needs: Fires, run: usdtNear},
	{Name: "diagnose says what is fine and why not", Needs: Fires, run: usdtDiagnose},
	{Name: "operands of every kind are read", Needs: traces, run: usdtOperands},
	{Name: "operands of every kind are read without a map", Needs: traces, run: usdtLoadArg},
	{Name: "an operand that faults costs itself alone", Needs: traces, run: usdtFault},
	{Name: "an operand beyond the last is -ENOENT", Needs: traces, run: usdtBeyond},
	{Name: "a string is read where its address points", Needs: traces, run: usdtString},
	{Name: "the cookie of the attach reaches the program", Needs: traces, run: usdtCookie},
	{Name: "sixteen locations have sixteen cookies", Needs: traces, run: usdtLocations},
	{Name: "a location that cannot be traced is left out with its reason", Needs: traces, run: usdtLeftOut},
	{Name: "semaphore counts up and down", Needs: traces, run: usdtSemaphore},
	{Name: "semaphore of a killed tracer comes down", Needs: traces, run: usdtKilled},
	{Name: "tracers that disagree about a semaphore are told", Needs: traces, run: usdtConflict},
	{Name: "detach leaves every byte as it was", Needs: traces, run: usdtDetach},
	{Name: "two tracers see every hit", Needs: traces, run: usdtTwoTracers},
	{Name: "one process among those that map the file", Needs: traces | MapsFiles, run: usdtOneProcess},
	{Name: "every process that maps the file, later ones too", Needs: traces | MapsFiles, run: usdtEveryProcess},
	{Name: "a file that has changed is not attached to", Needs: Attaches, run: usdtChanged},
	{Name: "by uprobe_multi", Needs: traces, run: func(t *T) { usdtMethod(t, usdt.UprobeMulti) }},
	{Name: "by perf_event", Needs: traces, run: func(t *T) { usdtMethod(t, usdt.PerfEvent) }},
	{Name: "a process is followed from its start to its end", Needs: traces, run: usdtFollow},
}

// targetsOf finds probes of this process.
func targetsOf(t *T, pid int, pattern string) []*usdt.Target {
	res, err := usdt.ProcessTargets(pid, pattern)
	if err != nil {
		t.Fatalf("%v, problems: %v", err, res.Problems)
	}
	return res.Targets
}

// oneTarget finds a probe of a process that is there once.
func oneTarget(t *T, pid int, pattern string) *usdt.Target {
	targets := targetsOf(t, pid, pattern)
	if len(targets) != 1 {
		t.Fatalf("%s: %d targets, want 1", pattern, len(targets))
	}
	return targets[0]
}

func usdtFind(t *T) {
	dir := t.TempDir()
	p := newProvider(t, &emit.Options{Backing: emit.BackingFile, Dir: dir})
	define[*emit.Probe1[int]](t, p)(emit.NewProbe1[int](p, "somewhere", names("n")))
	info := p.Backing()
	describe := func(target *usdt.Target) string {
		loc := target.Locations[0]
		return fmt.Sprintf("%s %s at %#x, argument %q", target.Path, target, loc.Offset, loc.ArgString)
	}
	inFile, err := usdt.FileTargets(info.Path, "selftest:some*")
	t.Must(err)
	inProcess := targetsOf(t, os.Getpid(), "selftest:somewhere")
	everywhere, err := usdt.AllTargets("selftest:somewhere")
	t.Must(err)
	var all []*usdt.Target
	for _, target := range everywhere.Targets { // another selftest may be running
		if slices.Contains(target.PIDs, os.Getpid()) {
			all = append(all, target)
		}
	}
	if len(inFile.Targets) != 1 || len(inProcess) != 1 || len(all) != 1 {
		t.Fatalf("%d in the file, %d in the process, %d among all, want 1 each", len(inFile.Targets), len(inProcess), len(all))
	}
	want := describe(inFile.Targets[0])
	equal(t, "in the process", describe(inProcess[0]), want)
	equal(t, "among all", describe(all[0]), want)
}

func usdtNear(t *T) {
	p := newProvider(t, nil)
	define[*emit.Probe0](t, p)(emit.NewProbe0(p, "request", nil))
	_, err := usdt.ProcessTargets(os.Getpid(), "selftest:reqest")
	wantError(t, "the misspelt name", err, usdt.ErrNoProbe)
	var none *usdt.NoProbeError
	if errors.As(err, &none) {
		equal(t, "what is near", slices.Contains(none.Near, "selftest:request"), true)
	}
}

func usdtDiagnose(t *T) {
	dir := t.TempDir()
	m := host(t)
	path := filepath.Join(dir, "object.so")
	t.Must(os.WriteFile(path, build(t, exampleSpec(), m, elfgen.FormNop1).Image, 0o755))
	text := filepath.Join(dir, "text.txt")
	t.Must(os.WriteFile(text, []byte("no program"), 0o644))
	reasons := func(path, pattern string) (fine bool, reasons []usdt.Reason) {
		all, err := usdt.Diagnose(path, &usdt.DiagnoseOptions{Pattern: pattern})
		t.Must(err)
		for _, d := range all {
			for _, c := range d.Checks {
				if c.Severity == usdt.Fault {
					reasons = append(reasons, c.Reason)
				}
			}
			fine = d.Fine()
		}
		return fine, reasons
	}
	for _, row := range []struct {
		path, pattern string
		fine          bool
		reasons       []usdt.Reason
	}{
		{path, "selftest:request", true, nil},
		{path, "selftest:reqest", false, []usdt.Reason{usdt.ReasonNoProbe}},
		{text, "", false, []usdt.Reason{usdt.ReasonNotELF}},
		{filepath.Join(dir, "nowhere"), "", false, []usdt.Reason{usdt.ReasonNoFile}},
	} {
		fine, got := reasons(row.path, row.pattern)
		what := filepath.Base(row.path) + " " + row.pattern
		equal(t, what+" is fine", fine, row.fine)
		equal(t, what+": reasons", got, row.reasons)
	}
}

func usdtCookie(t *T) {
	p := newProvider(t, nil)
	h := define[*emit.Probe0](t, p)(emit.NewProbe0(p, "cookie", nil))
	target := oneTarget(t, os.Getpid(), "selftest:cookie")
	a := attachNote(t, target, &usdt.Options{Cookie: 0xcafedeadbeeffeed})
	b := attachNote(t, target, nil)
	h.Fire()
	equal(t, "cookie", a.cookie(), uint64(0xcafedeadbeeffeed))
	equal(t, "cookie of an attach without one", b.cookie(), uint64(0))
}

// libraryTarget returns urdt:probe1 of the object of URDT of this process, which has
// sixteen locations.
func libraryTarget(t *T) *usdt.Target {
	urdt.Scope()
	for _, target := range targetsOf(t, os.Getpid(), abi.Provider+":"+abi.SiteName(1)) {
		if target.Shards == abi.Shards {
			return target
		}
	}
	t.Fatalf("this process has no object of URDT: %v", urdt.Scope().Reason)
	return nil
}

// nameAt returns a name of URDT that fires at a shard.
func nameAt(shard int) string {
	for i := 0; ; i++ {
		if name := fmt.Sprintf("at%d", i); abi.Shard(abi.Hash(provider, name), abi.Shards) == shard {
			return name
		}
	}
}

func usdtLocations(t *T) {
	target := libraryTarget(t)
	equal(t, "locations", len(target.Locations), abi.Shards)
	var cookies []uint64
	for i := range target.Locations {
		cookies = append(cookies, uint64(100+i))
	}
	n := attachNote(t, target, &usdt.Options{PID: os.Getpid(), Cookies: cookies})
	for i := range abi.Shards {
		urdt.Probe1(provider, nameAt(i), i)
		equal(t, fmt.Sprintf("cookie at location %d", i), n.cookie(), uint64(100+i))
		args, _ := n.args()
		equal(t, fmt.Sprintf("argument at location %d", i), args[0], int64(i))
	}
	equal(t, "hits", n.hits(), uint64(abi.Shards))
}

func usdtLeftOut(t *T) {
	target := libraryTarget(t)
	target.Locations = slices.Clone(target.Locations)
	bad := errors.New("said to be bad")
	target.Locations[3].Err = bad
	var reasons []error
	n := attachNote(t, target, &usdt.Options{PID: os.Getpid(), LeftOut: func(_ *usdt.Target, _ *usdt.Location, reason error) {
		reasons = append(reasons, reason)
	}})
	equal(t, "number of locations that are left out", len(reasons), 1)
	wantError(t, "the reason", errors.Join(reasons...), bad)
	urdt.Probe1(provider, nameAt(3), 3)
	equal(t, "hits of the bad one", n.hits(), uint64(0))
	urdt.Probe1(provider, nameAt(4), 4)
	equal(t, "hits of its neighbour", n.hits(), uint64(1))
}

func usdtTwoTracers(t *T) {
	p := newProvider(t, nil)
	h := define[*emit.Probe1[int]](t, p)(emit.NewProbe1[int](p, "both", nil))
	a, b := traceSelf(t, "selftest:both"), traceSelf(t, "selftest:both")
	h.Fire(1)
	a.expect("selftest:both arg1=1")
	h.Fire(2)
	b.expect("selftest:both arg1=1", "selftest:both arg1=2")
}

// sharedPeer starts a process with selftest:shared in the file that all of them have.
func sharedPeer(t *T, dir string) *peer {
	p := startPeer(t, "")
	equal(t, "directory of the object", filepath.Dir(p.tell("define shared shared=%s", dir)), dir)
	return p
}

func usdtOneProcess(t *T) {
	dir := t.TempDir()
	a, b := sharedPeer(t, dir), sharedPeer(t, dir)
	n := attachNote(t, oneTarget(t, a.pid(), "selftest:shared"), nil)
	b.tell("fire 2")
	equal(t, "hits of the other process", n.hits(), uint64(0))
	a.tell("fire 3")
	equal(t, "hits", n.hits(), uint64(3))
}

func usdtEveryProcess(t *T) {
	dir := t.TempDir()
	a := sharedPeer(t, dir)
	n := attachNote(t, oneTarget(t, a.pid(), "selftest:shared"), &usdt.Options{PID: usdt.AllProcesses})
	a.tell("fire 1")
	b := sharedPeer(t, dir)
	b.tell("fire 2")
	equal(t, "hits", n.hits(), uint64(3))
}

func usdtChanged(t *T) {
	m := host(t)
	path := writeObject(t, build(t, exampleSpec(), m, elfgen.FormNop1).Image)
	res, err := usdt.FileTargets(path, "selftest:plain")
	t.Must(err)
	other := exampleSpec()
	other.Probes = other.Probes[:2]
	t.Must(os.WriteFile(path, build(t, other, m, elfgen.FormNop1).Image, 0o755))
	c := load(t, nothing)
	l, err := c.AttachUSDT(c.Programs["nothing"], res.Targets[0], &usdt.Options{PID: usdt.AllProcesses})
	if err == nil {
		l.Close()
	}
	wantError(t, "attach by the notes of before", err, usdt.ErrChanged)
}

func usdtMethod(t *T, m usdt.Method) {
	needMethod(t, m)
	p := newProvider(t, nil)
	h := define[*emit.Probe2[int, int8]](t, p)(emit.NewProbe2[int, int8](p, "method", nil))
	c, err := usdt.NewCollection(compile(t, noteProgram), &usdt.CollectionOptions{Method: m})
	t.Must(err)
	t.Cleanup(c.Close)
	l, err := c.AttachUSDT(c.Programs["note"], oneTarget(t, os.Getpid(), "selftest:method"), &usdt.Options{Cookie: 9})
	t.Must(err)
	h.Fire(1, -1)
	h.Fire(2, -2)
	n := &noter{t, c}
	args, _ := n.args()
	equal(t, "hits", n.hits(), uint64(2))
	equal(t, "arguments", args[:2], []int64{2, -2})
	equal(t, "cookie", n.cookie(), uint64(9))
	t.Must(l.Close())
	h.Fire(3, -3)
	equal(t, "hits after detach", n.hits(), uint64(2))
}

func usdtFollow(t *T) {
	f, err := usdt.NewFollower(nil, "selftest:followed")
	t.Must(err)
	defer f.Close()
	var p *peer
	added := false
	for change := range f.Changes(t.ctx) {
		if p == nil { // the first change is what was there
			p = startPeer(t, "")
			p.tell("define followed")
			continue
		}
		of := func(targets []*usdt.Target) bool {
			return slices.ContainsFunc(targets, func(target *usdt.Target) bool { return slices.Contains(target.PIDs, p.pid()) })
		}
		if !added && of(change.Added) {
			added = true
			p.stop()
		}
		if added && len(change.Removed) > 0 && of(change.Removed) {
			return
		}
	}
	t.Fatalf("the process that came and went: added %t, removed false", added)
}
