//go:build !linux

package scan

import "os"

// holdsNoFiles knows no file systems here.
func holdsNoFiles(*os.File) (what string, yes bool) { return "", false }
