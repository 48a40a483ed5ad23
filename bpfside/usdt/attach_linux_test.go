package usdt_test

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/feature"
	"github.com/nopfire/nopfire/internal/testutils"
)

func TestMain(m *testing.M) { testutils.Main(m) }

// sdtProgram fires "app:values" once for each line it reads, and prints the
// semaphore (or -1) before it fires.
const sdtProgram = `
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include <stdlib.h>
#ifdef SEMAPHORES
#define _SDT_HAS_SEMAPHORES 1
unsigned short app_values_semaphore __attribute__((section(".probes"))) = 0;
unsigned short app_other_semaphore __attribute__((section(".probes"))) = 0;
#define SEM (int)*(volatile unsigned short *)&app_values_semaphore
#else
#define SEM -1
#endif
#include <sys/sdt.h>

int8_t  m8 = -8;
uint16_t m16 = 0xfffe;
struct { int32_t pad[3]; int32_t v; } s = {{1, 2, 3}, -4};
int64_t table[8] = {0, 1, 2, 3, 4, INT64_MIN, 6, 7};

#ifdef INLINE /* the compiler then knows the variables, and names them in the note */
#define OPAQUE __attribute__((noinline))
#else
#define OPAQUE __attribute__((noipa))
#endif
OPAQUE static void fire(long n, const char *text, int8_t *p8, uint16_t *p16, int32_t *p32, int64_t *tab, long i)
{
	DTRACE_PROBE8(app, values, n, text, *p8, *p16, p32[3], tab[i], (uint8_t)n, -7);
}
OPAQUE static void other(int n) { DTRACE_PROBE1(app, other, n); }

int main(void)
{
	char line[64];
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = 0;
		printf("%d\n", SEM);
		fire(atol(line), line, &m8, &m16, s.pad, table, 5);
		other(1);
		puts("fired");
	}
	return 0;
}`

func buildSDT(t *testing.T, flags ...string) string {
	t.Helper()
	prog := testutils.BuildC(t, sdtProgram, flags...)
	return prog
}

// needMethod skips unless the kernel has the method, and this process may use it.
func needMethod(t *testing.T, m usdt.Method) {
	t.Helper()
	testutils.NeedBPF(t)
	if m == usdt.PerfEvent {
		testutils.Need(t, feature.PerfUprobe, feature.RingBuf)
	} else {
		testutils.Need(t, feature.UprobeMulti, feature.RingBuf)
	}
}

// fireSDT makes the child fire once and returns the semaphore that it saw.
func fireSDT(t *testing.T, c *testutils.Child, n int) string {
	t.Helper()
	c.WriteLine(strconv.Itoa(n))
	sem := c.ReadLine()
	if got := c.ReadLine(); got != "fired" {
		t.Fatalf("child says %q", got)
	}
	return sem
}

func TestAttachToCProgram(t *testing.T) {
	for _, m := range []usdt.Method{usdt.UprobeMulti, usdt.PerfEvent} {
		for _, tc := range []struct {
			name             string
			flags            []string
			semOff, semOn    string // as the program sees it
			wantRefCtr       bool
			discoverByFile   bool
			attachAllProcess bool
		}{
			{"pid", nil, "-1", "-1", false, false, false},
			{"pid with semaphore", []string{"-DSEMAPHORES"}, "0", "1", true, false, false},
			{"pid, no PIE", []string{"-DSEMAPHORES", "-no-pie"}, "0", "1", true, false, false},
			{"file, all processes", []string{"-DSEMAPHORES"}, "0", "1", true, true, true},
			{"symbols", []string{"-DSEMAPHORES", "-DINLINE"}, "0", "1", true, false, false},
			{"symbols, no PIE", []string{"-DSEMAPHORES", "-DINLINE", "-no-pie"}, "0", "1", true, false, false},
			{"unoptimized", []string{"-DSEMAPHORES", "-O0"}, "0", "1", true, false, false},
		} {
			t.Run(m.String()+"/"+tc.name, func(t *testing.T) {
				needMethod(t, m)
				prog := buildSDT(t, tc.flags...)
				child := testutils.Start(t, prog)
				child.ReadLine()

				var res *usdt.Result
				var err error
				if tc.discoverByFile {
					res, err = usdt.FileTargets(prog, "app:values")
				} else {
					res, err = usdt.ProcessTargets(child.PID, "app:values")
				}
				if err != nil {
					t.Fatal(err)
				}
				if len(res.Targets) != 1 {
					t.Fatalf("%d targets, want one", len(res.Targets))
				}
				target := res.Targets[0]
				if got := target.Locations[0].RefCtrOffset != 0; got != tc.wantRefCtr {
					t.Errorf("semaphore %t, want %t", got, tc.wantRefCtr)
				}
				if sem := fireSDT(t, child, 1); sem != tc.semOff {
					t.Errorf("semaphore %s before, want %s", sem, tc.semOff)
				}
				r := newRig(t, target, m, 1)
				l := r.attach(target, &usdt.Options{Cookie: 0xfeedfacecafebeef, Method: m})
				for i, n := range []int{300, -1, 0} {
					if sem := fireSDT(t, child, n); sem != tc.semOn {
						t.Errorf("semaphore %s while attached, want %s", sem, tc.semOn)
					}
					h := r.hits(1)[0]
					want := []int64{int64(n), int64(h.values[1]), -8, 0xfffe, -4, -1 << 63, int64(uint8(n)), -7}
					got := make([]int64, len(h.values))
					for i, v := range h.values {
						got[i] = int64(v)
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("firing %d of %s (-want +got):\n%s", i, target.Locations[0].ArgString, diff)
					}
					if h.text != strconv.Itoa(n) {
						t.Errorf("string %q, want %d", h.text, n)
					}
					if h.cookie != 0xfeedfacecafebeef {
						t.Errorf("cookie %#x", h.cookie)
					}
					for i, st := range h.status {
						if st != 0 {
							t.Errorf("argument %d: status %d", i, st)
						}
					}
				}
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				if sem := fireSDT(t, child, 1); sem != tc.semOff {
					t.Errorf("semaphore %s after, want %s", sem, tc.semOff)
				}
				r.hits(0)
			})
		}
	}
}

