//go:build !linux

package scan

import "os"

// A fileSystem is what matters about the file system of a directory: nothing, here.
type fileSystem struct {
	foreign string
	lasting bool
}

func fileSystemOf(*os.File) fileSystem { return fileSystem{} }
