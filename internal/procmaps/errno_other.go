//go:build !unix

package procmaps

// isESRCH is false where there is no /proc.
func isESRCH(error) bool { return false }
