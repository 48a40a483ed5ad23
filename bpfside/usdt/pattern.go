package usdt

import (
	"fmt"
	"strings"
)

// A Pattern selects probes: PROVIDER:PROBE, where in both parts '*' stands for
// any run of bytes and '?' for any one byte, and an empty part is '*'.
type Pattern struct{ Provider, Probe string }

// ParsePattern reads a pattern. The probe part ends at the end of the string, so
// it may hold further colons, as nothing forbids them in a note.
func ParsePattern(s string) (Pattern, error) {
	provider, probe, ok := strings.Cut(s, ":")
	if !ok {
		return Pattern{}, fmt.Errorf("pattern %q: want PROVIDER:PROBE, such as %q", s, s+":*")
	}
	return Pattern{provider, probe}, nil
}

// String returns the pattern as ParsePattern reads it.
func (p Pattern) String() string { return p.Provider + ":" + p.Probe }

// Match reports whether the probe belongs to those that the pattern selects.
func (p Pattern) Match(provider, probe string) bool {
	return globEmpty(p.Provider, provider) && globEmpty(p.Probe, probe)
}

func globEmpty(pattern, s string) bool { return pattern == "" || glob(pattern, s) }

// glob matches s with a pattern of '*' and '?'. A mismatch goes back to the last
// star only: a later star can take whatever an earlier one could have left, so
// the time is at most len(pattern)*len(s).
func glob(pattern, s string) bool {
	p, i := 0, 0
	star, mark := -1, 0 // the last star, and where its run may grow from
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
