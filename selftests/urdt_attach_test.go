//go:build linux && (amd64 || arm64)

package selftests

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
	"github.com/nopfire/nopfire/urdt"
	"github.com/nopfire/nopfire/urdt/abi"
)

// The object of this process, which stays open until it ends: it must be there before
// TestMain counts descriptors.
var _ = urdt.Scope()

// urdtSeen is struct seen of testprogs/urdtobj/programs.bpf.c.
type urdtSeen struct {
	Hits, Calls         uint64
	Cookie, Hash, Hash2 uint32
	ArgC                int32
	RC, Arg             [13]int64
	Param               [11]int64
}

// The places in the array of them.
const (
	seenBasic = iota
	seenThree
	seenAlt
	seenEleven
	seenByHand
	seenRFC
	seenNames
)

// The ways to build programs.bpf.c.
var urdtStyles = []struct {
	name  string
	build builder
	flags []string
	lean  bool
}{
	{"libbpf's usdt.bpf.h", testutils.BuildBPF, nil, false},
	{"our usdt.bpf.h", testutils.BuildBPF, []string{"-DOWN_USDT"}, false},
	{"lean", testutils.BuildBPF, []string{"-DURDT_LEAN"}, true},
	{"bpfc", buildByBpfc, nil, false},
	{"bpfc, lean", buildByBpfc, []string{"-DURDT_LEAN"}, true},
	{"bpfc on libbpf's usdt.bpf.h", buildByBpfcOnSystem, nil, false},
}

// loadURDT builds the programs for an object and loads them.
func loadURDT(t *testing.T, build builder, object string, flags ...string) *usdt.Collection {
	t.Helper()
	testutils.NeedBPF(t)
	flags = append([]string{"-I../bpfside/include", fmt.Sprintf("-DOBJECT=%q", object)}, flags...)
	c, err := usdt.LoadCollection(build(t, "testprogs/urdtobj/programs.bpf.c", flags...), nil)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(c.Close)
	return c
}

