package abi

import (
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The vectors in the specification are right.
func TestSpecVectors(t *testing.T) {
	text, err := os.ReadFile("../../docs/urdt-spec.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| (.*?) \\| (.*?) \\| `([0-9a-f]{8})` \\| `([0-9a-f]{8})` \\| ([0-9]+) \\|$")
	rows := row.FindAllStringSubmatch(string(text), -1)
	if len(rows) != 14 {
		t.Errorf("%d vectors, want 14", len(rows))
	}
	for _, r := range rows {
		p, n := specString(t, r[1]), specString(t, r[2])
		got := fmt.Sprintf("%08x %08x %d", Hash(p, n), Hash2(p, n), Shard(Hash(p, n), Shards))
		if want := strings.Join(r[3:], " "); got != want {
			t.Errorf("%q %q: %s, the specification says %s", p, n, got, want)
		}
	}
	registers := regexp.MustCompile(`(?m)^\| (x86-64|arm64) \| ([a-z].*) \|$`).FindAllStringSubmatch(string(text), -1)
	for i, want := range [][MaxArgs + 1]string{RegistersX86_64, RegistersARM64} {
		if i >= len(registers) {
			t.Fatalf("%d rows of registers", len(registers))
		}
		if got := strings.ReplaceAll(strings.Join(want[:], " | "), "%", ""); got != registers[i][2] {
			t.Errorf("registers of %s: %s, the specification says %s", registers[i][1], got, registers[i][2])
		}
	}
}

// specString reads a cell: `text`, bytes `hex hex`, or (empty).
func specString(t *testing.T, cell string) string {
	t.Helper()
	if cell == "(empty)" {
		return ""
	}
	code := strings.Trim(strings.TrimPrefix(cell, "bytes "), "`")
	if !strings.HasPrefix(cell, "bytes ") {
		return code
	}
	b, err := hex.DecodeString(strings.ReplaceAll(code, " ", ""))
	if err != nil {
		t.Fatalf("cell %q: %v", cell, err)
	}
	return string(b)
}
