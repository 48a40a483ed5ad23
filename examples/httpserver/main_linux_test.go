//go:build amd64 || arm64

package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/internal/testutils"
)

// The server runs, is asked, and is traced from outside meanwhile.
func TestTracedFromOutside(t *testing.T) {
	server := testutils.Start(t, testutils.GoBuild(t, "."), "-addr", "127.0.0.1:0")
	url, _, _ := strings.Cut(strings.TrimPrefix(server.ReadLine(), "listening on "), ",")
	get := func(path string) (status int, body string) {
		t.Helper()
		resp, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(data)
	}
	if status, body := get("/hello/you"); status != 200 || body != "Hello, you!\n" {
		t.Fatalf("untraced, the server answers %d %q", status, body)
	}

	testutils.NeedBPF(t)
	s, err := trace.Start(trace.Query{PID: server.PID, Clauses: []trace.Clause{{Pattern: "httpserver:*"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	before := time.Now()
	get("/hello/世界")
	get("/nothere")
	took := time.Since(before)
	want := []string{
		`request__start method="GET" path="/hello/世界"`,
		`request__done method="GET" path="/hello/世界" status=200`,
		`request__start method="GET" path="/nothere"`,
		`request__done method="GET" path="/nothere" status=404`,
	}
	n := 0
	for ev, err := range s.Events(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		got := strings.TrimPrefix(ev.String(), "httpserver:")
		if ev.Probe == "request__done" {
			last := ev.Args[3]
			if d, ok := last.Value.(int64); !ok || last.Type != "time.Duration" || d <= 0 || d > int64(took) {
				t.Errorf("took is %s %v, the client saw %v", last.Type, last, took)
			}
			got, _, _ = strings.Cut(got, " took=")
		}
		if got != want[n] || ev.PID != server.PID {
			t.Errorf("process %d: %s\nwant %d: %s", ev.PID, got, server.PID, want[n])
		}
		if n++; n == len(want) {
			return
		}
	}
	t.Errorf("%d events, want %d; server: %s", n, len(want), server.Stderr())
}
