package feature

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestCheckCachesConclusiveResults(t *testing.T) {
	cause := errors.New("EINVAL, said the kernel")
	for _, tc := range []struct {
		name      string
		results   []error // of the probe, in order
		wantErrs  []error // errors.Is target of each Check, nil for success
		wantCalls int
	}{
		{"yes is final", []error{nil}, []error{nil, nil, nil}, 1},
		{"no is final", []error{ErrNotSupported}, []error{ErrNotSupported, ErrNotSupported}, 1},
		{"no keeps its cause", []error{fmt.Errorf("%w: %w", ErrNotSupported, cause)}, []error{cause, cause}, 1},
		{"no privilege is tried anew", []error{syscall.EPERM, syscall.EPERM, nil}, []error{syscall.EPERM, syscall.EPERM, nil, nil}, 3},
		{"inconclusive, then no", []error{syscall.ENOMEM, ErrNotSupported}, []error{syscall.ENOMEM, ErrNotSupported, ErrNotSupported}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			calls := 0
			f := &Feature{Name: "thing", Since: "9.9", probe: func() error {
				calls++
				return tc.results[calls-1]
			}}
			for i, want := range tc.wantErrs {
				if err := f.Check(); !errors.Is(err, want) {
					t.Errorf("Check number %d = %v, want %v", i+1, err, want)
				}
			}
			if calls != tc.wantCalls {
				t.Errorf("probe ran %d times, want %d", calls, tc.wantCalls)
			}
		})
	}
}

func TestUnsupportedErrorNamesFeatureAndVersion(t *testing.T) {
	f := &Feature{Name: "thing", Since: "9.9", probe: func() error { return ErrNotSupported }}
	err := f.Check()
	var ue *UnsupportedError
	if !errors.As(err, &ue) || ue.Feature != "thing" || ue.Since != "9.9" {
		t.Fatalf("Check = %#v, want an UnsupportedError for thing since 9.9", err)
	}
	if got, want := err.Error(), "thing: not supported (needs Linux 9.9)"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}

func TestCheckConcurrently(t *testing.T) {
	calls := 0
	f := &Feature{probe: func() error { calls++; return nil }}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := f.Check(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if calls != 1 {
		t.Errorf("probe ran %d times, want once", calls)
	}
}

func TestParseCapEff(t *testing.T) {
	for _, tc := range []struct {
		status string
		want   CapSet
	}{
		{"Name:\tx\nCapEff:\t000001ffffffffff\nCapBnd:\t0\n", 0x1ffffffffff},
		{"CapEff:\t0000000000000000\n", 0},
		{"CapEff:\tnonsense\n", 0},
		{"", 0},
	} {
		if got := parseCapEff([]byte(tc.status)); got != tc.want {
			t.Errorf("parseCapEff(%q) = %#x, want %#x", tc.status, got, tc.want)
		}
	}
}

func TestMissing(t *testing.T) {
	set := func(cs ...Capability) (s CapSet) {
		for _, c := range cs {
			s |= 1 << c
		}
		return s
	}
	for _, tc := range []struct {
		name string
		have CapSet
		want string
	}{
		{"none", set(), "[CAP_BPF CAP_PERFMON]"},
		{"one", set(CapBPF), "[CAP_PERFMON]"},
		{"both", set(CapBPF, CapPerfmon), "[]"},
		{"sys_admin stands in", set(CapSysAdmin), "[]"},
	} {
		if got := fmt.Sprint(tc.have.Missing(TracingCaps...)); got != tc.want {
			t.Errorf("%s: missing %s, want %s", tc.name, got, tc.want)
		}
	}
	if got := fmt.Sprint(set(CapSysAdmin).Missing(CapSysPtrace)); got != "[CAP_SYS_PTRACE]" {
		t.Errorf("CAP_SYS_ADMIN must not stand in for CAP_SYS_PTRACE: missing %s", got)
	}
}

func TestExplain(t *testing.T) {
	if err := Explain("attach", nil); err != nil {
		t.Errorf("Explain(nil) = %v", err)
	}
	if err := Explain("attach", syscall.EINVAL); err != syscall.EINVAL { //nolint:errorlint // must be untouched
		t.Errorf("Explain(EINVAL) = %v, want it untouched", err)
	}
	err := Explain("attach", fmt.Errorf("link: %w", syscall.EPERM), TracingCaps...)
	var pe *PermissionError
	if !errors.As(err, &pe) || !errors.Is(err, syscall.EPERM) {
		t.Fatalf("Explain(EPERM) = %#v, want a PermissionError that wraps EPERM", err)
	}
	if again := Explain("load", err, TracingCaps...); again != err { //nolint:errorlint // must be untouched
		t.Errorf("a PermissionError was wrapped again: %v", again)
	}
	pe.Missing = []Capability{CapBPF, CapPerfmon}
	const want = "attach: operation not permitted: missing CAP_BPF and CAP_PERFMON (run as root, or give the program these capabilities)"
	if pe.Error() != want {
		t.Errorf("text is  %s\nwant     %s", pe, want)
	}
	pe.Missing = nil
	if !strings.Contains(pe.Error(), "lockdown") {
		t.Errorf("text %q does not say where else to look", pe)
	}
}
