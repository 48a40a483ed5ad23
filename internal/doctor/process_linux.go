package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/feature"
)

// process looks at a process that is to be traced. It attaches nothing.
func process(pid int) []Check { return thisHost().process(pid, usdt.ProcessTargets) }

// process does with what finds the probes.
func (h *host) process(pid int, find func(pid int, patterns ...string) (*usdt.Result, error)) []Check {
	var checks []Check
	add := func(name string, status Status, found, remedy string, err error) {
		checks = append(checks, Check{Group: GroupProcess, Name: name, Status: status, Found: found, Remedy: remedy, err: err})
	}
	dir := "/proc/" + strconv.Itoa(pid)
	status := dir + "/status"
	if _, err := h.read(status); err != nil {
		what := firstLine(err)
		if errors.Is(err, fs.ErrNotExist) {
			what = "there is no process " + strconv.Itoa(pid)
		}
		add("process", Missing, what, "the id as ps shows it here: in another PID namespace the same process has another", fmt.Errorf("process %d: %w", pid, os.ErrNotExist))
		return checks
	}
	uid, _, _ := strings.Cut(statusLine(h, status, "Uid"), "\t")
	add("process", OK, fmt.Sprintf("%d %s, of user id %s", pid, statusLine(h, status, "Name"), uid), "", nil)
	if tgid := statusLine(h, status, "Tgid"); tgid != "" && tgid != strconv.Itoa(pid) {
		add("thread", Missing, "is a thread of process "+tgid, "nopfire doctor -p "+tgid, fmt.Errorf("process %d: is a thread of process %s", pid, tgid))
		return checks
	}
	if state := statusLine(h, status, "State"); strings.HasPrefix(state, "Z") {
		add("state", Missing, "has ended, and its parent has not waited for it", "a process that runs", fmt.Errorf("process %d: has ended", pid))
		return checks
	}
	if ids := strings.Fields(statusLine(h, status, "NSpid")); len(ids) > 1 {
		add("pid namespace of the process", OK, "one below this: inside it is process "+ids[len(ids)-1], "", nil)
	}
	for _, ns := range []struct{ kind, name, other string }{
		{"mnt", "mount namespace of the process", "another (a container): its files are opened as it sees them"},
		{"user", "user namespace of the process", "another: no obstacle to who may trace at all"},
	} {
		mine, err1 := h.readlink("/proc/self/ns/" + ns.kind)
		its, err2 := h.readlink(dir + "/ns/" + ns.kind)
		switch {
		case err1 != nil || err2 != nil:
			add(ns.name, Note, "not known, as the process cannot be looked at", "", nil)
		case mine == its:
			add(ns.name, OK, "this one", "", nil)
		default:
			add(ns.name, OK, ns.other, "", nil)
		}
	}

	found, err := find(pid)
	if err != nil {
		c := Check{Group: GroupProcess, Name: "mappings", Status: Missing, Found: reason(err), err: err}
		c.Remedy = "run as root, or with CAP_SYS_PTRACE"
		var pe *feature.PermissionError
		switch {
		case !errors.As(err, &pe):
			c.Remedy = "a process that runs"
		case len(pe.Missing) == 0:
			c.Remedy = "none by capabilities: a security module forbids to look at this process"
		case uid == strconv.Itoa(h.uid):
			// __ptrace_may_access of kernel/ptrace.c.
			c.Found += ": the process is of this user, but has capabilities, or is not dumpable (PR_SET_DUMPABLE; a setuid program)"
		}
		return append(checks, c)
	}
	add("mappings", OK, "can be read", "", nil)
	return append(checks, probes(pid, found))
}

// probes sums up what probes a process has.
func probes(pid int, found *usdt.Result) Check {
	c := Check{Group: GroupProcess, Name: "probes"}
	locations, broken := 0, 0
	providers, files := make(map[string]bool), make(map[usdt.FileID]bool)
	for _, t := range found.Targets {
		providers[t.Provider], files[t.ID] = true, true
		for i := range t.Locations {
			locations++
			if t.Locations[i].Err != nil {
				broken++
			}
		}
	}
	unread := ""
	if n := len(found.Problems); n > 0 {
		unread = fmt.Sprintf("; %s (nopfire list -p %d): %s", count(n, "fault"), pid, firstLine(found.Problems[0]))
	}
	if locations == broken {
		c.Status, c.Found, c.Remedy = Missing, "none that could be attached to"+unread, fmt.Sprintf("nopfire list --why -p %d FILE says of a program or library why its probes are not seen", pid)
		c.err = fmt.Errorf("process %d has no probe that could be attached to", pid)
		return c
	}
	c.Found = fmt.Sprintf("%d, of %s in %s%s", len(found.Targets), count(len(providers), "provider"), count(len(files), "file"), unread)
	return c
}

// count writes a number of things.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
