package usdt

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Each row is what is heard of, batch by batch, and whom to look at after each.
func TestKinship(t *testing.T) {
	for _, tt := range []struct {
		name    string
		batches string
		want    string
	}{
		{"a child of nobody in particular", "fork 1 2", "[]"},
		{"of a holder", "fork! 1 2", "[2]"},
		{"of one that was too quick", "suspect 1, fork 1 2", "[2]"},
		{"that is heard of first", "fork 1 2, suspect 1", "[2]"},
		{"in the batch before", "fork 1 2; suspect 1", "[] [2]"},
		{"of one that was suspect in the batch before", "suspect 1; fork 1 2", "[] [2]"},
		{"and no longer", "suspect 1; ; fork 1 2", "[] [] []"},
		{"nor a fork", "fork 1 2; ; suspect 1", "[] [] []"},
		{"two generations", "fork! 1 2, fork 2 3", "[2 3]"},
		{"two generations in the wrong order", "fork 2 3, fork! 1 2", "[2 3]"},
		{"over two batches", "fork! 1 2; fork 2 3", "[2] [3]"},
		{"in the wrong order over two batches", "fork 2 3; fork! 1 2", "[] [2 3]"},
		{"brothers", "fork! 1 2, fork 1 3, fork 9 4", "[2]"},
		{"a number that comes again", "fork! 1 2, fork! 2 1", "[1 2]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKinship()
			var got []string
			for b := range strings.SplitSeq(tt.batches, "; ") {
				for step := range strings.SplitSeq(b, ", ") {
					var parent, child int
					verb, rest, _ := strings.Cut(step, " ")
					switch verb {
					case "":
					case "suspect":
						fmt.Sscan(rest, &parent)
						k.suspect(parent)
					case "fork", "fork!":
						fmt.Sscan(rest, &parent, &child)
						k.forked(parent, child, verb == "fork!")
					default:
						t.Fatalf("step %q", step)
					}
				}
				pids := k.endBatch()
				slices.Sort(pids)
				got = append(got, fmt.Sprint(pids))
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("look at %s, want %s", got, tt.want)
			}
		})
	}
}
