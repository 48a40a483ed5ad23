//go:build unix

package procmaps

import (
	"errors"
	"syscall"
)

// isESRCH reports whether the kernel answered that there is no such process.
func isESRCH(err error) bool { return errors.Is(err, syscall.ESRCH) }
