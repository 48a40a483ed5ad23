package procmaps

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/internal/testutils"
)

func TestMain(m *testing.M) { testutils.Main(m) }

// lines are lines of maps files and what they mean. They also seed the fuzzer.
var lines = []struct {
	name, line string
	want       Mapping
	msg        string // of the FormatError, if any
}{
	{
		"executable file",
		"55d3c8a00000-55d3c8a2c000 r-xp 00002000 08:01 1048602                    /usr/bin/cat",
		Mapping{0x55d3c8a00000, 0x55d3c8a2c000, 0x2000, Read | Exec, 8, 1, 1048602, "/usr/bin/cat", false}, "",
	},
	{
		"memfd",
		"7f0000000000-7f0000001000 r-xp 00000000 00:01 4242                       /memfd:nopfire:app (deleted)",
		Mapping{0x7f0000000000, 0x7f0000001000, 0, Read | Exec, 0, 1, 4242, "/memfd:nopfire:app", true}, "",
	},
	{
		"shared, wide device number",
		"7f0000000000-7f0000001000 rw-s 00000000 103:abcde 7                      /dev/x",
		Mapping{0x7f0000000000, 0x7f0000001000, 0, Read | Write | Shared, 0x103, 0xabcde, 7, "/dev/x", false}, "",
	},
	{
		"anonymous",
		"7f0000000000-7f0000001000 rw-p 00000000 00:00 0 ",
		Mapping{Start: 0x7f0000000000, End: 0x7f0000001000, Perms: Read | Write}, "",
	},
	{
		"named anonymous",
		"7ffd0000000-7ffd0021000 ---p 00000000 00:00 0                          [stack]",
		Mapping{Start: 0x7ffd0000000, End: 0x7ffd0021000, Path: "[stack]"}, "",
	},
	{
		"blanks and newline in the name",
		`1000-2000 r-xp 00000000 08:01 5                          /tmp/a  b\0121000-2000 r-xp`,
		Mapping{0x1000, 0x2000, 0, Read | Exec, 8, 1, 5, "/tmp/a  b\n1000-2000 r-xp", false}, "",
	},
	{
		"name deleted twice",
		"1000-2000 r-xp 00000000 08:01 5                          /tmp/a (deleted) (deleted)",
		Mapping{0x1000, 0x2000, 0, Read | Exec, 8, 1, 5, "/tmp/a (deleted)", true}, "",
	},
	{
		"top of the address space",
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]",
		Mapping{Start: 0xffffffffff600000, End: 0xffffffffff601000, Perms: Exec, Path: "[vsyscall]"}, "",
	},
	{"no range", "hello world", Mapping{}, "no address range"},
	{"range backwards", "2000-1000 r-xp 00000000 08:01 5", Mapping{}, "no address range"},
	{"range too large", "0-10000000000000000 r-xp 00000000 08:01 5", Mapping{}, "no address range"},
	{"permissions short", "1000-2000 r-x 00000000 08:01 5", Mapping{}, "no permissions"},
	{"permissions unknown", "1000-2000 rqxp 00000000 08:01 5", Mapping{}, "no permissions"},
	{"sharing unknown", "1000-2000 r-xq 00000000 08:01 5", Mapping{}, "no permissions"},
	{"offset missing", "1000-2000 r-xp", Mapping{}, "no offset"},
	{"device missing", "1000-2000 r-xp 0", Mapping{}, "no device number"},
	{"device without minor", "1000-2000 r-xp 0 08 5", Mapping{}, "no device number"},
	{"inode in hex", "1000-2000 r-xp 0 08:01 5f", Mapping{}, "no inode number"},
}

