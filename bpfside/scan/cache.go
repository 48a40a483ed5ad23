package scan

// A Cache knows files without probes.
type Cache struct{}
