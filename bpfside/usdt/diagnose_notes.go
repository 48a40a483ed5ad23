package usdt

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// The steps from the notes to the instruction and what stands around it.

// checkFormat reads the notes.
func (d *diagnoser) checkFormat() bool {
	const step = "format"
	bad := 0
	for _, s := range d.notes {
		for n, err := range stapsdt.Notes(d.image.file.Machine, s.data) {
			if err == nil {
				d.raw = append(d.raw, n)
				continue
			}
			off, cause := noteFault(s.SectionHeader, err)
			if bad++; bad <= maxLines {
				d.caution(step, ReasonMalformedNote, "note at %#x of the file: %v", off, cause)
			}
		}
	}
	if bad > maxLines {
		d.caution(step, ReasonMalformedNote, "%d more malformed notes", bad-maxLines)
	}
	if len(d.raw) == 0 {
		return d.fault(step, ReasonMalformedNote, "section %s holds no note that can be read", stapsdt.Section)
	}
	d.ok(step, "%s", count(len(d.raw), "note"))
	return true
}

// checkBase tells whether the file was moved after its notes were written.
func (d *diagnoser) checkBase() bool {
	const step = "base"
	section := d.ef.Section(stapsdt.BaseSection)
	i := slices.IndexFunc(d.raw, func(n stapsdt.Note) bool { return n.Base != 0 })
	switch {
	case i < 0:
		d.ok(step, "the notes name no base: their addresses are those of the file")
	case section == nil:
		d.caution(step, ReasonNoBase, "there is no section %s: were the file moved, nobody could tell", stapsdt.BaseSection)
	case section.Addr != d.raw[i].Base:
		d.add(Check{Step: step, Reason: ReasonMoved, Text: fmt.Sprintf(
			"the file was moved by %+#x since the notes were written (prelink), which is taken into account", int64(section.Addr-d.raw[i].Base))})
	default:
		d.ok(step, "the file was not moved since the notes were written")
	}
	return true
}

// checkProbes chooses the probes.
func (d *diagnoser) checkProbes() bool {
	const step = "probe"
	f := d.image.file
	if err := f.read(d.file, d.image.size); err != nil {
		return d.fault(step, ReasonMalformed, "%v", err)
	}
	pattern := Pattern{}
	if d.Pattern != "" {
		pattern, _ = ParsePattern(d.Pattern)
	}
	var all []string
	for _, p := range f.Probes {
		all = append(all, p.String())
		if pattern.Match(p.Provider, p.Name) {
			d.targets = append(d.targets, &Target{Probe: *p, Path: d.Path, Open: d.open, ID: f.ID, PID: d.PID})
		}
	}
	for _, n := range d.raw {
		if n.Tombstone() && pattern.Match(n.Provider, n.Name) {
			d.discarded = append(d.discarded, n.Provider+":"+n.Name)
		}
	}
	if len(d.targets) > 0 {
		d.ok(step, "%s", someNames(d.targets))
		return true
	}
	if len(d.discarded) > 0 {
		return d.fault("location", ReasonDiscarded, "%s has notes, but no code", printable(d.discarded[0]))
	}
	if d.inLibrary(step) {
		return false
	}
	return d.fault(step, ReasonNoProbe, "%v", &NoProbeError{d.Pattern, printable(d.Path), nearProbes(pattern, all), len(all)})
}

// maxLines bounds the answers for single probes that a step gives for one reason.
const maxLines = 10

// count returns a number with what is counted.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// someNames names a few targets and counts the others.
func someNames(targets []*Target) string {
	const most = 3
	var names []string
	for _, t := range targets[:min(len(targets), most)] {
		names = append(names, printable(t.String()))
	}
	s := strings.Join(names, ", ")
	if n := len(targets) - most; n > 0 {
		s += fmt.Sprintf(" and %d more", n)
	}
	return s
}

// locations returns the number of all locations.
func (d *diagnoser) locations() int {
	n := 0
	for _, t := range d.targets {
		n += len(t.Locations)
	}
	return n
}

// A tally counts why locations of a target are of no use.
type tally struct {
	why   Reason
	n     int
	first error
}

// judge takes the reasons against the locations of a target: they are a Fault if no
// location is left.
func (d *diagnoser) judge(t *Target, step string, tallies []tally) {
	lost := 0
	for _, y := range tallies {
		lost += y.n
	}
	for _, y := range tallies {
		severity := Caution
		if lost == len(t.Locations) {
			severity = Fault
		}
		d.against(t, severity, step, y.why, "%d of %s: %v", y.n, count(len(t.Locations), "location"), y.first)
	}
}

// tallyOf counts the locations of a target for which why gives a reason.
func tallyOf(t *Target, why func(i int) (Reason, error)) []tally {
	var out []tally
	for i := range t.Locations {
		reason, err := why(i)
		if reason == "" {
			continue
		}
		at := slices.IndexFunc(out, func(y tally) bool { return y.why == reason })
		if at < 0 {
			at = len(out)
			out = append(out, tally{why: reason, first: err})
		}
		out[at].n++
	}
	return out
}

// checkLocations looks at where in the file the locations are.
func (d *diagnoser) checkLocations() {
	const step = "location"
	defer d.good(step, func() string { return count(d.locations(), "location") + " in executable segments" })()
	slices.Sort(d.discarded)
	for _, name := range slices.Compact(slices.Clone(d.discarded)) {
		d.few(Check{Step: step, Severity: Caution, Reason: ReasonDiscarded, Probe: name, Text: "a note of it has no code"})
	}
	for _, t := range d.targets {
		d.judge(t, step, tallyOf(t, func(i int) (Reason, error) {
			if err := t.Locations[i].Err; errors.Is(err, ErrNotExecutable) {
				return ReasonNotExecutable, err
			}
			return "", nil
		}))
	}
}

