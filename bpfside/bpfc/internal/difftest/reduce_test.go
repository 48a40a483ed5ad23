package difftest

import (
	"strings"
	"testing"
)

// What is looked for is the text of one expression: little else may be left.
func TestReduce(t *testing.T) {
	for seed := range uint64(20) {
		p := Generate(seed, "p", Config{})
		holds := func(p *Program) bool { return strings.Contains(p.Root.String(), "<<") }
		if !holds(p) {
			continue
		}
		small := Reduce(p, 5000, holds)
		if !holds(small) {
			t.Fatalf("seed %d: what is looked for is gone:\n%s", seed, small.Root)
		}
		if lines := strings.Count(small.Root.String(), "\n"); lines > 45 {
			t.Errorf("seed %d: %d lines are left of %d:\n%s", seed, lines, strings.Count(p.Root.String(), "\n"), small.Root)
		}
	}
}

func TestMentions(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int
	}{
		{"p_l1 = p_l11;", 1},
		{"p_l1", 1},
		{"p_l12 + p_l1[0] + p_l1", 2},
		{"", 0},
	} {
		if got := mentions(tt.text, "p_l1"); got != tt.want {
			t.Errorf("%q mentions p_l1 %d times, want %d", tt.text, got, tt.want)
		}
	}
}
