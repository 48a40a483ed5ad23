package probespec

import (
	"os"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/bpfside/trace"
)

// The examples of the documentation are read without an error.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile("../../../docs/probe-texts.md")
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]int{}
	block := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		var err error
		switch language, fence := strings.CutPrefix(line, "```"); {
		case fence:
			block = language
			continue
		case block == "trace":
			_, err = ParseTrace(line)
		case block == "argdist":
			kind := trace.Count
			text, isCount := strings.CutPrefix(line, "-C ")
			if !isCount {
				text, kind = strings.TrimPrefix(line, "-H "), trace.Log2Hist
			}
			_, err = ParseDist(text, kind)
		default:
			continue
		}
		read[block]++
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if read["trace"] < 5 || read["argdist"] < 5 {
		t.Errorf("read %v", read)
	}
}
