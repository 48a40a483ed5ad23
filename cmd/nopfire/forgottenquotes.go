package main

import "strings"

// forgottenQuotes returns an error if an argument behind a probe is none, and most
// likely belongs to that: a probe has a colon. For bpftrace a condition stands between
// slashes.
func forgottenQuotes(specs []string) error {
	for i, text := range specs {
		if i == 0 || strings.Contains(text, ":") {
			continue
		}
		probe := specs[i-1]
		if n := len(text); n > 2 && text[0] == '/' && text[n-1] == '/' {
			return usagef("%q is no probe: a condition stands in parentheses, in one argument with its probe: %q", text, probe+" ("+text[1:n-1]+")")
		}
		return usagef("%q is no probe: what stands behind a probe is in one argument with it: %q", text, probe+" EXPRESSION, ...")
	}
	return nil
}
