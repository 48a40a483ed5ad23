package main

import (
	"errors"
	"net/http"
	"time"

	"github.com/nopfire/nopfire/emit"
)

// probes are the probes of the server.
type probes struct {
	provider *emit.Provider
	// start fires when the header of a request has been read.
	start *emit.Probe2[string, string]
	// done fires when a request has been answered.
	done *emit.Probe4[string, string, int, time.Duration]
}

// newProbes defines and loads the probes. They can be used even if there is an
// error: then they never fire.
func newProbes() (*probes, error) {
	var p probes
	var errs [4]error
	p.provider, errs[0] = emit.NewProvider("httpserver", nil)
	p.start, errs[1] = emit.NewProbe2[string, string](p.provider, "request__start",
		&emit.ProbeOptions{Args: []string{"method", "path"}})
	p.done, errs[2] = emit.NewProbe4[string, string, int, time.Duration](p.provider, "request__done",
		&emit.ProbeOptions{Args: []string{"method", "path", "status", "took"}})
	errs[3] = p.provider.Load()
	return &p, errors.Join(errs[:]...)
}

// Close removes the probes.
func (p *probes) Close() error { return p.provider.Close() }

// Wrap returns a handler that fires the probes around each request. It asks
// first whether somebody traces: only then is the time taken and the answer
// watched.
func (p *probes) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.start.Fire(r.Method, r.URL.Path)
		if !p.done.Enabled() {
			next.ServeHTTP(w, r)
			return
		}
		begin := time.Now()
		watched := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(watched, r)
		p.done.Fire(r.Method, r.URL.Path, watched.status, time.Since(begin))
	})
}

// A statusWriter remembers the status of the answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the writer underneath.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
