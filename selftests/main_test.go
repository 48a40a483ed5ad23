// Package selftests shows, against the running kernel and other people's tools,
// that what this module says is so.
package selftests

import (
	"fmt"
	"os"
	"testing"

	"github.com/nopfire/nopfire/internal/testutils"
)

// sharedDir is a directory for what several tests use, removed at the end.
var sharedDir string

func TestMain(m *testing.M) {
	var err error
	if sharedDir, err = os.MkdirTemp("", "nopfire-selftests-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := testutils.Run(m)
	os.RemoveAll(sharedDir)
	os.Exit(status)
}