// attachURDT attaches one program of a collection until the test ends.
func attachURDT(t *testing.T, c *usdt.Collection, program, name string, o *usdt.URDTOptions) {
	t.Helper()
	l, err := c.AttachURDT(c.Programs[program], "dyn", name, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
}

func urdtSeenBy(t *testing.T, c *usdt.Collection) (all [seenNames]urdtSeen) {
	t.Helper()
	if err := c.Variables["seen"].Get(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// urdtCodes are those of bpf_urdt_arg for n arguments and what lies beyond.
func urdtCodes(n int) (rc [13]int64) {
	const enoent = 2
	for i := n; i < len(rc); i++ {
		rc[i] = -enoent
	}
	return rc
}

// checkSeen compares what a program has seen of dyn:NAME with what it should have.
// The second hash is that of the name, or none.
func checkSeen(t *testing.T, got urdtSeen, name string, marked bool, hits uint64, cookie uint32, args ...int64) {
	t.Helper()
	want := urdtSeen{
		Hits: hits, Calls: got.Calls, Cookie: cookie, Hash: abi.Hash("dyn", name),
		ArgC: int32(len(args)), RC: urdtCodes(len(args)),
	}
	if marked {
		want.Hash2 = abi.Hash2("dyn", name)
	}
	copy(want.Arg[:], args)
	copy(want.Param[:], args)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dyn:%s (-want +got):\n%s", name, diff)
	}
}

// sharedObject writes liburdt.so.1 where the processes of a test can share it.
func sharedObject(t *testing.T) string {
	t.Helper()
	lib, err := urdt.Library()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, abi.Library)
	if err := os.WriteFile(path, lib, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// startFirer starts testprogs/urdtfire on a shared object; "" for one of its own.
func startFirer(t *testing.T, object string) *testutils.Child {
	t.Helper()
	cmd := exec.Command(testutils.GoBuild(t, "./testprogs/urdtfire"))
	cmd.Env = append(os.Environ(), abi.PathVariable+"="+object, "XDG_RUNTIME_DIR=")
	c := testutils.StartCmd(t, cmd)
	if line := c.ReadLine(); object != "" && line != object {
		t.Fatalf("the program uses %q, want %q", line, object)
	}
	return c
}

// startCPeer and startPyPeer start the other peers on a shared object.
func startCPeer(t *testing.T, object string) *testutils.Child {
	t.Helper()
	src, err := os.ReadFile("testprogs/urdtpeer/peer.c")
	if err != nil {
		t.Fatal(err)
	}
	c := testutils.Start(t, testutils.BuildC(t, string(src), "-ldl", "-lpthread"), object)
	c.ReadLine()
	return c
}

func startPyPeer(t *testing.T, object string) *testutils.Child {
	t.Helper()
	c := testutils.Start(t, testutils.Oracle(t, "python3"), "testprogs/urdtpeer/peer.py", object)
	c.ReadLine()
	return c
}

// urdtTell makes a peer do something and waits for it.
func urdtTell(c *testutils.Child, command string) {
	c.WriteLine(command)
	c.ReadLine()
}

// The RFC's test basic, and its auto-attach tests, in this very process: a program
// without sites of its own uses what it has mapped.
func TestURDTSelf(t *testing.T) {
	for _, style := range urdtStyles {
		t.Run(style.name, func(t *testing.T) {
			c := loadURDT(t, style.build, "/proc/self/exe", style.flags...)
			attachURDT(t, c, "basic", "basic", &usdt.URDTOptions{Cookie: 0xcafedead, Path: "/proc/self/exe"})
			a, err := usdt.AutoAttach(c, &usdt.AutoOptions{PID: os.Getpid()})
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			for _, left := range a.Left {
				if left.Section != "urdt" || !errors.Is(left.Err, usdt.ErrLeftToCaller) {
					t.Errorf("left %+v", left)
				}
			}

			urdt.Probe0("dyn", "basic")
			got := urdtSeenBy(t, c)
			if p := got[seenBasic].Param; p[0] != -2 || p[1] != 0 {
				t.Errorf("argument at random: %d with value %d, want -ENOENT and 0", p[0], p[1])
			}
			got[seenBasic].Param = [11]int64{}
			checkSeen(t, got[seenBasic], "basic", true, 1, 0xcafedead)

			var v int64 = 7
			urdt.Probe3("dyn", "urdt3", 1, 42, uintptr(1)<<47|uintptr(v))
			got = urdtSeenBy(t, c)
			checkSeen(t, got[seenThree], "urdt3", true, 1, 0, 1, 42, 1<<47|7)
			if got[seenAlt].Hits != 0 {
				t.Error("dyn:urdt3 triggers urdt3alt")
			}
			urdt.Probe3("dyn", "urdt3alt", 3, 2, 1)
			urdt.Probe2("dyn", "urdt3", 3, 2) // another number of arguments, another tracepoint
			got = urdtSeenBy(t, c)
			if got[seenAlt].Hits != 1 || got[seenThree].Hits != 1 {
				t.Errorf("%d hits of urdt3alt, %d of urdt3, want 1 and 1", got[seenAlt].Hits, got[seenThree].Hits)
			}
			urdt.Probe11("dyn", "urdt11", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
			checkSeen(t, urdtSeenBy(t, c)[seenEleven], "urdt11", true, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
			if !style.lean {
				rfc := urdtSeenBy(t, c)[seenRFC]
				if rfc.Hits != 1 || rfc.ArgC != 3 || rfc.Arg[0] != 1 || rfc.Arg[1] != 42 || rfc.Arg[2] != 1<<47|7 {
					t.Errorf("the RFC's way: %+v", rfc)
				}
			}
		})
	}
}

// inlinedPeer builds testprogs/urdtobj/rfc.c with an emitter that clang inlines into
// several sites.
func inlinedPeer(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "inlined")
	clang := testutils.Oracle(t, "clang-14", "clang")
	if msg, err := exec.Command(clang, "-O2", "-w", "-DINLINED", "-o", path, "testprogs/urdtobj/rfc.c").CombinedOutput(); err != nil {
		t.Fatalf("clang: %v\n%s", err, msg)
	}
	return path
}

// Objects of strangers, as the RFC makes them: one site an arity, and an emitter that
// is inlined into several. All locations are attached to; each event is seen once.
func TestURDTRFCPeers(t *testing.T) {
	src, err := os.ReadFile("testprogs/urdtobj/rfc.c")
	if err != nil {
		t.Fatal(err)
	}
	gcc := testutils.BuildC(t, string(src))
	for _, peer := range []struct {
		name, path string
		sites      int // of probe3
	}{{"one site", gcc, 1}, {"inlined", inlinedPeer(t), 3}} {
		res, err := usdt.FileTargets(peer.path, "urdt:probe3")
		if err != nil {
			t.Fatal(err)
		}
		if n := len(res.Targets[0].Locations); n != peer.sites || res.Targets[0].Shards != 0 {
			t.Fatalf("%s: %d locations, %d shards, want %d and none", peer.name, n, res.Targets[0].Shards, peer.sites)
		}
		for _, style := range urdtStyles {
			t.Run(peer.name+"/"+style.name, func(t *testing.T) {
				c := loadURDT(t, style.build, peer.path, style.flags...)
				if style.lean {
					_, err := usdt.AutoAttach(c, nil)
					if !errors.Is(err, usdt.ErrUnmarked) {
						t.Errorf("a lean program at an unmarked object: %v", err)
					}
					_, err = usdt.AttachURDT(c.Programs["manual"], "dyn", "shared", &usdt.URDTOptions{NArgs: 4, PID: -1, Path: peer.path})
					if !errors.Is(err, usdt.ErrUnmarked) || !strings.Contains(err.Error(), peer.path) {
						t.Errorf("a lean program at an unmarked object: %v", err)
					}
					return
				}
				child := testutils.Start(t, peer.path)
				v, err := strconv.ParseInt(child.ReadLine(), 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				a, err := usdt.AutoAttach(c, &usdt.AutoOptions{PID: child.PID, URDTCookie: 5})
				if err != nil {
					t.Fatal(err)
				}
				defer a.Close()
				attachURDT(t, c, "manual", "shared", &usdt.URDTOptions{NArgs: 4, PID: -1, Path: peer.path, Cookie: 1<<32 - 1})
				urdtTell(child, "77")
				got := urdtSeenBy(t, c)
				checkSeen(t, got[seenThree], "urdt3", false, 2, 5, 1, 42, v)
				checkSeen(t, got[seenEleven], "urdt11", false, 1, 5, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
				checkSeen(t, got[seenByHand], "shared", false, 1, 1<<32-1, -4, 1<<62, 77, 4)
				if got[seenAlt].Hits != 1 || got[seenRFC].Hits != 2 || got[seenRFC].Calls != 3 {
					t.Errorf("%d hits of urdt3alt, %d of %d calls the RFC's way, want 1, 2 of 3", got[seenAlt].Hits, got[seenRFC].Hits, got[seenRFC].Calls)
				}
			})
		}
	}
}

// One attach to the shared object, made before two of three processes start, sees
// them all: Go, C and Python.
func TestURDTShared(t *testing.T) {
	for _, style := range urdtStyles {
		t.Run(style.name, func(t *testing.T) {
			object := sharedObject(t)
			peers := []*testutils.Child{startFirer(t, object)}
			c := loadURDT(t, style.build, object, style.flags...)
			a, err := usdt.AutoAttach(c, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			attachURDT(t, c, "manual", "shared", &usdt.URDTOptions{NArgs: 4, PID: -1, Path: object, Cookie: 99})
			peers = append(peers, startCPeer(t, object), startPyPeer(t, object))
			for i, p := range peers {
				urdtTell(p, "set")
				got := urdtSeenBy(t, c)
				n := uint64(i + 1)
				checkSeen(t, got[seenThree], "urdt3", true, 2*n, 0, 1, 42, 0x7fff12345678)
				checkSeen(t, got[seenEleven], "urdt11", true, n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
				checkSeen(t, got[seenByHand], "shared", true, n, 99, -4, 1<<62, 77, 4)
				if got[seenAlt].Hits != n {
					t.Errorf("%d hits of urdt3alt, want %d", got[seenAlt].Hits, n)
				}
			}
		})
	}
}

// Any object that is known, and of one process alone.
func TestURDTAnyObject(t *testing.T) {
	object := sharedObject(t)
	c := loadURDT(t, testutils.BuildBPF, "*")
	own, other := startFirer(t, object), startFirer(t, "")
	attachURDT(t, c, "manual", "shared", &usdt.URDTOptions{NArgs: 4, PID: -1})
	attachURDT(t, c, "basic", "basic", &usdt.URDTOptions{PID: other.PID, Path: usdt.AnyObject})
	urdtTell(own, "set")
	urdtTell(other, "set")
	got := urdtSeenBy(t, c)
	if got[seenByHand].Hits != 2 || got[seenBasic].Hits != 1 {
		t.Errorf("%d hits of both processes, %d of one, want 2 and 1", got[seenByHand].Hits, got[seenBasic].Hits)
	}
}

// By perf_event, what older kernels have, it is the same.
func TestURDTPerfEvent(t *testing.T) {
	needMethod(t, usdt.PerfEvent)
	t.Setenv(usdt.EnvMethod, usdt.PerfEvent.String())
	object := sharedObject(t)
	p := startFirer(t, object)
	for _, style := range urdtStyles {
		t.Run(style.name, func(t *testing.T) {
			c := loadURDT(t, style.build, object, style.flags...)
			attachURDT(t, c, "manual", "shared", &usdt.URDTOptions{NArgs: 4, PID: -1, Path: object, Cookie: 3})
			attachURDT(t, c, "on_three", "urdt3", &usdt.URDTOptions{NArgs: 3, PID: p.PID, Path: usdt.AnyObject})
			urdtTell(p, "set")
			got := urdtSeenBy(t, c)
			checkSeen(t, got[seenByHand], "shared", true, 1, 3, -4, 1<<62, 77, 4)
			checkSeen(t, got[seenThree], "urdt3", true, 2, 0, 1, 42, 0x7fff12345678)
		})
	}
}

// A lean program takes the marked objects among all that there are; what is left out
// is told with the reason.
func TestURDTLeftOut(t *testing.T) {
	object := sharedObject(t)
	p := startFirer(t, object)
	foreign := testutils.Start(t, inlinedPeer(t))
	foreign.ReadLine()
	c := loadURDT(t, testutils.BuildBPF, object, "-DURDT_LEAN")
	var left []string
	attachURDT(t, c, "on_three", "urdt3", &usdt.URDTOptions{
		NArgs: 3, PID: usdt.AllProcesses,
		LeftOut: func(t *usdt.Target, reason error) {
			if errors.Is(reason, usdt.ErrUnmarked) {
				left = append(left, t.Path)
			}
		},
	})
	urdtTell(p, "set")
	urdtTell(foreign, "1")
	if got := urdtSeenBy(t, c)[seenThree].Hits; got != 2 {
		t.Errorf("%d hits, want 2 of liburdt.so.1", got)
	}
	if path, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", foreign.PID)); !slices.Contains(left, path) {
		t.Errorf("left out %q, want %s among them", left, path)
	}
}

// What cannot be attached to says why.
func TestAttachURDTRefuses(t *testing.T) {
	object := sharedObject(t)
	c := loadURDT(t, testutils.BuildBPF, object)
	for _, row := range []struct {
		name string
		opts usdt.URDTOptions
		want error
		text string
	}{
		{"too many arguments", usdt.URDTOptions{NArgs: 12, Path: object}, nil, "12 arguments: that is not within 0..11"},
		{"fewer than none", usdt.URDTOptions{NArgs: -1, Path: object}, nil, "not within 0..11"},
		{"no file", usdt.URDTOptions{Path: "/no/such/file"}, os.ErrNotExist, "/no/such/file"},
		{"no sites", usdt.URDTOptions{Path: "/bin/true"}, usdt.ErrNoProbe, "urdt:probe0"},
		{"no such library", usdt.URDTOptions{Path: "libno.so.1"}, os.ErrNotExist, "libno.so.1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := c.AttachURDT(c.Programs["basic"], "a", "b", &row.opts)
			if err == nil || row.want != nil && !errors.Is(err, row.want) || !strings.Contains(err.Error(), row.text) {
				t.Errorf("error %v, want %v with %q", err, row.want, row.text)
			}
		})
	}
}
