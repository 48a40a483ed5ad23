//go:build !linux || !(amd64 || arm64)

package urdt

import (
	"fmt"
	"runtime"

	"github.com/nopfire/nopfire/elfgen"
)

// Nothing fires here: there is no object, and all handles are inert.

const (
	pristine  = 0
	hashPlace = 0
)

func place(i int) int { return i }

func build() (*elfgen.Object, error) {
	return nil, fmt.Errorf("fire on %s/%s: %w", runtime.GOOS, runtime.GOARCH, ErrNotSupported)
}

func raisedPrivileges() bool { return false }

func makeUserDir(string) error  { return ErrNotSupported }
func checkUserDir(string) error { return ErrNotSupported }

func ownedByRoot(string) bool { return false }
