package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/bpfside/trace"
)

func TestNoteWaiting(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	unmapped := filepath.Join(t.TempDir(), "libnobody.so")
	if err := os.WriteFile(unmapped, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.so")
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	const pattern = "nosuch:probe"
	for _, tt := range []struct {
		name     string
		pid      int
		path     string
		attached bool
		want     string
	}{
		{"there", 0, "", true, ""},
		{"not there", 0, "", false, "no process has nosuch:probe yet"},
		{"a file that somebody runs", 0, self, true, ""},
		{"by another name", 0, link, true, ""},
		{"a file that nobody runs", 0, unmapped, true, "no process has mapped " + unmapped + " yet"},
		{"a file that is not there", 0, "/nowhere/lib.so", true, ""},
		{"a process without it", os.Getpid(), unmapped, true, processName(os.Getpid()) + " has not mapped " + unmapped},
		{"a process", os.Getpid(), "", true, ""},
	} {
		var b strings.Builder
		noteWaiting(&b, tt.pid, &trace.Clause{Path: tt.path, Pattern: pattern}, tt.attached)
		want := ""
		if tt.want != "" {
			want = "nopfire: note: " + tt.want + "; waiting\n"
		}
		if b.String() != want {
			t.Errorf("%s: %q, want %q", tt.name, b.String(), want)
		}
	}
}