func TestParseLine(t *testing.T) {
	for _, tc := range lines {
		t.Run(tc.name, func(t *testing.T) {
			got := collect(t, strings.NewReader(tc.line+"\n"))
			if len(got) != 1 {
				t.Fatalf("%d results for one line", len(got))
			}
			if diff := cmp.Diff(tc.want, got[0].m); diff != "" {
				t.Errorf("mapping (-want +got):\n%s", diff)
			}
			want := ""
			if tc.msg != "" {
				want = "maps line 1: " + tc.msg
			}
			if text(got[0].err) != want {
				t.Errorf("error %q, want %q", text(got[0].err), want)
			}
		})
	}
}

type result struct {
	m   Mapping
	err error
}

func collect(t *testing.T, r io.Reader) (got []result) {
	t.Helper()
	for m, err := range Parse(r) {
		got = append(got, result{m, err})
	}
	return got
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

const good = "1000-2000 r-xp 00000000 08:01 5 /bin/x\n"

func TestParseGoesOnAfterBadLine(t *testing.T) {
	long := "1000-2000 r-xp 00000000 08:01 5 /" + strings.Repeat("x", 3*maxLine) + "\n"
	got := collect(t, strings.NewReader(good+"nonsense\n"+long+"\n"+good))
	want := []string{"", "maps line 2: no address range", "maps line 3: longer than 16640 bytes", ""}
	if len(got) != len(want) {
		t.Fatalf("%d results, want %d: %v", len(got), len(want), got)
	}
	for i, w := range want {
		if text(got[i].err) != w {
			t.Errorf("result %d: error %q, want %q", i, text(got[i].err), w)
		}
	}
}

func TestParseEnds(t *testing.T) {
	boom := errors.New("boom")
	got := collect(t, io.MultiReader(strings.NewReader(good), iotest.ErrReader(boom)))
	if len(got) != 2 || got[0].err != nil || !errors.Is(got[1].err, boom) {
		t.Errorf("results %v, want one mapping and the read error", got)
	}
	if got := collect(t, strings.NewReader(strings.TrimSuffix(good, "\n"))); len(got) != 1 || got[0].err != nil {
		t.Errorf("results %v for a last line without newline, want one mapping", got)
	}
	for range Parse(strings.NewReader(good + good)) {
		break // must not go on, nor panic
	}
}

func TestOfSelf(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("skipped: no /proc/PID/maps on " + runtime.GOOS)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	exe, err = filepath.EvalSymlinks(exe)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for m, err := range Of(os.Getpid()) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Perms&Exec == 0 || m.Path != exe {
			continue
		}
		found = true
		// map_files leads to the same file, where it is permitted.
		link, err := os.Readlink(m.MapFile(os.Getpid()))
		if err == nil && link != exe {
			t.Errorf("%s leads to %q, want %q", m.MapFile(os.Getpid()), link, exe)
		}
	}
	if !found {
		t.Errorf("no executable mapping of %s", exe)
	}
}

func TestOfNobody(t *testing.T) {
	n := 0
	for _, err := range Of(1 << 30) {
		n++
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("error %v, want one that wraps os.ErrNotExist", err)
		}
	}
	if n != 1 {
		t.Errorf("%d results, want one error", n)
	}
	if err := gone(syscall.ESRCH); runtime.GOOS == "linux" && !errors.Is(err, os.ErrNotExist) {
		t.Errorf("gone(ESRCH) = %v, want an error that wraps os.ErrNotExist", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, tc := range lines {
		f.Add([]byte(tc.line))
	}
	f.Add([]byte(good + "\n\n" + good))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		for m, err := range Parse(bytes.NewReader(data)) {
			n++
			if err != nil && m != (Mapping{}) {
				t.Errorf("both a mapping %v and an error %v", m, err)
			}
			if err == nil && (m.End < m.Start || strings.HasSuffix(m.Perms.String(), "-")) {
				t.Errorf("impossible mapping %v", m)
			}
		}
		if n > bytes.Count(data, []byte("\n"))+1 {
			t.Errorf("%d results from %d lines", n, bytes.Count(data, []byte("\n"))+1)
		}
	})
}
