//go:build !race && (amd64 || arm64)

package emit

const raceEnabled = false
