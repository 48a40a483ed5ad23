package plan

import (
	"slices"
	"testing"
)

func TestParseNote(t *testing.T) {
	for _, tt := range []struct {
		line string
		want []string
	}{
		{"# begin usdt", []string{Begin, "usdt"}},
		{"# end usdt 0 12.5", []string{End, "usdt", "0", "12.5"}},
		{"# fault WARNING: CPU: 0 at  x", []string{Fault, "WARNING: CPU: 0 at  x"}},
		{"# done", []string{Done}},
		{"# ", nil},
		{"#done", nil},
		{"| # done", nil},
		{"[    1.0] # done", nil},
		{"", nil},
	} {
		got, ok := ParseNote(tt.line)
		if ok != (tt.want != nil) || !slices.Equal(got, tt.want) {
			t.Errorf("ParseNote(%q) = %q, %v, want %q", tt.line, got, ok, tt.want)
		}
	}
}
