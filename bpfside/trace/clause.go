package trace

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// maxLinearBuckets bounds the buckets of a LinearHist, which people read.
const maxLinearBuckets = 1000

// A clause is a Clause of a query, understood.
type clause struct {
	Clause
	index   int
	pattern usdt.Pattern
	name    *URDTName // that it traces instead of the probes of the pattern; nil for none

	// What has become of it so far: under Session.attaching.
	selected bool           // a probe was there to be traced
	fits     bool           // its expressions fit one, or it has none
	misfit   error          // why they did not fit the first
	told     map[string]int // of how many probes it was told that an expression does not fit them
}

// parseClauses understands the clauses of a query.
func parseClauses(list []Clause) ([]*clause, error) {
	if len(list) == 0 {
		return nil, errors.New("no clauses")
	}
	var clauses []*clause
	for i, c := range list {
		parsed, err := parseClause(c)
		if err != nil && len(list) > 1 {
			err = fmt.Errorf("clause %d: %w", i, err)
		}
		if err != nil {
			return nil, err
		}
		parsed.index = i
		clauses = append(clauses, parsed)
	}
	return clauses, nil
}

func parseClause(c Clause) (*clause, error) {
	p := &clause{Clause: c}
	if c.Path == "" {
		name, isName, err := ParseURDTName(c.Pattern)
		if err != nil {
			return nil, err
		}
		if isName {
			p.name = &name
		}
	}
	var err error
	if p.pattern, err = usdt.ParsePattern(c.Pattern); err != nil {
		return nil, err
	}
	hist := c.Aggregate == Log2Hist || c.Aggregate == LinearHist
	switch {
	case c.Aggregate > LinearHist:
		return nil, fmt.Errorf("aggregate %d is none", c.Aggregate)
	case len(c.Capture) > MaxCaptures:
		return nil, fmt.Errorf("%d captures, more than %d", len(c.Capture), MaxCaptures)
	case hist && c.Value == "":
		return nil, errors.New("a histogram of no value")
	case !hist && c.Value != "":
		return nil, fmt.Errorf("value %s, but no histogram", c.Value)
	case slices.ContainsFunc(c.Capture, func(c Capture) bool { return strings.TrimSpace(c.Expr) == "" }):
		return nil, errors.New("a capture of no expression")
	}
	if c.Aggregate == LinearHist {
		return p, c.Linear.check()
	}
	return p, nil
}

// check returns what is wrong with the bounds.
func (l Linear) check() error {
	switch {
	case l.Min >= l.Max:
		return fmt.Errorf("a histogram from %d up to %d", l.Min, l.Max)
	case l.Step <= 0:
		return fmt.Errorf("a histogram in steps of %d", l.Step)
	case l.buckets() > maxLinearBuckets:
		return fmt.Errorf("a histogram from %d up to %d in steps of %d has %d buckets, more than %d", l.Min, l.Max, l.Step, l.buckets(), maxLinearBuckets)
	}
	return nil
}

// buckets returns how many ranges there are between Min and Max.
func (l Linear) buckets() uint64 {
	// Modulo 2^64 the difference is right even where it is none of an int64.
	width, step := uint64(l.Max)-uint64(l.Min), uint64(l.Step)
	n := width / step
	if width%step != 0 {
		n++
	}
	return n
}

// takes reports whether the clause selects the probe of a target that was found in
// the files of its Path.
func (c *clause) takes(t *usdt.Target) bool {
	return c.name == nil && c.pattern.Match(t.Provider, t.Name)
}

// isGlob reports whether the pattern may select several probes.
func (c *clause) isGlob() bool {
	return strings.ContainsAny(c.Pattern, "*?") || c.pattern.Probe == "" || c.pattern.Probe == "*"
}

// counts reports whether hits are counted, and are no events.
func (c *clause) counts() bool { return c.Aggregate != Events }
