package usdt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// A Severity says how bad an answer of a Diagnosis is.
type Severity uint8

// The severities.
const (
	// OK: it is as it should be.
	OK Severity = iota
	// Caution: it does not hinder, but costs something, or part of what was
	// asked for.
	Caution
	// Fault: it is why a probe cannot be seen or traced.
	Fault
)

var severityNames = [...]string{"ok", "caution", "problem"}

// String returns "ok", "caution" or "problem".
func (s Severity) String() string {
	if int(s) < len(severityNames) {
		return severityNames[s]
	}
	return "invalid"
}

// A Check is one answer of a Diagnosis.
type Check struct {
	// Step says what was looked at, in the order in which a probe comes to be
	// traced: "file", "elf", "machine", "sections", "notes", "format", "base",
	// "probe", "location", "instruction", "semaphore", "arguments", "tracers";
	// and "process", "mapping", "memory" in a process. Of a name of run time they
	// are "process", "object", "name".
	Step     string
	Severity Severity
	// Reason identifies what is wrong, "" if nothing is. docs/prerequisites.md
	// has all of them.
	Reason Reason
	// Probe is the PROVIDER:NAME that it is about, "" if about all of them or
	// about the file.
	Probe string
	// Text says what was found, and Remedy what can be done; "" if nothing need.
	Text, Remedy string
}

// A Diagnosis tells whether probes can be seen and traced, and if not why.
type Diagnosis struct {
	// Path is the file that was looked at, Pattern what was asked for, and PID
	// the process, 0 if none was asked for.
	Path, Pattern string
	PID           int
	// Checks are the answers, in the order of their steps. After a Fault that
	// leaves nothing to be looked at there are no more.
	Checks []Check
	// Probes is the number of probes that were asked for and are there, and
	// Traceable that of those that can be traced.
	Probes, Traceable int
}

// Fine reports whether there is what was asked for, and all of it can be traced.
func (d *Diagnosis) Fine() bool { return d.Probes > 0 && d.Traceable == d.Probes }

// DiagnoseOptions say what to look at. The zero value is all probes of the file, in no
// process.
type DiagnoseOptions struct {
	// Pattern selects probes as ParsePattern reads it; "" is all.
	Pattern string
	// PID is a process that should have the file mapped.
	PID int
}

// Diagnose finds out whether the probes of a file can be seen and traced here, and by
// the kernel in a process, if one is asked for: with each reason against it and what
// can be done. Of a process alone, with an empty path, it takes the files with the
// wanted probes that the process has mapped; one Diagnosis for each, or one that says
// why there is none. Without a path, the pattern urdt:PROVIDER:NAME stands for a
// tracepoint that is defined at run time, in a process or anywhere.
//
// Nothing is changed or attached. What may not be looked at for want of privilege is
// told as a Caution. The error is that of the pattern.
func Diagnose(path string, o *DiagnoseOptions) ([]*Diagnosis, error) {
	if o == nil {
		o = new(DiagnoseOptions)
	}
	if o.Pattern != "" {
		if _, err := ParsePattern(o.Pattern); err != nil {
			return nil, err
		}
	}
	dg := &diagnoser{Diagnosis: &Diagnosis{Path: path, Pattern: o.Pattern, PID: o.PID}, dec: thisKernel()}
	provider, name, isURDT := cutURDTName(o.Pattern)
	switch {
	case path != "":
		dg.run()
	case isURDT:
		dg.runURDT(provider, name)
	case o.PID > 0:
		return dg.processAlone(), nil
	default:
		return nil, errors.New("diagnose: neither a file nor a process nor a name of run time")
	}
	return []*Diagnosis{dg.Diagnosis}, nil
}

// A diagnoser fills a Diagnosis.
type diagnoser struct {
	*Diagnosis
	dec *decoder

	// What the steps leave to later ones.
	open    string   // the path by which the file is opened
	file    *os.File // closed by run
	ef      *elfFile
	image   *image
	foreign bool // code for another machine than the kernel's
	notes   []noteSection
	raw     []stapsdt.Note

	targets   []*Target // that were asked for
	discarded []string  // notes without code, by the name of the probe
	sites     [][]Site
	bad       map[*Target]bool // that cannot be traced
	told      map[Reason]int   // answers for single probes in this step
}

// add takes an answer, with the remedy of its reason.
func (d *diagnoser) add(c Check) {
	if c.Remedy == "" {
		c.Remedy = remedies[c.Reason]
	}
	d.Checks = append(d.Checks, c)
}

func (d *diagnoser) ok(step, format string, args ...any) {
	d.add(Check{Step: step, Text: fmt.Sprintf(format, args...)})
}

func (d *diagnoser) caution(step string, why Reason, format string, args ...any) {
	d.add(Check{Step: step, Severity: Caution, Reason: why, Text: fmt.Sprintf(format, args...)})
}

