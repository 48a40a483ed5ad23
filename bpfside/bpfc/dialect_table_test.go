package bpfc_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var linkRE = regexp.MustCompile(`\[(\w+)\]\(\.\./bpfside/bpfc/(testdata/\w+/(\w+)\.bpf\.c)\)`)

// Each row of the tables of docs/bpfc.md has a file, each file a row, and the text of a
// link is the name of its file.
func TestDialectTable(t *testing.T) {
	text, err := os.ReadFile("../../docs/bpfc.md")
	if err != nil {
		t.Fatal(err)
	}
	inTable := make(map[string]bool)
	rows := 0
	_, tables, ok := strings.Cut(string(text), "## The dialect\n")
	if !ok {
		t.Fatal("no dialect")
	}
	tables, _, _ = strings.Cut(tables, "## vmlinux.h\n")
	for line := range strings.Lines(tables) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 4 || strings.HasPrefix(cells[1], "---") || strings.TrimSpace(cells[2]) == "test" {
			continue
		}
		item, tests := strings.TrimSpace(cells[1]), cells[2]
		if strings.HasPrefix(item, "**") {
			if strings.TrimSpace(tests) != "" {
				t.Errorf("heading %q has a test", item)
			}
			continue
		}
		rows++
		links := linkRE.FindAllStringSubmatch(tests, -1)
		if len(links) == 0 {
			t.Errorf("row %q is empty", item)
		}
		if rest := strings.TrimSpace(linkRE.ReplaceAllString(tests, "")); rest != "" {
			t.Errorf("row %q: %q is no link to a test", item, rest)
		}
		for _, l := range links {
			inTable[l[2]] = true
			if l[1] != l[3] {
				t.Errorf("row %q: %q links to %s", item, l[1], l[2])
			}
			if _, err := os.Stat(l[2]); err != nil {
				t.Errorf("row %q: %v", item, err)
			}
		}
	}
	if rows < 60 {
		t.Errorf("only %d rows were read", rows)
	}
	for _, dir := range []string{"dialect", "diag"} {
		files, err := filepath.Glob("testdata/" + dir + "/*.bpf.c")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !inTable[filepath.ToSlash(f)] {
				t.Errorf("%s has no row", f)
			}
		}
	}
}
