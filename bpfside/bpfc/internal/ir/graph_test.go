package ir

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// graph makes a function of edges alone: "1:2,3 2:4 3:4 4". A block with one
// successor jumps, with two branches on a parameter, with none returns.
func graph(t *testing.T, text string) *Func {
	t.Helper()
	var s strings.Builder
	s.WriteString("func @f void external {\n")
	for i, block := range strings.Fields(text) {
		id, succs, _ := strings.Cut(block, ":")
		fmt.Fprintf(&s, "b%s", id)
		if i == 0 {
			s.WriteString("(v1 i32)")
		}
		s.WriteString(":\n")
		switch to := strings.Split(succs, ","); {
		case succs == "":
			s.WriteString("\tret\n")
		case len(to) == 1:
			fmt.Fprintf(&s, "\tjump b%s\n", to[0])
		default:
			fmt.Fprintf(&s, "\tif v1 b%s, b%s\n", to[0], to[1])
		}
	}
	s.WriteString("}\n")
	m, err := Parse(text, s.String())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	return m.Funcs[0]
}

func ids(blocks []*Block) string {
	var s []string
	for _, b := range blocks {
		s = append(s, fmt.Sprint(b.ID))
	}
	return strings.Join(s, " ")
}

var graphs = []struct {
	name, graph string
	order       string // reverse post-order
	idoms       string // "block<dominator"
	loops       string // "head[blocks]depth", inner first
}{
	{"line", "1:2 2:3 3", "1 2 3", "2<1 3<2", ""},
	{"diamond", "1:2,3 2:4 3:4 4", "1 2 3 4", "2<1 3<1 4<1", ""},
	{"nothing leads to 3", "1:2 2 3:2", "1 2", "2<1", ""},
	{"while", "1:2 2:3,4 3:2 4", "1 2 3 4", "2<1 3<2 4<2", "2[2 3]1"},
	{"do while", "1:2 2:2,3 3", "1 2 3", "2<1 3<2", "2[2]1"},
	{"nested", "1:2 2:3,6 3:4,5 4:3 5:2 6", "1 2 3 4 5 6", "2<1 3<2 4<3 5<3 6<2", "3[3 4]2 2[2 3 4 5]1"},
	{"continue and break", "1:2 2:3,6 3:4,5 4:2,6 5:2 6", "1 2 3 4 5 6", "2<1 3<2 4<3 5<3 6<2", "2[2 3 4 5]1"},
	{"two loops after each other", "1:2 2:3,4 3:2 4:5,6 5:4 6", "1 2 3 4 5 6", "2<1 3<2 4<2 5<4 6<4", "4[4 5]1 2[2 3]1"},
	{"goto into a loop", "1:2,3 2:3,4 3:2 4", "1 3 2 4", "2<1 3<1 4<2", ""},
	{"endless", "1:2 2:2", "1 2", "2<1", "2[2]1"},
}

func TestDominators(t *testing.T) {
	for _, tt := range graphs {
		t.Run(tt.name, func(t *testing.T) {
			f := graph(t, tt.graph)
			d := f.Dominators()
			if got := ids(d.Order()); got != tt.order {
				t.Errorf("order %s, want %s", got, tt.order)
			}
			var idoms []string
			for _, b := range f.Blocks {
				if d := d.Idom(b); d != nil {
					idoms = append(idoms, fmt.Sprintf("%d<%d", b.ID, d.ID))
				}
			}
			if got := strings.Join(idoms, " "); got != tt.idoms {
				t.Errorf("idoms %s, want %s", got, tt.idoms)
			}
			var loops []string
			list, innermost := f.Loops(d)
			for _, l := range list {
				loops = append(loops, fmt.Sprintf("%d[%s]%d", l.Head.ID, ids(l.Blocks), l.Depth))
				if got := innermost[l.Head.ID]; got != l {
					t.Errorf("the innermost loop of %d is that of %d", l.Head.ID, got.Head.ID)
				}
			}
			if got := strings.Join(loops, " "); got != tt.loops {
				t.Errorf("loops %s, want %s", got, tt.loops)
			}
			// Against the definition: a dominates b if b cannot be reached
			// without a.
			for _, a := range f.Blocks {
				for _, b := range f.Blocks {
					if !d.Reachable(a) || !d.Reachable(b) {
						continue
					}
					if got, want := d.Dominates(a, b), !reachesWithout(f, b, a); got != want {
						t.Errorf("Dominates(%d, %d) = %t", a.ID, b.ID, got)
					}
				}
				kids := d.Children(a)
				for _, b := range f.Blocks {
					if got, want := slices.Contains(kids, b), d.Idom(b) == a && d.Reachable(b); got != want {
						t.Errorf("%d is a child of %d: %t", b.ID, a.ID, got)
					}
				}
			}
		})
	}
}