// fault takes a reason against all probes. It returns false, for a step that nothing
// can follow.
func (d *diagnoser) fault(step string, why Reason, format string, args ...any) bool {
	d.add(Check{Step: step, Severity: Fault, Reason: why, Text: fmt.Sprintf(format, args...)})
	return false
}

// against takes a reason against one probe: a Fault if nothing is left of it, else a
// Caution.
func (d *diagnoser) against(t *Target, severity Severity, step string, why Reason, format string, args ...any) {
	if severity == Fault {
		d.bad[t] = true
	}
	d.few(Check{Step: step, Severity: severity, Reason: why, Probe: t.String(), Text: fmt.Sprintf(format, args...)})
}

// few takes an answer for a single probe, of which it counts the tenth and later ones
// of a step and reason only.
func (d *diagnoser) few(c Check) {
	if d.told[c.Reason]++; d.told[c.Reason] <= maxLines {
		d.add(c)
	}
}

// good begins a step. What it returns ends the step: with a good answer if there was
// no other.
func (d *diagnoser) good(step string, text func() string) (end func()) {
	d.told = make(map[Reason]int)
	from := len(d.Checks)
	return func() {
		d.more(step, from)
		if len(d.Checks) == from {
			d.ok(step, "%s", text())
		}
	}
}

// more tells how many answers for single probes few has left out, of those from a
// place in Checks on.
func (d *diagnoser) more(step string, from int) {
	for _, c := range slices.Clone(d.Checks[from:]) {
		if n := d.told[c.Reason] - maxLines; n > 0 && c.Step == step {
			d.told[c.Reason] = 0
			d.add(Check{Step: step, Severity: c.Severity, Reason: c.Reason, Text: "the same of " + count(n, "more probe")})
		}
	}
}

// run takes all steps, as far as they lead.
func (d *diagnoser) run() {
	d.bad = make(map[*Target]bool)
	defer func() {
		if d.file != nil {
			d.file.Close()
		}
	}()
	steps := []func() bool{
		d.checkFile, d.checkELF, d.checkMachine, d.checkSections, d.checkNotes, d.checkFormat, d.checkBase, d.checkProbes,
	}
	for _, step := range steps {
		if !step() {
			return
		}
	}
	d.Probes = len(d.targets)
	d.checkLocations()
	d.checkInstructions()
	d.checkSemaphores()
	d.checkArguments()
	d.checkTracers()
	inProcess := d.PID == 0 || d.checkProcess()
	if inProcess && !d.foreign {
		d.Traceable = d.Probes - len(d.bad)
	}
}

// processAlone diagnoses the probes of a process, in whatever files they are.
func (d *diagnoser) processAlone() []*Diagnosis {
	var patterns []string
	if d.Pattern != "" {
		patterns = []string{d.Pattern}
	}
	d.bad = make(map[*Target]bool)
	if !d.checkAlive() {
		return []*Diagnosis{d.Diagnosis}
	}
	found, err := ProcessTargets(d.PID, patterns...)
	var noProbe *NoProbeError
	switch {
	case errors.As(err, &noProbe):
		d.fault("probe", ReasonNoProbe, "%v", err)
		d.checkNamesake()
	case err != nil:
		d.fault("process", ReasonNoAccess, "%v", err)
	case len(found.Targets) == 0:
		d.fault("probe", ReasonNoProbe, "process %d has mapped no file with probes", d.PID)
	}
	for _, p := range found.Problems {
		d.caution("mapping", ReasonNoAccess, "%v", p)
	}
	if len(found.Targets) == 0 {
		return []*Diagnosis{d.Diagnosis}
	}
	// One for each file, by the path that leads to the mapped one.
	var all []*Diagnosis
	seen := make(map[FileID]bool)
	for _, t := range found.Targets {
		if seen[t.ID] {
			continue
		}
		seen[t.ID] = true
		of := &diagnoser{Diagnosis: &Diagnosis{Path: t.Path, Pattern: d.Pattern, PID: d.PID}, dec: d.dec, open: t.Open}
		of.run()
		all = append(all, of.Diagnosis)
	}
	return all
}

// checkNamesake looks for the wanted probe among those defined at run time.
func (d *diagnoser) checkNamesake() {
	names, _ := RegisteredNames(d.PID)
	p, _ := ParsePattern(d.Pattern)
	for _, n := range names {
		if p.Match(n.Provider, n.Name) {
			d.Checks[len(d.Checks)-1].Remedy = fmt.Sprintf(
				"the process has registered a tracepoint of that name, which is defined at run time: trace urdt:%s", printable(n.Provider+":"+n.Name))
			return
		}
	}
}

// name returns the last element of the path of the file.
func (d *diagnoser) name() string { return printable(filepath.Base(d.Path)) }