func TestAttachPIDFilter(t *testing.T) {
	for _, m := range []usdt.Method{usdt.UprobeMulti, usdt.PerfEvent} {
		t.Run(m.String(), func(t *testing.T) {
			needMethod(t, m)
			prog := buildSDT(t, "-DSEMAPHORES")
			var kids [2]*testutils.Child
			for i := range kids {
				kids[i] = testutils.Start(t, prog)
				kids[i].ReadLine()
			}
			res, err := usdt.ProcessTargets(kids[0].PID, "app:values")
			if err != nil {
				t.Fatal(err)
			}
			r := newRig(t, res.Targets[0], m, -1)
			l := r.attach(res.Targets[0], &usdt.Options{Method: m})
			if sem := fireSDT(t, kids[1], 5); sem != "0" {
				t.Errorf("semaphore of the other process %s, want 0", sem)
			}
			r.hits(0)
			fireSDT(t, kids[0], 6)
			if h := r.hits(1)[0]; h.values[0] != 6 {
				t.Errorf("value %d, want 6", h.values[0])
			}
			l.Close()

			r.attach(res.Targets[0], &usdt.Options{Method: m, PID: usdt.AllProcesses})
			fireSDT(t, kids[0], 7)
			fireSDT(t, kids[1], 8)
			got := r.hits(2)
			if got[0].values[0] != 7 || got[1].values[0] != 8 {
				t.Errorf("values %v, want 7 and 8", got)
			}
		})
	}
}

// A file that was written to after its notes were read must not be attached to:
// the offsets may point into the middle of something else.
func TestAttachChangedFile(t *testing.T) {
	needMethod(t, usdt.UprobeMulti)
	prog := buildSDT(t)
	res, err := usdt.FileTargets(prog, "app:values")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, res.Targets[0], usdt.UprobeMulti, -1)
	for _, change := range []struct {
		name string
		do   func() error
	}{
		{"written to", func() error { return os.Chtimes(prog, time.Time{}, time.Now().Add(time.Second)) }},
		{"replaced", func() error {
			data, err := os.ReadFile(prog)
			return errors.Join(err, os.Remove(prog), os.WriteFile(prog, data, 0o755))
		}},
	} {
		if err := change.do(); err != nil {
			t.Fatal(err)
		}
		_, err := usdt.AttachUSDT(r.prog, res.Targets[0], nil)
		if !errors.Is(err, usdt.ErrChanged) {
			t.Errorf("%s: error %v, want ErrChanged", change.name, err)
		}
	}
	if err := os.Remove(prog); err != nil {
		t.Fatal(err)
	}
	if _, err := usdt.AttachUSDT(r.prog, res.Targets[0], nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("removed: error %v, want one that wraps os.ErrNotExist", err)
	}
}

