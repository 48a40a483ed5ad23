//go:build !race && (amd64 || arm64)

package urdt

const raceEnabled = false
