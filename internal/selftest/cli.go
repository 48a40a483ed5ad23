package selftest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/urdt/abi"
)

// cliChecks are about the commands of this program, run as a user runs them: their
// exit statuses, and every character that they print.
var cliChecks = []Check{
	{Name: "version says what it is", run: cliVersion},
	{Name: "a mistake in the command line is status 2", run: cliUsage},
	{Name: "list shows the probes of a file", run: cliListFile},
	{Name: "list shows the probes of a process", Needs: Fires, run: cliListProcess},
	{Name: "list --why names the reason", run: cliWhy},
	{Name: "a process that is not there is status 1", run: cliNoProcess},
	{Name: "trace prints columns", Needs: traces, run: cliTrace},
	{Name: "trace takes a condition and a format of C", Needs: traces, run: cliTraceFormat},
	{Name: "trace --json is one object a line", Needs: traces, run: cliTraceJSON},
	{Name: "trace sees a name of URDT that is fired later", Needs: traces | MapsFiles, run: cliTraceURDT},
	{Name: "trace sees what a command does first, and keeps its status", Needs: traces | MapsFiles, run: cliTraceCommand},
	{Name: "trace prints on an interrupt what it has", Needs: traces, run: cliTraceInterrupt},
	{Name: "a misspelt probe is status 1 and what is near is named", Needs: traces, run: cliTraceNear},
	{Name: "argdist counts and draws", Needs: traces, run: cliArgdist},
	{Name: "count is exact", Needs: traces, run: cliCount},
	{Name: "count --json is one object a row", Needs: traces, run: cliCountJSON},
	{Name: "run takes a program in C to its results", Needs: traces, run: cliRun},
	{Name: "cc writes an object that run takes", Needs: traces, run: cliCC},
	{Name: "demo finds every value as it was fired", Needs: traces, run: cliDemo},
	{Name: "doctor says that tracing works", Needs: traces, run: cliDoctor},
	{Name: "nothing is left attached", Needs: traces | MapsFiles, run: cliNothingLeft},
}

// An outcome is how a command ended.
type outcome struct {
	t              *T
	name           string
	status         int
	stdout, stderr string
}

// nopfire runs a command to its end.
func nopfire(t *T, args ...string) outcome {
	return start(t, "", args...).outcome()
}

// outcome waits for a command.
func (p *process) outcome() outcome {
	status, stdout, stderr := p.wait()
	return outcome{p.t, p.name(), status, stdout, stderr}
}

