//go:build !linux || !(amd64 || arm64)

package emit

import (
	"errors"
	"testing"
)

// Where nothing fires, a program runs on with inert probes.
func TestNotSupported(t *testing.T) {
	p, err := NewProvider("inert", nil)
	if err != nil {
		t.Fatal(err)
	}
	h, err := NewProbe1[string](p, "p", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Load(); !errors.Is(err, ErrNotSupported) {
		t.Errorf("Load: %v, want ErrNotSupported", err)
	}
	if h.Enabled() {
		t.Error("enabled")
	}
	h.Fire("x")
	h.Remove()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
