package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestCommandFiles(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("PATH", dir)
	tool := write("tool", "no ELF file\n")
	loop := filepath.Join(dir, "loop")
	for _, tt := range []struct {
		name string
		path string
		want []string // what comes first
	}{
		{"a program", self, []string{self}},
		{"a script", write("script", "#!"+self+" -x\necho\n"), []string{self}},
		{"a script of a script", write("outer", "#! "+tool+"\n"), []string{tool}},
		{"a program of PATH", write("env-script", "#!/usr/bin/env tool\n"), []string{tool}},
		{"env with an option", write("env-option", "#!/usr/bin/env -S tool\n"), []string{"/usr/bin/env"}},
		{"a script of itself", write("loop", "#!"+loop), nil},
		{"nobody runs it", write("empty", "#!  \n"), []string{filepath.Join(dir, "empty")}},
		{"no script", tool, []string{tool}},
		{"not there", filepath.Join(dir, "missing"), []string{filepath.Join(dir, "missing")}},
		{"broken", write("broken", "\x7fELF\x02\x01\x01"), []string{filepath.Join(dir, "broken")}},
	} {
		got := commandFiles(tt.path)
		if slices.Contains(tt.want, self) || slices.Contains(tt.want, "/usr/bin/env") {
			got = got[:min(len(got), len(tt.want))] // it may need libraries
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