// checkInstructions decodes what stands at the locations.
func (d *diagnoser) checkInstructions() {
	const step = "instruction"
	d.sites = newSiteReader(d.file, d.image.size, d.Path, d.dec).all(d.targets)
	costs := make(map[Cost]int)
	d.told = make(map[Reason]int)
	for i, t := range d.targets {
		sites := d.sites[i]
		d.judge(t, step, tallyOf(t, func(i int) (Reason, error) {
			if s := &sites[i]; t.Locations[i].Err == nil {
				costs[s.Cost]++
				if s.Err != nil {
					return ReasonRefused, s.Err
				}
			}
			return "", nil
		}))
		for _, y := range tallyOf(t, func(i int) (Reason, error) {
			switch s := &sites[i]; {
			case s.Err != nil:
				return "", nil
			case s.Code == nil && !d.foreign:
				return ReasonNotDecodable, errors.New("it cannot be decoded")
			case s.Code != nil && !s.Nop:
				return ReasonNotANop, fmt.Errorf("it is %q and not a nop", s.Text)
			case s.Cost == SingleStep:
				return ReasonSingleStep, fmt.Errorf("the kernel single-steps %q", s.Text)
			}
			return "", nil
		}) {
			d.against(t, Caution, step, y.why, "%d of %s: %v", y.n, count(len(t.Locations), "location"), y.first)
		}
	}
	d.more(step, 0)
	var parts []string
	for c := Cost(0); int(c) < len(costNames); c++ {
		if costs[c] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", costs[c], c))
		}
	}
	if len(parts) > 0 {
		d.ok(step, "cost when traced: %s", strings.Join(parts, ", "))
	}
}

// checkSemaphores looks at the counters that tracers raise.
func (d *diagnoser) checkSemaphores() {
	const step = "semaphore"
	with := 0
	defer d.good(step, func() string {
		if with == 0 {
			return "there is none: the program need not be told that it is traced"
		}
		return count(with, "probe") + " with a semaphore, which the kernel raises while they are traced"
	})()
	shared := make(map[uint64]int)
	for _, t := range d.targets {
		has := false
		var two error // and so the kernel takes none
		byOffset := make(map[uint64]uint64)
		d.judge(t, step, tallyOf(t, func(i int) (Reason, error) {
			loc := &t.Locations[i]
			has = has || loc.Semaphore != 0
			switch {
			case errors.Is(loc.Err, ErrSemaphoreOdd):
				return ReasonSemaphoreOdd, loc.Err
			case errors.Is(loc.Err, ErrSemaphoreNotWritable):
				return ReasonSemaphoreUnwritable, loc.Err
			case loc.Err != nil:
				return "", nil
			}
			if loc.RefCtrOffset != 0 {
				shared[loc.RefCtrOffset]++
			}
			if first, ok := byOffset[loc.Offset]; ok && first != loc.RefCtrOffset {
				two = twoSemaphores(loc.Offset, first, loc.RefCtrOffset)
			}
			byOffset[loc.Offset] = loc.RefCtrOffset
			return "", nil
		}))
		if two != nil {
			d.against(t, Fault, step, ReasonTwoSemaphores, "%v", two)
		}
		if has {
			with++
		}
	}
	for off, n := range shared {
		if n > MaxSharedSemaphore {
			d.few(Check{Step: step, Severity: Caution, Reason: ReasonSemaphoreOverflow,
				Text: fmt.Sprintf("%d locations share the semaphore at %#x, which counts to %d", n, off, MaxSharedSemaphore)})
		}
	}
}

// checkArguments tells which arguments a BPF program cannot read.
func (d *diagnoser) checkArguments() {
	const step = "arguments"
	if d.foreign {
		return
	}
	n := 0
	defer d.good(step, func() string {
		if n == 0 {
			return "there are none"
		}
		return count(n, "argument") + ", which can be read"
	})()
	frame := Frame{Ctx: asm.R6, Dst: asm.R7, Scratch: -8}
	for _, t := range d.targets {
		seen := make(map[string]bool) // layouts, of which a probe with many locations has few
		for i := range t.Locations {
			loc := &t.Locations[i]
			layout := loc.layout()
			if loc.Err != nil || seen[layout] {
				continue
			}
			seen[layout] = true
			for i, arg := range loc.Args() {
				n++
				if _, err := LoadArg(loc.Machine, &arg, frame); err != nil {
					d.against(t, Caution, step, ReasonArgument, "argument %d at %#x: %v", i+1, loc.Address, err)
				}
			}
		}
	}
}

// checkTracers looks for others who trace the same instructions with another semaphore,
// as far as BPF links tell: the kernel takes both or none.
func (d *diagnoser) checkTracers() {
	const step = "tracers"
	if d.foreign {
		return
	}
	var places []place
	owner := make(map[uint64]*Target) // of an offset
	for i, t := range d.targets {
		for j := range t.Locations {
			if t.Locations[j].Err != nil || d.sites[i][j].Err != nil {
				continue
			}
			p := place{offset: t.Locations[j].Offset + uint64(d.sites[i][j].Shift), refCtr: t.Locations[j].RefCtrOffset}
			places = append(places, p)
			owner[p.offset] = t
		}
	}
	told := make(map[*Target]bool)
	defer d.good(step, func() string { return "no BPF link holds a location with another semaphore" })()
	err := eachConflict(d.image.file.ID, places, isFile, func(offset uint64, holder string) bool {
		if t := owner[offset]; !told[t] {
			told[t] = true
			d.against(t, Fault, step, ReasonConflict, "%s holds the location at %#x", holder, offset)
		}
		return true
	})
	if err != nil {
		d.caution(step, ReasonNoAccess, "others who trace could not be looked at: %v", err)
	}
}
