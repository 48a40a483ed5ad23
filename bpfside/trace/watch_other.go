//go:build !linux

package trace

import (
	"errors"
	"fmt"
	"os"
	"time"
)

var errNotLinux = fmt.Errorf("tracing asks for Linux: %w", errors.ErrUnsupported)

func openPidfd(int) (*os.File, error)        { return nil, errNotLinux }
func waitExit(*os.File) bool                 { return false }
func bootTime() (time.Time, error)           { return time.Time{}, errNotLinux }
func ownPIDNamespace() (pidNamespace, error) { return pidNamespace{}, errNotLinux }
