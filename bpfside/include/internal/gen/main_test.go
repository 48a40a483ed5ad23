package main

import (
	"strings"
	"testing"
)

func TestHeader(t *testing.T) {
	for _, row := range []struct {
		table string
		want  string // lines of the header, or of the error
	}{
		{"# remark\n1 void *lookup(void *map, struct b *k)\n2 long del(struct a *k, ...)\n",
			"struct a;\nstruct b;\n\nstatic void *(* const bpf_lookup)(void *map, struct b *k) = (void *) 1;\n" +
				"static long (* const bpf_del)(struct a *k, ...) = (void *) 2;\n"},
		{"1 long a(void)\n3 long b(void)\n", `line 2: not helper 2: "3 long b(void)"`},
		{"1 long a(void)\n1 long b(void)\n", `line 2: not helper 2: "1 long b(void)"`},
		{"1 long a\n", `line 1: not helper 1: "1 long a"`},
	} {
		got, err := header([]byte(row.table))
		if err != nil {
			got = []byte(err.Error())
		}
		if !strings.Contains(string(got), row.want) {
			t.Errorf("%q: got %q, want %q", row.table, got, row.want)
		}
	}
}
