package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// laterHint says how to wait for what a process loads later, if it does not have what
// was to be traced. Among all processes that is waited for; of one, a name that nothing
// there has is nearly always misspelt.
func laterHint(errw io.Writer, cmd *cobra.Command, err error) {
	var missing *usdt.NoProbeError
	switch cmd.Name() {
	case "trace", "argdist", "count":
	default:
		return
	}
	if !errors.As(err, &missing) || !strings.HasPrefix(missing.Where, "process ") || len(missing.Near) > 0 {
		return
	}
	fmt.Fprintf(errw, "nopfire: to wait for what %s loads later, use wildcards or name the file: PATH:%s\n", missing.Where, printable(missing.Pattern))
}