// reachesWithout says whether there is a way from the entry to b not through a.
func reachesWithout(f *Func, b, a *Block) bool {
	seen := map[*Block]bool{a: true}
	var walk func(*Block) bool
	walk = func(at *Block) bool {
		if seen[at] {
			return false
		}
		seen[at] = true
		if at == b {
			return true
		}
		return slices.ContainsFunc(at.Term.Succs, func(e Edge) bool { return walk(e.To) })
	}
	return walk(f.Entry())
}

func TestRemoveUnreachable(t *testing.T) {
	f := graph(t, "1:4 2:4 4:3 3")
	if !f.RemoveUnreachable() || ids(f.Blocks) != "1 4 3" {
		t.Errorf("left %s", ids(f.Blocks))
	}
	if f.RemoveUnreachable() {
		t.Error("removed something again")
	}
}

func parseFunc(t *testing.T, body string) *Func {
	t.Helper()
	m, err := Parse("x", "func @f i32 external {\n"+body+"}\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	return m.Funcs[0]
}

func wantBody(t *testing.T, f *Func, body string) {
	t.Helper()
	if err := f.Check(); err != nil {
		t.Error(err)
	}
	if got, want := f.String(), "func @f i32 external {\n"+body+"}\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestSplitEdge(t *testing.T) {
	f := parseFunc(t, `b1(v1 i32):
	if v1 b2(v1), b2(v1)
b2(v2 i32):
	ret v2
`)
	preds := f.Preds()
	if got := len(preds[2]); got != 2 {
		t.Fatalf("b2 has %d predecessors", got)
	}
	f.SplitEdge(preds[2][1])
	wantBody(t, f, `b1(v1 i32):
	if v1 b2(v1), b3
b2(v2 i32):
	ret v2
b3:
	jump b2(v1)
`)
}

func TestRemoveParam(t *testing.T) {
	f := parseFunc(t, `b1(v1 i32):
	v4 i32 = const 1
	if v1 b2(v1, v4), b2(v4, v1)
b2(v2 i32, v3 i32):
	ret v3
`)
	f.Blocks[1].RemoveParam(0, f.Preds()[2])
	wantBody(t, f, `b1(v1 i32):
	v4 i32 = const 1
	if v1 b2(v4), b2(v1)
b2(v3 i32):
	ret v3
`)
}

func TestReplacement(t *testing.T) {
	f := parseFunc(t, `b1(v1 i32, v2 i32, v3 i32):
	v4 i32 = add v1, v2
	if v1 b2(v1), b2(v3)
b2(v5 i32):
	ret v4
`)
	r := NewReplacement(f)
	p := f.Params()
	r.Set(p[0], p[1])
	r.Set(p[1], p[2])
	r.Apply(f)
	wantBody(t, f, `b1(v1 i32, v2 i32, v3 i32):
	v4 i32 = add v3, v3
	if v3 b2(v3), b2(v3)
b2(v5 i32):
	ret v4
`)
	if got := f.Uses()[3]; got != 5 {
		t.Errorf("v3 has %d uses", got)
	}
}

func TestRenumber(t *testing.T) {
	f := parseFunc(t, `b4(v10 i32, v20 ptr):
	store.4 v20, v10
	v7 i32 = const 1
	jump b2(v7)
b2(v5 i32):
	ret v5
`)
	f.Renumber()
	wantBody(t, f, `b1(v1 i32, v2 ptr):
	store.4 v2, v1
	v3 i32 = const 1
	jump b2(v3)
b2(v4 i32):
	ret v4
`)
	if got := f.NumIDs(); got != 6 {
		t.Errorf("NumIDs() = %d", got)
	}
}
