package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

func TestLaterHint(t *testing.T) {
	of := func(where string, near ...string) error {
		return fmt.Errorf("trace: %w", &usdt.NoProbeError{Pattern: "foo:end", Where: where, Near: near})
	}
	const want = "nopfire: to wait for what process 7 loads later, use wildcards or name the file: PATH:foo:end\n"
	for _, tt := range []struct {
		command string
		err     error
		want    string
	}{
		{"trace", of("process 7"), want},
		{"count", of("process 7"), want},
		{"argdist", errors.Join(of("process 7"), of("process 7")), want},
		{"trace", of("process 7", "foo:and"), ""}, // misspelt
		{"trace", of("/lib/libfoo.so"), ""},
		{"list", of("process 7"), ""},
		{"trace", errors.New("no memory"), ""},
	} {
		var b strings.Builder
		laterHint(&b, &cobra.Command{Use: tt.command}, tt.err)
		if b.String() != tt.want {
			t.Errorf("%s: %v: %q, want %q", tt.command, tt.err, b.String(), tt.want)
		}
	}
}
