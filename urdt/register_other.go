//go:build !linux || !(amd64 || arm64)

package urdt

// A registryFile is nothing here: there is nobody to read it.
type registryFile struct{}

func (registryFile) append([]byte) {}