// What differs from run to run, and what stands for it in expected texts. PID is that
// of the traced process.
var changing = []struct{ re, by string }{
	{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z`, "TIME"},
	{`(?m)^\d\d:\d\d:\d\d(\.\d{6})?`, "TIME"},
	{` +`, " "}, // widths of columns
	{`"pid":PID\b`, `"pid":PID`},
	{`"tid":\d+,"cpu":\d+`, `"tid":TID,"cpu":CPU`},
	{`(?m)^TIME PID \d+ `, "TIME PID TID "},
	{`(?m)^( \d+) \d+(\.\d+)?[a-zA-Z]? PID `, "$1 RATE PID "},
}

// masked returns a text with what changes replaced.
func masked(text string, pid int) string {
	for _, c := range changing {
		re := regexp.MustCompile(strings.ReplaceAll(c.re, "PID", fmt.Sprint(pid)))
		text = re.ReplaceAllString(text, c.by)
	}
	return text
}

// expect compares the outcome: the status, the lines of standard output, masked, and
// that nothing was said on standard error.
func (o outcome) expect(status int, pid int, want ...string) {
	o.expectStatus(status)
	equal(o.t, o.name+": standard error", o.stderr, "")
	equalLines(o.t, o.name+": standard output", splitLines(masked(o.stdout, pid)), want)
}

func (o outcome) expectStatus(status int) {
	if o.status != status {
		o.t.Errorf("%s: status %d, want %d\n%s%s", o.name, o.status, status, o.stdout, o.stderr)
	}
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

func cliVersion(t *T) {
	o := nopfire(t, "version")
	o.expectStatus(0)
	want := regexp.MustCompile(`^nopfire \S+ go\S+ ` + runtime.GOOS + `/` + runtime.GOARCH + "\n$")
	if !want.MatchString(o.stdout) {
		t.Errorf("prints %q, want %v", o.stdout, want)
	}
}

func cliUsage(t *T) {
	for _, row := range []struct {
		args []string
		help string
	}{
		{[]string{"no-such-command"}, "nopfire"},
		{[]string{"trace", "--no-such-flag"}, "nopfire trace"},
		{[]string{"trace", "-p", "0", "a:b"}, "nopfire trace"},
		{[]string{"count"}, "nopfire count"},
		{[]string{"fire", "one"}, "nopfire fire"},
	} {
		o := nopfire(t, row.args...)
		o.expectStatus(2)
		equal(t, o.name+": standard output", o.stdout, "")
		if !strings.HasPrefix(o.stderr, "nopfire: ") || !strings.HasSuffix(o.stderr, "Run '"+row.help+" -h' for help.\n") {
			t.Errorf("%s says %q", o.name, o.stderr)
		}
	}
}

func cliListFile(t *T) {
	m := host(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "object.so")
	t.Must(os.WriteFile(path, build(t, exampleSpec(), m, elfgen.FormNop1).Image, 0o755))
	o := nopfire(t, "list", path, "selftest:*")
	o.stdout = strings.ReplaceAll(o.stdout, path, "PATH")
	// What a hit costs is the kernel's to say.
	o.stdout = regexp.MustCompile(`(?m)(yes|-) +(optimized|breakpoint|single-stepped|-) +PATH$`).ReplaceAllString(o.stdout, "$1 COST PATH")
	o.expect(0, 0,
		"PROBE ARGUMENTS LOCATIONS SEM COST FILE",
		"selftest:plain - 1 - COST PATH",
		"selftest:request status int32, path string 1 - COST PATH",
		"selftest:order o *order 1 yes COST PATH")
}

// loopPeer starts a process with selftest:loop(i int, msg string).
func loopPeer(t *T) (p *peer, pid string) {
	p = startPeer(t, "")
	p.tell("define loop")
	return p, fmt.Sprint(p.pid())
}

func cliListProcess(t *T) {
	_, pid := loopPeer(t)
	o := nopfire(t, "list", "--json", "-p", pid, "selftest:*")
	o.expectStatus(0)
	var probe struct {
		Provider, Probe string
		PID             int
		Args            []struct{ Name, Type string }
		Locations       []struct{ Offset int }
	}
	if err := json.Unmarshal([]byte(o.stdout), &probe); err != nil {
		t.Fatalf("%q is not one object of JSON: %v", o.stdout, err)
	}
	equal(t, "probe", probe.Provider+":"+probe.Probe, "selftest:loop")
	equal(t, "process", fmt.Sprint(probe.PID), pid)
	equal(t, "arguments", fmt.Sprint(probe.Args), "[{i int64} {msg string}]")
	equal(t, "locations", len(probe.Locations), 1)
}

func cliWhy(t *T) {
	m := host(t)
	path := writeObject(t, build(t, exampleSpec(), m, elfgen.FormNop1).Image)
	o := nopfire(t, "list", "--why", "--json", path, "selftest:plian")
	o.expectStatus(1)
	for _, part := range []string{`"reason":"` + string(usdt.ReasonNoProbe) + `"`, `did you mean selftest:plain?`, `"kind":"verdict"`, `"probes":0,"traceable":0`} {
		if !strings.Contains(o.stdout, part) {
			t.Errorf("%s does not say %s:\n%s", o.name, part, o.stdout)
		}
	}
}

func cliNoProcess(t *T) {
	// A process id is below 1<<22 (PID_MAX_LIMIT in include/linux/threads.h).
	o := nopfire(t, "list", "-p", "2147483647")
	o.expectStatus(1)
	equal(t, o.name+": standard output", o.stdout, "")
}

// traceLoop traces a process that fires its probe n times once it is traced.
func traceLoop(p *peer, n int, args ...string) outcome {
	tracer := start(p.t, "", args...)
	tracer.waitLinks(1)
	p.tell("fire %d", n)
	return tracer.outcome()
}

// comm is the name of this program's threads, which the kernel cuts at 15 bytes.
func comm(t *T) string {
	name := filepath.Base(t.command[0])
	return name[:min(len(name), 15)]
}

func cliTrace(t *T) {
	p, pid := loopPeer(t)
	traceLoop(p, 2, "trace", "-p", pid, "selftest:loop", "-n", "2").expect(0, p.pid(),
		"TIME PID TID COMM PROBE ARGUMENTS",
		"TIME PID TID "+comm(t)+` selftest:loop i=0 msg="message 0"`,
		"TIME PID TID "+comm(t)+` selftest:loop i=1 msg="message 1"`)
}

func cliTraceFormat(t *T) {
	p, pid := loopPeer(t)
	traceLoop(p, 6, "trace", "-p", pid, `selftest:loop (i > 3 || msg == "message 1") "%03d|%-12s|%x", i, msg, i * 100`, "-n", "3").expect(0, p.pid(),
		"TIME PID TID COMM FUNC -",
		"TIME PID TID "+comm(t)+" selftest:loop 001|message 1 |64",
		"TIME PID TID "+comm(t)+" selftest:loop 004|message 4 |190",
		"TIME PID TID "+comm(t)+" selftest:loop 005|message 5 |1f4")
}

func cliTraceJSON(t *T) {
	p, pid := loopPeer(t)
	traceLoop(p, 1, "trace", "-p", pid, "selftest:loop", "-n", "1", "--json").expect(0, p.pid(),
		`{"time":"TIME","pid":PID,"tid":TID,"cpu":CPU,"comm":"`+comm(t)+`","provider":"selftest","probe":"loop",`+
			`"args":[{"name":"i","type":"int64","value":0},{"name":"msg","type":"string","value":"message 0"}]}`)
}

func cliTraceURDT(t *T) {
	object := sharedObject(t)
	tracer := start(t, object, "trace", "urdt:selftest:job/2", "--string", "arg2", "--json", "-n", "2")
	p := startPeer(t, object)
	t.WaitFor("the trace is attached to the object", func() bool { return p.tell("enabled job") == "true" })
	tracer.waitLinks(1)
	for i, args := range [][]string{{"1", "one"}, {"-2", "two"}} {
		o := start(t, object, append([]string{"fire", provider, "job"}, args...)...).outcome()
		o.expectStatus(0)
		equal(t, fmt.Sprintf("standard error of fire %d", i+1), o.stderr, "")
	}
	o := tracer.outcome()
	o.stderr = "" // notes about processes that nobody may look at, in a container
	o.stdout = regexp.MustCompile(`"pid":\d+`).ReplaceAllString(o.stdout, `"pid":PID`)
	line := `{"time":"TIME","pid":PID,"tid":TID,"cpu":CPU,"comm":"` + comm(t) + `","provider":"selftest","probe":"job",` +
		`"args":[{"name":"arg1","type":"int64","value":%d},{"name":"arg2","type":"string","value":%q}]}`
	o.expect(0, -1, fmt.Sprintf(line, 1, "one"), fmt.Sprintf(line, -2, "two"))
}

func cliTraceCommand(t *T) {
	object := sharedObject(t)
	args := append([]string{"trace", "urdt:selftest:first/1", "--json", "--"}, t.command...)
	o := start(t, object, append(args, "fire", provider, "first", "42")...).outcome()
	o.expectStatus(0)
	equal(t, "the hit is seen", strings.Count(o.stdout, `"probe":"first","args":[{"name":"arg1","type":"int64","value":42}]`), 1)
	args = append([]string{"trace", "urdt:selftest:first/1", "--json", "--"}, t.command...)
	start(t, object, append(args, "fire", provider)...).outcome().expectStatus(2) // that of the command
}

func cliTraceInterrupt(t *T) {
	p, pid := loopPeer(t)
	tracer := start(t, "", "trace", "-p", pid, "selftest:loop", "--json")
	tracer.waitLinks(1)
	p.tell("fire 3")
	tracer.signal(syscall.SIGINT)
	o := tracer.outcome()
	o.expectStatus(0)
	equal(t, "events", strings.Count(o.stdout, "\n"), 3)
	equal(t, "the last one", strings.Contains(o.stdout, `"value":"message 2"`), true)
}

func cliTraceNear(t *T) {
	_, pid := loopPeer(t)
	o := nopfire(t, "trace", "-p", pid, "selftest:lopo")
	o.expectStatus(1)
	if !strings.Contains(o.stderr, "did you mean selftest:loop?") {
		t.Errorf("%s says %q", o.name, o.stderr)
	}
}

func cliArgdist(t *T) {
	p, pid := loopPeer(t)
	tracer := start(t, "", "argdist", "-p", pid, "-C", "selftest:loop i & 1", "-H", "selftest:loop i")
	tracer.waitLinks(2)
	p.tell("fire 9")
	tracer.signal(syscall.SIGINT)
	o := tracer.outcome()
	o.stderr = "" // the hint that it is gathering
	o.expect(0, p.pid(),
		"selftest:loop i & 1",
		"\tCOUNT EVENT",
		"\t4 i & 1 = 1",
		"\t5 i & 1 = 0",
		"selftest:loop i",
		" i : count distribution",
		" 0 : 1 |********** |",
		" 1 : 1 |********** |",
		" 2 -> 3 : 2 |******************** |",
		" 4 -> 7 : 4 |****************************************|",
		" 8 -> 15 : 1 |********** |")
}

// countLoop counts 100,000 hits.
func countLoop(t *T, args ...string) (o outcome, pid int) {
	p, id := loopPeer(t)
	tracer := start(t, "", append([]string{"count", "-p", id, "selftest:*"}, args...)...)
	tracer.waitLinks(1)
	p.tell("fire 100000")
	tracer.signal(syscall.SIGINT)
	o = tracer.outcome()
	o.stderr = ""
	return o, p.pid()
}

func cliCount(t *T) {
	o, pid := countLoop(t)
	o.expect(0, pid, " COUNT RATE PID COMM PROBE", " 100000 RATE PID "+comm(t)+" selftest:loop")
}

func cliCountJSON(t *T) {
	o, pid := countLoop(t, "--json")
	o.expect(0, pid, `{"kind":"count","from":"TIME","time":"TIME","clause":0,"provider":"selftest","probe":"loop","pid":PID,"comm":"`+comm(t)+`","key":[],"count":100000}`)
}

// loopProgram sends and counts the hits of selftest:loop.
const loopProgram = callHeader + `
struct hit { long i; char msg[16]; };
struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 4096); } hits SEC(".maps");
long sum;
SEC("usdt/*:selftest:loop") int BPF_USDT(on_loop, long i, const char *msg)
{
	struct hit *h = bpf_ringbuf_reserve(&hits, sizeof(*h), 0);
	if (!h)
		return 0;
	sum += i;
	h->i = i;
	bpf_probe_read_user_str(h->msg, sizeof(h->msg), msg);
	bpf_ringbuf_submit(h, 0);
	return 0;
}`

func cliRun(t *T) {
	file := filepath.Join(t.TempDir(), "loop.bpf.c")
	t.Must(os.WriteFile(file, []byte(loopProgram), 0o600))
	p, pid := loopPeer(t)
	traceLoop(p, 4, "run", file, "-p", pid, "-n", "4").expect(0, p.pid(),
		`hit i = 0, msg = "message 0"`, `hit i = 1, msg = "message 1"`,
		`hit i = 2, msg = "message 2"`, `hit i = 3, msg = "message 3"`,
		"sum = 6")
}

func cliCC(t *T) {
	dir := t.TempDir()
	file, object := filepath.Join(dir, "loop.bpf.c"), filepath.Join(dir, "loop.o")
	t.Must(os.WriteFile(file, []byte(loopProgram), 0o600))
	nopfire(t, "cc", "-o", object, file).expect(0, 0)
	p, pid := loopPeer(t)
	traceLoop(p, 1, "run", object, "-p", pid, "-n", "1", "--quiet").expect(0, p.pid(), `hit i = 0, msg = "message 0"`)

	t.Must(os.WriteFile(file, []byte(loopProgram[:len(loopProgram)-1]), 0o600))
	o := nopfire(t, "cc", "-o", object, file)
	o.expectStatus(1)
	want := fmt.Sprintf("loop.bpf.c:%d:", strings.Count(loopProgram, "\n")) // the last that is there
	if !strings.Contains(o.stderr, want) {
		t.Errorf("%s says %q, want the place %s", o.name, o.stderr, want)
	}
}

func cliDemo(t *T) {
	o := nopfire(t, "demo", "--json", "-n", "24")
	o.expectStatus(0)
	equal(t, "events", strings.Count(o.stdout, `"provider":"shop"`), 24)
	if !strings.Contains(o.stderr, "24 events, each equal to what process ") {
		t.Errorf("%s says %q", o.name, o.stderr)
	}
}

func cliDoctor(t *T) {
	o := nopfire(t, "doctor", "--json")
	o.expectStatus(0)
	lines := splitLines(o.stdout)
	equal(t, "the result", lines[max(0, len(lines)-1)], `{"kind":"result","traces":true}`)
}

// What the commands attached to is not traced any more when they have ended: a
// process that was started by none of them sees its shared site pristine.
func cliNothingLeft(t *T) {
	object := sharedObject(t)
	p := startPeer(t, object)
	enabled := func() bool { return p.tell("enabled job") == "true" }
	t.Untraced("the name, before the tracer,", enabled)
	tracer := start(t, object, "trace", abi.Provider+":selftest:job/2", "-p", fmt.Sprint(p.pid()))
	tracer.waitLinks(1)
	equal(t, "enabled with a tracer", enabled(), true)
	tracer.signal(syscall.SIGTERM)
	tracer.outcome().expectStatus(0)
	t.Untraced("the name, after the tracer,", enabled)
}
