package usdt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/internal/procmaps"
)

// Each row is what happens, in steps, and what a consumer is told after each
// "tell": "+a" for an added file, "-a" for a removed one; a capital letter is a file
// that can be reached by its name. The times of events are their places in the
// row, unless given by "@".
func TestHoldings(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps string
		want  string // of each tell
	}{
		{"a file is told once", "map 1 a, map 2 a, tell, map 3 a, tell", "+a;"},
		{"until the last has gone", "map 1 a, map 2 a, tell, exit 1, tell, exit 2, tell", "+a;;-a"},
		{"and then again", "map 1 a, tell, exit 1, tell, map 2 a, tell", "+a;-a;+a"},
		{"what comes and goes in between is not told", "map 1 a, exit 1, tell", ""},
		{"unless it has a name", "map 1 A, exit 1, tell, tell, tell", "+A;-A;"},
		{"which may come again", "map 1 A, exit 1, tell, map 2 A, tell, exit 2, tell", "+A;;-A"},
		{"nor what goes and comes", "map 1 a, tell, exit 1, map 2 a, tell", "+a;"},
		{"an unmapped file", "map 1 a, map 1 b, tell, set 1 b, tell", "+a+b;-a"},
		{"a child holds what its parent does", "map 1 a, fork 1 2, tell, exit 1, tell, exit 2, tell", "+a;;-a"},
		{"and its own children too", "map 1 a, fork 1 2, fork 2 3, exit 1, exit 2, tell, exit 3, tell", "+a;-a"},
		{"but not what the parent maps later", "fork 1 2, map 1 a, tell, exit 1, tell", "+a;-a"},
		{"a fork that is heard of first", "fork 1 2 @9, map 1 a @3, tell, exit 1, tell, exit 2, tell", "+a;;-a"},
		{"in the batch before", "fork 1 2 @9, batch, map 1 a @3, tell, exit 1, tell", "+a;"},
		{"is forgotten after that", "fork 1 2 @9, batch, batch, map 1 a @3, tell, exit 1, tell", "+a;-a"},
		{"two generations heard of in the wrong order", "fork 2 3 @9, fork 1 2 @7, map 1 a @3, exit 1, exit 2, tell, exit 3, tell", "+a;-a"},
		{"the end of a stranger", "exit 7, tell, map 1 a, tell, exit 7, tell", ";+a;"},
		{"a process of the same number later", "map 1 a, tell, exit 1, tell, map 1 b, tell", "+a;-a;+b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newHoldings()
			file := func(name string) *heldFile {
				id := FileID{Inode: uint64(name[0])}
				if f := b.files[id]; f != nil {
					return f
				}
				target := &Target{Probe: Probe{Provider: name, Name: "x"}, ID: id, Open: "first"}
				f := b.add(id, []*Target{target}, procmaps.Mapping{})
				if name == strings.ToUpper(name) {
					f.users.name = "/" + name
				}
				return f
			}
			var told []string
			for i, step := range strings.Split(tt.steps, ", ") {
				time := uint64(i + 1)
				if verb, at, ok := strings.Cut(step, " @"); ok {
					step = verb
					fmt.Sscan(at, &time)
				}
				var pid, child int
				var name string
				switch verb, rest, _ := strings.Cut(step, " "); verb {
				case "map":
					fmt.Sscan(rest, &pid, &name)
					b.hold(pid, file(name), holding{open: procPath(pid) + "map_files/" + name, since: time})
				case "set":
					fmt.Sscan(rest, &pid, &name)
					b.set(pid, map[*heldFile]holding{file(name): {}})
				case "fork":
					fmt.Sscan(rest, &pid, &child)
					b.forked(fork{pid, child, time})
				case "exit":
					fmt.Sscan(rest, &pid)
					b.set(pid, nil)
				case "batch":
					b.endBatch()
				case "tell":
					added, removed := b.balance()
					s := ""
					for _, target := range added {
						s += "+" + target.Provider
					}
					for _, target := range removed {
						s += "-" + target.Provider
					}
					told = append(told, s)
				default:
					t.Fatalf("step %q", step)
				}
			}
			if got := strings.Join(told, ";"); got != tt.want {
				t.Errorf("told %q, want %q", got, tt.want)
			}
		})
	}
}

// A target tells who maps its file, and can be opened through the first of them, a
// forked one too.
func TestHoldingsDescribe(t *testing.T) {
	for _, tt := range []struct {
		name  string
		forks fork
		pids  []int
		open  string
	}{
		{"a later child", fork{20, 100, 3}, []int{20, 100}, "/proc/20/map_files/1-2"},
		{"a child with a lower number", fork{20, 3, 3}, []int{3, 20}, "/proc/3/map_files/1-2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newHoldings()
			target := &Target{Open: "nowhere"}
			f := b.add(FileID{Inode: 1}, []*Target{target}, procmaps.Mapping{Path: "/memfd:x", Deleted: true})
			b.hold(20, f, holding{open: "/proc/20/map_files/1-2", since: 1})
			b.forked(tt.forks)
			b.balance()
			if diff := cmp.Diff(tt.pids, target.PIDs); diff != "" {
				t.Errorf("pids (-want +got):\n%s", diff)
			}
			if target.Open != tt.open {
				t.Errorf("open %q, want %q", target.Open, tt.open)
			}
		})
	}
}
