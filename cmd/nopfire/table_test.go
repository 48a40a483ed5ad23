package main

import (
	"errors"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	tab := newTable(3, 1)
	for _, row := range [][]string{
		{"PROBE", "ARGUMENTS", "FILE"},
		{"a:b", "-", "/x"},
		{"größe:ü", strings.Repeat("x", 70), "/y"},
		{"", "arg1", ""},
	} {
		for _, cell := range row {
			tab.add(cell)
		}
	}
	var b strings.Builder
	if err := tab.write(&b, false); err != nil {
		t.Fatal(err)
	}
	blanks := func(n int) string { return strings.Repeat(" ", n) }
	want := "PROBE    ARGUMENTS" + blanks(53) + "FILE\n" +
		"a:b      -" + blanks(61) + "/x\n" +
		"größe:ü  " + strings.Repeat("x", 70) + "  /y\n" +
		blanks(9) + "arg1" + blanks(58) + "\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}

	b.Reset()
	if err := tab.write(&b, true); err != nil {
		t.Fatal(err)
	}
	plain := strings.NewReplacer("\x1b[2m", "", "\x1b[36m", "", "\x1b[0m", "").Replace(b.String())
	if plain != want || !strings.HasPrefix(b.String(), "\x1b[2mPROBE") || !strings.Contains(b.String(), "\n\x1b[36ma:b    \x1b[0m  -") {
		t.Errorf("in colour:\n%q", b.String())
	}
	if err := tab.write(brokenWriter{}, false); !errors.Is(err, errBroken) {
		t.Errorf("error %v, want %v", err, errBroken)
	}
}

var errBroken = errors.New("broken")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }
