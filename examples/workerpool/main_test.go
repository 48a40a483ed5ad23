package main

import (
	"slices"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(strings.NewReader("12\n1\nfive\n97\n18446744073709551615\n"), &out, 3); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	slices.Sort(got)
	want := []string{
		"12: 2 2 3",
		"18446744073709551615: 3 5 17 257 641 65537 6700417",
		"1: 1",
		"97: 97",
		"five: not a number",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
