package doctor

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/nopfire/nopfire/internal/feature"
)

func TestTrial(t *testing.T) {
	lacking := &feature.UnsupportedError{Feature: "thing", Since: "9.9", Cause: syscall.EINVAL}
	denied := fmt.Errorf("probe for thing: %w", &feature.PermissionError{Op: "load", Missing: []feature.Capability{feature.CapBPF, feature.CapPerfmon}, Err: syscall.EPERM})
	inNamespace := &feature.PermissionError{Op: "load", UserNamespace: true, Err: syscall.EPERM}
	refusal := &feature.PermissionError{Op: "load", Err: fmt.Errorf("load: %w (MEMLOCK?)", syscall.EPERM)}
	for _, tc := range []struct {
		name           string
		needed, wanted bool
		said           string
		err            error
		want           Check // without group and name
		wantErr        string
	}{
		{"there", true, false, "", nil, Check{Status: OK, Found: "there"}, ""},
		{"there, and more to say", true, false, "at home", nil, Check{Status: OK, Found: "at home"}, ""},

		{"needed, the kernel lacks it", true, false, "", lacking,
			Check{Status: Missing, Found: "not supported (needs Linux 9.9): invalid argument; less", Remedy: "buy it"},
			"thing: thing: not supported (needs Linux 9.9): invalid argument"},
		{"needed, a capability is missing", true, false, "", denied,
			Check{Status: Missing, Found: "missing CAP_BPF and CAP_PERFMON; less", Remedy: privilegesFirst},
			"trace: operation not permitted: missing CAP_BPF and CAP_PERFMON (run as root, or give the program these capabilities)"},
		{"needed, refused in spite of capabilities", true, false, "", refusal,
			Check{Status: Missing, Found: "refused in spite of all capabilities: operation not permitted; less", Remedy: refused},
			"trace: operation not permitted, although the capabilities are there: lockdown, seccomp, a security module or a limit forbids it"},
		{"needed, in a user namespace", true, false, "", inNamespace,
			Check{Status: Missing, Found: "refused in this user namespace: operation not permitted; less", Remedy: userNamespaceFirst},
			"trace: operation not permitted: capabilities count in the initial user namespace only, and this process is in another"},
		{"needed, and it is not known why", true, false, "", errors.New("broken\nmore"),
			Check{Status: Missing, Found: "broken; less", Remedy: "buy it"}, "thing: broken\nmore"},

		{"wanted, the kernel lacks it", false, true, "", lacking,
			Check{Status: Missing, Found: "not supported (needs Linux 9.9): invalid argument; less", Remedy: "buy it"}, ""},
		{"wanted, a capability is missing", false, true, "", denied,
			Check{Status: Missing, Found: "missing CAP_BPF and CAP_PERFMON; less", Remedy: privilegesFirst}, ""},

		{"nice to have, the kernel lacks it", false, false, "", lacking,
			Check{Status: Note, Found: "not supported (needs Linux 9.9): invalid argument; less"}, ""},
		{"nice to have, a capability is missing", false, false, "", denied,
			Check{Status: Note, Found: "not known: missing CAP_BPF and CAP_PERFMON"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tr := trial{group: "G", name: "thing", found: "there", lost: "less", remedy: "buy it", needed: tc.needed, wanted: tc.wanted,
				try: func() (string, error) { return tc.said, tc.err }}
			got := tr.check()
			report := Report{Checks: []Check{{Group: "G", Name: "before"}, got}}
			err := report.Err()
			if (err == nil) != (tc.wantErr == "") || err != nil && err.Error() != tc.wantErr {
				t.Errorf("error  %v\nwant   %s", err, tc.wantErr)
			}
			var pe *feature.PermissionError
			if isPE := errors.As(tc.err, &pe); err != nil && errors.As(err, &pe) != isPE {
				t.Errorf("error %v is a permission error: %t, want %t", err, !isPE, isPE)
			}
			got.err = nil
			tc.want.Group, tc.want.Name = "G", "thing"
			if got != tc.want {
				t.Errorf("got   %+v\nwant  %+v", got, tc.want)
			}
		})
	}
}

// The first reason is the one that is told: the others follow from it.
func TestReportErr(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	r := Report{Checks: []Check{{Status: Missing, Remedy: "x"}, {err: first}, {err: second}}}
	if err := r.Err(); err != first { //nolint:errorlint // the very one
		t.Errorf("Err = %v, want the first", err)
	}
	if err := (&Report{Checks: []Check{{Status: Missing}}}).Err(); err != nil {
		t.Errorf("Err = %v, though tracing does not hinge on it", err)
	}
}
