//go:build amd64 || arm64

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/internal/testutils"
)

// bpfProgram is a program for nopfire run that prints something at its end.
const bpfProgram = `#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/usdt.bpf.h>

unsigned long long hits;

SEC("usdt/*:shop:order")
int BPF_USDT(on_order, long id)
{
	hits++;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
`

// outputs are command lines that print results, of every command that has any: those
// with --json by all means. PID and DIR stand for a process that fires and a directory
// with bpfProgram.
var outputs = map[string]string{
	"nopfire argdist":     "argdist -p PID -C shop:* -d 2",
	"nopfire count":       "count -p PID shop:* -d 2",
	"nopfire demo":        "demo --count 4",
	"nopfire doctor":      "doctor -p PID",
	"nopfire list":        "list -v -p PID",
	"nopfire list urdt":   "list urdt",
	"nopfire selftest":    "selftest elfgen/debug* emit/closed*",
	"nopfire run":         "run DIR/hits.bpf.c -p PID --duration 100ms",
	"nopfire trace":       "trace -p PID shop:* --duration 10s -n 3",
	"nopfire urdt status": "urdt status",
	"nopfire version":     "version",
}

// run runs one of the outputs to its end and returns standard output and error.
func (r *outputRun) run(t *testing.T, line string, more ...string) (stdout, stderr string) {
	t.Helper()
	cmd := r.command(line, more...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args[1:], " "), err, errs.String())
	}
	return out.String(), errs.String()
}

// An outputRun is what the command lines need.
type outputRun struct{ exe, pid, dir string }

func newOutputRun(t *testing.T) *outputRun {
	demo, pid := keptDemo(t)
	r := &outputRun{exe: demo.Cmd.Path, pid: pid, dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(r.dir, "hits.bpf.c"), []byte(bpfProgram), 0o644); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *outputRun) command(line string, more ...string) *exec.Cmd {
	line = strings.NewReplacer("PID", r.pid, "DIR", r.dir).Replace(line)
	cmd := exec.Command(r.exe, append(strings.Fields(line), more...)...)
	cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=")
	return cmd
}

// Every --json prints objects of JSON, one a line, and nothing else; without it no
// command colours what is no terminal.
func TestOutputs(t *testing.T) {
	r := newOutputRun(t)
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			check(sub)
		}
		path := cmd.CommandPath()
		line, known := outputs[path]
		if cmd.Flags().Lookup("json") == nil {
			if known {
				t.Run(path, func(t *testing.T) { checkText(t, r, line) })
			}
			return
		}
		if !known {
			t.Errorf("%s has --json and no row in outputs", path)
			return
		}
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			checkText(t, r, line)
			stdout, _ := r.run(t, line, "--json")
			n := 0
			for text := range strings.Lines(stdout) {
				n++
				dec := json.NewDecoder(strings.NewReader(text))
				dec.UseNumber()
				var object map[string]any
				if err := dec.Decode(&object); err != nil || len(object) == 0 || dec.More() || !strings.HasSuffix(text, "}\n") {
					t.Errorf("line %d is no object of JSON: %v: %q", n, err, text)
				}
			}
			if n == 0 && path != "nopfire list urdt" {
				t.Error("nothing was printed")
			}
		})
	}
	check(newRoot())
}

func checkText(t *testing.T, r *outputRun, line string) {
	t.Helper()
	stdout, stderr := r.run(t, line)
	if strings.Contains(stdout+stderr, "\x1b") {
		t.Errorf("escape sequences in what is no terminal: %q", stdout+stderr)
	}
	if stdout == "" && !strings.HasPrefix(line, "list urdt") {
		t.Error("nothing was printed")
	}
}

// Nobody reads: that is the end, and no failure, as of "nopfire list | head".
func TestOutputsUnread(t *testing.T) {
	r := newOutputRun(t)
	for path, line := range outputs {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			in, out, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			in.Close()
			cmd := r.command(line)
			var errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = out, &errs
			err = cmd.Start()
			out.Close()
			if err != nil {
				t.Fatal(err)
			}
			hung := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
			defer hung.Stop()
			err = cmd.Wait()
			for said := range strings.Lines(errs.String()) {
				// Some process of the machine may be nobody's to look at.
				if !strings.HasPrefix(said, "nopfire: note: process ") {
					t.Errorf("says %q", said)
				}
			}
			if err != nil {
				t.Errorf("%s: %v", line, err)
			}
		})
	}
}

// What cannot be written is a failure.
func TestOutputFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		testutils.SkipOrFail(t, "no /dev/full: %v", err)
	}
	t.Cleanup(func() { full.Close() })
	r := newOutputRun(t)
	for _, line := range []string{"version", "list -p PID", "doctor", "urdt status", "completion bash", "trace -p PID shop:*", "demo"} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			cmd := r.command(line)
			var errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = full, &errs
			err := cmd.Run()
			if cmd.ProcessState.ExitCode() != exitFailure || !strings.Contains(errs.String(), "no space left on device") {
				t.Errorf("%v, and says %q", err, errs.String())
			}
		})
	}
}