func TestAttachErrors(t *testing.T) {
	for _, m := range []usdt.Method{usdt.UprobeMulti, usdt.PerfEvent} {
		t.Run(m.String(), func(t *testing.T) {
			needMethod(t, m)
			c := testutils.Start(t, buildSDT(t, "-DSEMAPHORES"))
			c.ReadLine()
			res, err := usdt.ProcessTargets(c.PID, "app:values")
			if err != nil {
				t.Fatal(err)
			}
			target := res.Targets[0]
			r := newRig(t, target, m, -1)

			other := usdt.UprobeMulti + usdt.PerfEvent - m
			_, err = usdt.AttachUSDT(r.prog, target, &usdt.Options{Method: other})
			if err == nil || !strings.Contains(err.Error(), "was not loaded for "+other.String()) {
				t.Errorf("program of the other method: %v", err)
			}
			_, err = usdt.AttachUSDT(r.prog, target, &usdt.Options{Method: m, PID: 1 << 22})
			if err == nil || !strings.Contains(err.Error(), "process 4194304 does not exist") {
				t.Errorf("process that does not exist: %v", err)
			}
			if _, err = usdt.AttachUSDT(nil, target, nil); err == nil {
				t.Error("no program was taken")
			}

			// A tracer that does not care for the semaphore gets there first.
			bare := *target
			bare.Locations = slices.Clone(target.Locations)
			bare.Locations[0].RefCtrOffset = 0
			l := r.attach(&bare, &usdt.Options{Method: m})
			_, err = usdt.AttachUSDT(r.prog, target, &usdt.Options{Method: m})
			var conflict *usdt.ConflictError
			if !errors.As(err, &conflict) || !errors.Is(err, syscall.EINVAL) {
				t.Fatalf("conflict of semaphores: %v, want a ConflictError", err)
			}
			if m == usdt.UprobeMulti && (len(conflict.Holders) != 1 || !strings.HasPrefix(conflict.Holders[0], "bpf link ")) {
				t.Errorf("holders %q, want the one link", conflict.Holders)
			}
			l.Close()
			r.attach(target, &usdt.Options{Method: m})
			if sem := fireSDT(t, c, 1); sem != "1" {
				t.Errorf("semaphore %s, want 1", sem)
			}
		})
	}
}

// manyProgram has n locations of one probe, with one semaphore.
func manyProgram(n int) string {
	return `
#define _SDT_HAS_SEMAPHORES 1
unsigned short app_many_semaphore __attribute__((section(".probes"))) = 0;
#include <sys/sdt.h>
#include <stdio.h>
int main(void)
{
	char line[8];
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof line, stdin)) {
		` + strings.Repeat("DTRACE_PROBE1(app, many, (int)__COUNTER__);\n", n) + `
		printf("%d\n", (int)*(volatile unsigned short *)&app_many_semaphore);
	}
	return 0;
}`
}

func TestAttachManyLocations(t *testing.T) {
	for _, tc := range []struct {
		m usdt.Method
		n int
	}{{usdt.UprobeMulti, 2000}, {usdt.PerfEvent, 20}} {
		t.Run(tc.m.String(), func(t *testing.T) {
			needMethod(t, tc.m)
			c := testutils.Start(t, testutils.BuildC(t, manyProgram(tc.n)))
			c.ReadLine()
			res, err := usdt.ProcessTargets(c.PID, "app:many")
			if err != nil {
				t.Fatal(err)
			}
			target := res.Targets[0]
			if len(target.Locations) != tc.n {
				t.Fatalf("%d locations, want %d", len(target.Locations), tc.n)
			}
			if got := len(target.Layouts()); got != tc.n {
				t.Fatalf("%d layouts, want %d: each has its constant", got, tc.n)
			}
			r := newRig(t, target, tc.m, -1)
			fds := testutils.CountFDs(t)
			cookies := make([]uint64, tc.n)
			for i := range cookies {
				cookies[i] = uint64(i) + 100
			}
			l := r.attach(target, &usdt.Options{Method: tc.m, Cookies: cookies})
			c.WriteLine("go")
			if sem := c.ReadLine(); sem != strconv.Itoa(tc.n) {
				t.Errorf("semaphore %s, want %d", sem, tc.n)
			}
			seen := make(map[uint64]bool)
			for _, h := range r.hits(tc.n) {
				seen[h.cookie] = true
			}
			if len(seen) != tc.n || !seen[100] || !seen[uint64(tc.n)+99] {
				t.Errorf("%d different cookies, want %d", len(seen), tc.n)
			}
			start := time.Now()
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d locations closed in %v", tc.n, time.Since(start))
			if got := testutils.CountFDs(t); got != fds {
				t.Errorf("%d descriptors after close, want %d", got, fds)
			}
			c.WriteLine("go")
			if sem := c.ReadLine(); sem != "0" {
				t.Errorf("semaphore %s after close, want 0", sem)
			}
		})
	}
}

func TestEnvironmentForcesMethod(t *testing.T) {
	for _, tc := range []struct {
		env  string
		want usdt.Method
		err  bool
	}{
		{"perf_event", usdt.PerfEvent, false},
		{"uprobe_multi", usdt.UprobeMulti, false},
		{"kprobe", 0, true},
	} {
		t.Setenv(usdt.EnvMethod, tc.env)
		got, err := usdt.DefaultMethod()
		if got != tc.want || (err != nil) != tc.err {
			t.Errorf("%s=%s: %s, %v", usdt.EnvMethod, tc.env, got, err)
		}
	}
}
