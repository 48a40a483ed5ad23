package lower

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

var update = flag.Bool("update", false, "write what comes out into testdata")

func parse(t testing.TB, text string) *ir.Module {
	t.Helper()
	m, err := ir.Parse("t.c", text)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	return m
}

// The files of testdata are cases: a line "== name", the text of a module, and
// for some levels of the CPU, "-- v3" (or "-- v3 writeback"), the instructions of
// its last function, or the error.
func TestLower(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			head, rest, _ := strings.Cut(string(data), "== ")
			out := head
			for _, c := range strings.Split(rest, "\n== ") {
				name, c, _ := strings.Cut(c, "\n")
				out += "== " + name + "\n"
				t.Run(name, func(t *testing.T) { out += lowerCase(t, strings.Trim(c, "\n")) })
			}
			out = strings.TrimSuffix(out, "\n")
			if *update && out != string(data) {
				if err := os.WriteFile(file, []byte(out), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// lowerCase runs a case and returns it with what has come out.
func lowerCase(t *testing.T, c string) string {
	parts := strings.Split(c, "\n-- ")
	out := parts[0]
	for _, p := range parts[1:] {
		line, want, _ := strings.Cut(p, "\n")
		var opts Options
		for _, word := range strings.Fields(line) {
			switch {
			case word == "writeback":
				opts.WriteBack = true
			default:
				if _, err := fmt.Sscanf(word, "v%d", &opts.CPU); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
			}
		}
		var got string
		code, err := Module(parse(t, parts[0]), opts)
		if err != nil {
			got = err.Error()
		} else {
			got = text(code[len(code)-1])
		}
		got = strings.Trim(got, "\n")
		if got != strings.Trim(want, "\n") && !*update {
			t.Errorf("%s: got\n%s\nwant\n%s", line, got, want)
		}
		out += "\n-- " + line + "\n" + got
	}
	return out + "\n\n"
}
