package usdt_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// A piece is a part of a file that this process maps.
type piece struct {
	off, size int
	prot      int
	flags     int
}

func mapPiece(t *testing.T, path string, p piece) []byte {
	t.Helper()
	flags := os.O_RDONLY
	if p.flags&unix.MAP_SHARED != 0 && p.prot&unix.PROT_WRITE != 0 {
		flags = os.O_RDWR
	}
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mem, err := unix.Mmap(int(f.Fd()), int64(p.off), p.size, p.prot, p.flags)
	if err != nil {
		t.Fatalf("mmap %+v: %v", p, err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(mem); err != nil {
			t.Error(err)
		}
	})
	return mem
}

// How a process may map the code and the semaphore of a probe, and what the diagnosis
// says of it. The process is this one.
func TestDiagnoseMapped(t *testing.T) {
	const (
		r, w, x         = unix.PROT_READ, unix.PROT_WRITE, unix.PROT_EXEC
		private, shared = unix.MAP_PRIVATE, unix.MAP_SHARED
	)
	code := func(prot, flags int) piece { return piece{0x1000, 0x1000, prot, flags} }
	data := func(prot, flags int) piece { return piece{0x2000, 0x1000, prot, flags} }
	semaphore := stapsdt.Note{Provider: "app", Name: "p", Location: sickAt, Semaphore: 0x23010}
	for _, tc := range []struct {
		name   string
		maps   []piece
		after  func(t *testing.T, path string, mem [][]byte)
		before string   // an answer before those
		want   []string // of the steps in the process
		text   string
		fine   bool
	}{
		{name: "as a loader does", maps: []piece{code(r|x, private), data(r|w, private)},
			want: []string{"ok process", "ok mapping", "ok memory"}, text: "1 location as in the file: nobody traces there now", fine: true},
		{name: "not at all", want: []string{"ok process", "problem mapping [not-mapped]"}},
		{name: "to read only", maps: []piece{code(r, private), data(r|w, private)},
			want: []string{"ok process", "problem mapping [mapped-without-exec]"}, text: "nothing of it executable"},
		{name: "another part of it", maps: []piece{{0, 0x1000, r | x, private}, data(r|w, private)},
			want: []string{"ok process", "problem mapping [mapped-without-exec]", "ok memory"}, text: "the code at 0x1010 is not mapped executable"},
		{name: "shared", maps: []piece{code(r|x, shared), data(r|w, private)},
			want: []string{"ok process", "problem mapping [mapped-shared]", "ok memory"}, text: "(r-xs)"},
		{name: "writable", maps: []piece{code(r|w|x, private), data(r|w, private)},
			want: []string{"ok process", "problem mapping [mapped-writable]", "ok memory"}, text: "(rwxp)"},
		{name: "without the semaphore", maps: []piece{code(r|x, private)},
			want: []string{"ok process", "problem mapping [semaphore-page]", "ok memory"}, text: "is not mapped: it stays 0"},
		{name: "the semaphore shared", maps: []piece{code(r|x, private), data(r|w, shared)},
			want: []string{"ok process", "problem mapping [semaphore-page]", "ok memory"}, text: "is mapped rw-s"},
		{name: "the semaphore to read only", maps: []piece{code(r|x, private), data(r, private)},
			want: []string{"ok process", "problem mapping [semaphore-page]", "ok memory"}, text: "is mapped r--p"},
		{name: "twice", maps: []piece{code(r|x, private), code(r|x, private), data(r|w, private)},
			want: []string{"ok process", "caution mapping [mapped-twice]", "ok memory"}, fine: true},
		{name: "shared and as it should be", maps: []piece{code(r|x, shared), code(r|x, private), data(r|w, private)},
			want: []string{"ok process", "caution mapping [mapped-twice]", "ok memory"}, fine: true},
		{name: "replaced since", maps: []piece{code(r|x, private), data(r|w, private)},
			after: func(t *testing.T, path string, _ [][]byte) {
				copyFile(t, path, path+".new")
				if err := os.Rename(path+".new", path); err != nil {
					t.Fatal(err)
				}
			},
			before: "caution file [replaced]", want: []string{"ok process", "ok mapping", "ok memory"}, text: "before that was deleted or replaced: this is looked at", fine: true},
		{name: "deleted since", maps: []piece{code(r|x, private), data(r|w, private)},
			after: func(t *testing.T, path string, _ [][]byte) {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			},
			before: "caution file [replaced]", want: []string{"ok process", "ok mapping", "ok memory"}, text: "before that was deleted or replaced: this is looked at", fine: true},
		{name: "another file of that name", maps: []piece{code(r|x, private), data(r|w, private)},
			after: func(t *testing.T, path string, _ [][]byte) {
				moved := filepath.Join(filepath.Dir(path), "elsewhere")
				if err := os.Mkdir(moved, 0o755); err != nil {
					t.Fatal(err)
				}
				to := filepath.Join(moved, filepath.Base(path))
				if err := os.Rename(path, to); err != nil {
					t.Fatal(err)
				}
				copyFile(t, to, path)
			},
			want: []string{"ok process", "problem mapping [other-file]"}, text: "elsewhere"},
		{name: "patched", maps: []piece{code(r|w, private), data(r|w, private)},
			after: func(t *testing.T, _ string, mem [][]byte) {
				copy(mem[0][0x10:], moves[sickHost(t)])
				if err := unix.Mprotect(mem[0], r|x); err != nil {
					t.Fatal(err)
				}
			},
			want: []string{"ok process", "ok mapping", "caution memory [patched]"}, text: "the code at 0x1010 is", fine: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.before == "caution file [replaced]" {
				testutils.Root(t) // may open a mapped file that has no name
			}
			s := &sick{sections: []fabricSection{notesSection(t, sickHost(t), semaphore)}}
			path := filepath.Join(t.TempDir(), "sick")
			if err := os.WriteFile(path, s.write(t), 0o755); err != nil {
				t.Fatal(err)
			}
			var mem [][]byte
			for _, p := range tc.maps {
				mem = append(mem, mapPiece(t, path, p))
			}
			if tc.after != nil {
				tc.after(t, path, mem)
			}
			d := diagnoseOne(t, path, "app:p", os.Getpid())
			answers := fold(diagnosed(d))
			at := slices.Index(answers, "ok process")
			if tc.before != "" && !slices.Contains(answers[:max(at, 0)], tc.before) {
				t.Errorf("answers %q, want %q in them", answers, tc.before)
			}
			if got := answers[max(at, 0):]; !slices.Equal(got, tc.want) || d.Fine() != tc.fine {
				t.Errorf("answers %q, fine %v; want %q, %v", got, d.Fine(), tc.want, tc.fine)
			}
			if !strings.Contains(texts(d), tc.text) {
				t.Errorf("texts %q, want %q in them", texts(d), tc.text)
			}
		})
	}
}

