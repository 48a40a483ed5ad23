//go:build !amd64 && !arm64

package call

// Site does nothing: this machine has no sites to enter.
func Site(entry uintptr, f *Frame) {}

// StackBounds returns an empty span.
func StackBounds() (lo, hi uintptr) { return 0, 0 }
