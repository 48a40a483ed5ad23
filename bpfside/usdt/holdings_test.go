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
// that can be reached by its name.
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
			for step := range strings.SplitSeq(tt.steps, ", ") {
				var pid int
				var name string
				switch verb, rest, _ := strings.Cut(step, " "); verb {
				case "map":
					fmt.Sscan(rest, &pid, &name)
					b.hold(pid, file(name), holding{open: procPath(pid) + "map_files/" + name})
				case "set":
					fmt.Sscan(rest, &pid, &name)
					b.set(pid, map[*heldFile]holding{file(name): {}})
				case "exit":
					fmt.Sscan(rest, &pid)
					b.set(pid, nil)
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

// A target tells who maps its file, and can be opened through the first of them.
func TestHoldingsDescribe(t *testing.T) {
	b := newHoldings()
	target := &Target{Open: "nowhere"}
	f := b.add(FileID{Inode: 1}, []*Target{target}, procmaps.Mapping{Path: "/memfd:x", Deleted: true})
	b.hold(100, f, holding{open: "/proc/100/map_files/1-2"})
	b.hold(20, f, holding{open: "/proc/20/fd/3"})
	b.balance()
	if diff := cmp.Diff([]int{20, 100}, target.PIDs); diff != "" {
		t.Errorf("pids (-want +got):\n%s", diff)
	}
	if want := "/proc/20/fd/3"; target.Open != want {
		t.Errorf("open %q, want %q", target.Open, want)
	}
}