func diagnoseOne(t *testing.T, path, pattern string, pid int) *usdt.Diagnosis {
	t.Helper()
	all, err := usdt.Diagnose(path, &usdt.DiagnoseOptions{Pattern: pattern, PID: pid})
	if err != nil || len(all) != 1 {
		t.Fatalf("%d diagnoses, error %v", len(all), err)
	}
	return all[0]
}

func texts(d *usdt.Diagnosis) string {
	var b strings.Builder
	for _, c := range d.Checks {
		fmt.Fprintln(&b, c.Text)
	}
	return b.String()
}

// What is traced is told, and a tracer without the semaphore is in the way of one with
// it.
func TestDiagnoseTraced(t *testing.T) {
	needMethod(t, usdt.UprobeMulti)
	s := &sick{sections: []fabricSection{notesSection(t, sickHost(t), stapsdt.Note{Provider: "app", Name: "p", Location: sickAt, Semaphore: 0x23010})}}
	path := filepath.Join(t.TempDir(), "sick")
	if err := os.WriteFile(path, s.write(t), 0o755); err != nil {
		t.Fatal(err)
	}
	mapPiece(t, path, piece{0x1000, 0x1000, unix.PROT_READ | unix.PROT_EXEC, unix.MAP_PRIVATE})
	mapPiece(t, path, piece{0x2000, 0x1000, unix.PROT_READ | unix.PROT_WRITE, unix.MAP_PRIVATE})
	target := find(t, must(usdt.FileTargets(path)), "app:p")

	r := newRig(t, target, usdt.UprobeMulti, -1)
	l, err := usdt.AttachUSDT(r.prog, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := diagnoseOne(t, path, "app:p", os.Getpid())
	if !d.Fine() || !strings.Contains(texts(d), "1 location of 1 being traced right now") {
		t.Errorf("while it is traced: %d of %d, texts %q", d.Traceable, d.Probes, texts(d))
	}
	l.Close()

	without := *target
	without.Locations = slices.Clone(target.Locations)
	without.Locations[0].Semaphore, without.Locations[0].RefCtrOffset = 0, 0
	if l, err = usdt.AttachUSDT(r.prog, &without, nil); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d = diagnoseOne(t, path, "app:p", 0)
	if got := diagnosed(d); d.Fine() || !slices.Contains(got, "problem tracers [conflict]") {
		t.Errorf("while it is traced without its semaphore: %q", got)
	}
	// The kernel agrees.
	if l, err := usdt.AttachUSDT(r.prog, target, nil); err == nil {
		l.Close()
		t.Error("the kernel takes both")
	}
}

func must(res *usdt.Result, err error) *usdt.Result {
	if err != nil {
		panic(err)
	}
	return res
}

// Processes that cannot be looked at, and a process without a file.
func TestDiagnoseProcess(t *testing.T) {
	s := &sick{sections: []fabricSection{notesSection(t, sickHost(t), stapsdt.Note{Provider: "app", Name: "sickly", Location: sickAt})}}
	path := filepath.Join(t.TempDir(), "sick")
	if err := os.WriteFile(path, s.write(t), 0o755); err != nil {
		t.Fatal(err)
	}
	last := func(d *usdt.Diagnosis) string {
		answers := diagnosed(d)
		return answers[len(answers)-1]
	}
	if got := last(diagnoseOne(t, path, "", 1<<31-1)); got != "problem process [no-process]" {
		t.Error(got)
	}
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Wait() })
	if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{path, ""} {
		if got := last(diagnoseOne(t, path, "", cmd.Process.Pid)); got != "problem process [zombie]" {
			t.Error(got)
		}
	}

	// The files of a process are found by the probe.
	d := diagnoseOne(t, "", "app:sickly", os.Getpid())
	if got := last(d); got != "problem probe [no-probe]" {
		t.Error(got)
	}
	mapPiece(t, path, piece{0x1000, 0x1000, unix.PROT_READ | unix.PROT_EXEC, unix.MAP_PRIVATE})
	d = diagnoseOne(t, "", "app:sickly", os.Getpid())
	if !d.Fine() || d.Path != path {
		t.Errorf("%s: %q", d.Path, diagnosed(d))
	}
	if d = diagnoseOne(t, "", "app:sikly", os.Getpid()); !strings.Contains(texts(d), "did you mean app:sickly?") {
		t.Errorf("similar name: %q", texts(d))
	}
	// Also when the file has no name any more, for who may open /proc/PID/map_files.
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if d = diagnoseOne(t, "", "app:sickly", os.Getpid()); !d.Fine() {
		t.Errorf("deleted: %q: %q", diagnosed(d), texts(d))
	}
}

// A process whose path leads to another file than here, as one in a container: here
// another file lies over the one that is mapped.
func TestDiagnoseOtherNamespace(t *testing.T) {
	testutils.Root(t)
	s := &sick{sections: []fabricSection{notesSection(t, sickHost(t), stapsdt.Note{Provider: "app", Name: "p", Location: sickAt})}}
	path := filepath.Join(t.TempDir(), "sick")
	if err := os.WriteFile(path, s.write(t), 0o755); err != nil {
		t.Fatal(err)
	}
	mapPiece(t, path, piece{0x1000, 0x1000, unix.PROT_READ | unix.PROT_EXEC, unix.MAP_PRIVATE})
	copyFile(t, path, path+".other")
	if err := unix.Mount(path+".other", path, "", unix.MS_BIND, ""); err != nil {
		testutils.SkipOrFail(t, "skipped: no bind mount: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(path, 0); err != nil {
			t.Error(err)
		}
	})
	d := diagnoseOne(t, path, "app:p", os.Getpid())
	if got := diagnosed(d); !d.Fine() || !slices.Contains(got, "caution file [other-file]") || !strings.Contains(texts(d), "has mapped another file, which is "+path) {
		t.Errorf("answers %q, texts %q", got, texts(d))
	}
}
