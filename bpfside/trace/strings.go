package trace

import (
	"fmt"
	"strings"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// A stringRule is an entry of Options.Strings: which arguments are addresses of
// strings.
type stringRule struct {
	probe string // pattern for the name of the probe, "" for every probe
	arg   string // name or argN
	len   string // the argument with the number of bytes; "" for a string that ends in NUL
}

// parseStringRule reads [PROBE.]ARG[/LENGTH].
func parseStringRule(s string) (stringRule, error) {
	var r stringRule
	r.arg = s
	if i := strings.LastIndexByte(s, '.'); i >= 0 {
		r.probe, r.arg = s[:i], s[i+1:]
	}
	var counted bool
	r.arg, r.len, counted = strings.Cut(r.arg, "/")
	if r.arg == "" || counted && r.len == "" || strings.Contains(r.len, "/") || strings.HasPrefix(s, ".") {
		return r, fmt.Errorf("string argument %q: want [PROBE.]ARG[/LENGTH], such as arg1 or method__entry.arg2/arg3", s)
	}
	return r, nil
}

// parseStringRules reads Options.Strings.
func parseStringRules(names []string) ([]stringRule, error) {
	var rules []stringRule
	for _, s := range names {
		r, err := parseStringRule(s)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// A stringArg says that an argument is the address of a string, and which other
// one counts its bytes, -1 for none.
type stringArg struct{ len int }

// findStrings returns the arguments of a probe that the rules say are strings, by
// index. The first rule for an argument wins. An argument that cannot be an
// address, or whose length is no integer argument of the probe, is left as it is:
// a rule without a probe is for those probes that it fits.
func findStrings(rules []stringRule, probe string, args []stapsdt.Arg, params []usdt.Param) map[int]stringArg {
	found := make(map[int]stringArg)
	for _, r := range rules {
		if r.probe != "" && !(usdt.Pattern{Probe: r.probe}).Match("", probe) {
			continue
		}
		at, length := argNamed(r.arg, args, params), -1
		if r.len != "" {
			if length = argNamed(r.len, args, params); length < 0 || length == at || args[length].Float || args[length].Opaque() {
				continue
			}
		}
		if at < 0 {
			continue
		}
		if _, ok := found[at]; !ok {
			found[at] = stringArg{length}
		}
	}
	return found
}

// argNamed returns the index of the argument with a name, of the metadata or
// argN; -1 if there is none.
func argNamed(name string, args []stapsdt.Arg, params []usdt.Param) int {
	for i := range params {
		if params[i].Name == name {
			return i
		}
	}
	for i := range args {
		if argName(i) == name {
			return i
		}
	}
	return -1
}
