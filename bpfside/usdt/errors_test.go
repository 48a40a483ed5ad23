package usdt

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNear(t *testing.T) {
	names := []string{"app:request", "app:requests", "app:request_done", "lib:request", "app:response", "x:y", "x:y"}
	for _, tc := range []struct {
		want string
		near []string
	}{
		{"app:reqest", []string{"app:request", "app:requests"}},
		{"app:request", []string{"app:request", "app:requests", "lib:request"}},
		{"x:z", []string{"x:y"}},
		{"nothing:like:it", []string{}},
		{strings.Repeat("x", 10000), []string{}},
	} {
		if diff := cmp.Diff(tc.near, near(tc.want, names)); diff != "" {
			t.Errorf("near(%.20q) (-want +got):\n%s", tc.want, diff)
		}
	}
}

func TestNearProbes(t *testing.T) {
	names := []string{"shop:order", "shop:payment", "store:order", "website:refused"}
	for _, tc := range []struct {
		pattern string
		near    []string
	}{
		{"shop:odrer", []string{"shop:order"}},
		{":odrer", []string{"shop:order", "store:order"}},
		{"*:paymnt", []string{"shop:payment"}},
		{"shp:", []string{"shop:order", "shop:payment"}},
		{"stroe:*", []string{"store:order"}},
		{"*:*", []string{}},
		{"a*:x", []string{}},
	} {
		p, err := ParsePattern(tc.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.near, nearProbes(p, names)); diff != "" {
			t.Errorf("nearProbes(%q) (-want +got):\n%s", tc.pattern, diff)
		}
	}
}

func TestErrorTexts(t *testing.T) {
	for _, tc := range []struct {
		err  error
		is   error
		want string
	}{
		{&NoProbeError{"app:x", "/bin/x", []string{"app:y"}, 3}, ErrNoProbe, "app:x: no such probe in /bin/x: did you mean app:y?"},
		{&NoProbeError{"app:x", "/bin/x", nil, 0}, ErrNoProbe, "app:x: no such probe in /bin/x: there are none at all"},
		{&NoProbeError{"app:x", "process 7", nil, 1}, ErrNoProbe, "app:x: no such probe in process 7: there is one other"},
		{&NoProbeError{"app:x", "process 7", nil, 3}, ErrNoProbe, "app:x: no such probe in process 7: there are 3 others"},
		{&NoProbeError{"app:x\x07", "process 7", []string{"app:\u009b2J"}, 3}, ErrNoProbe, `"app:x\a": no such probe in process 7: did you mean "app:\u009b2J"?`},
		{&FileError{"/bin/x", ".note.stapsdt", 0x1f4, "app:x", io.ErrUnexpectedEOF}, io.ErrUnexpectedEOF, "/bin/x: .note.stapsdt: at 0x1f4: app:x: unexpected EOF"},
		{&FileError{"", "", -1, "", ErrNotELF}, ErrNotELF, "not an ELF file"},
		{&FileError{"/tmp/a\nb", "", -1, "", ErrNotELF}, ErrNotELF, `"/tmp/a\nb": not an ELF file`},
		{&AttachError{"app", "x", "/bin/x", 0, 7, UprobeMulti, ErrChanged}, ErrChanged, "attach to app:x in /bin/x of process 7 by uprobe_multi: file has changed since its notes were read"},
		{&AttachError{"app", "x", "/bin/x", 3, 0, PerfEvent, ErrChanged}, ErrChanged, "attach to app:x and 3 other probes in /bin/x by perf_event: file has changed since its notes were read"},
		{&ConflictError{[]string{"bpf link 3"}, io.EOF}, io.EOF, "EOF: another tracer holds a location with another semaphore setting: bpf link 3"},
	} {
		if tc.err.Error() != tc.want {
			t.Errorf("text %q, want %q", tc.err, tc.want)
		}
		if !errors.Is(tc.err, tc.is) {
			t.Errorf("%v is not %v", tc.err, tc.is)
		}
	}
}
