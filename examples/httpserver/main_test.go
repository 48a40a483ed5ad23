package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Probes or not, the handler behaves the same.
func TestWrap(t *testing.T) {
	p, err := newProbes()
	if err != nil {
		t.Logf("no probes: %v", err)
	}
	defer p.Close()
	for _, tt := range []struct {
		path   string
		status int
		body   string
	}{
		{"/hello/you", http.StatusOK, "Hello, you!\n"},
		{"/", http.StatusNotFound, "404 page not found\n"},
	} {
		w := httptest.NewRecorder()
		p.Wrap(routes()).ServeHTTP(w, httptest.NewRequest("GET", tt.path, nil))
		if w.Code != tt.status || w.Body.String() != tt.body {
			t.Errorf("%s: %d %q, want %d %q", tt.path, w.Code, w.Body, tt.status, tt.body)
		}
	}
}

func TestStatusWriter(t *testing.T) {
	rec := httptest.NewRecorder()
	w := &statusWriter{ResponseWriter: rec, status: http.StatusOK}
	w.WriteHeader(http.StatusTeapot)
	if w.status != http.StatusTeapot || rec.Code != http.StatusTeapot {
		t.Errorf("remembered %d, sent %d", w.status, rec.Code)
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		t.Errorf("flush through the writer: %v", err)
	}
}
