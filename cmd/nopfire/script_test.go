package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/internal/feature"
	"github.com/nopfire/nopfire/internal/testutils"
)

var update = flag.Bool("u", false, "rewrite the expected output in testdata/script")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"nopfire": main})
}

// TestScript runs the scripts of testdata/script. Beside the commands of
// testscript they have
//
//	object FILE      write an object with some probes
//	shop [DIR]       start a process with the probes of the demo, which fires
//	                 all the time; its id is in $PID, and the object of its
//	                 probes, a file in DIR, in $OBJECT
//	waitfor FILE RE  wait until a line of a file matches
//	asuser N CMD…    as status, as user 65534; the output is in files out and err
//	status N CMD…    run a command, and check that its exit status is N
//	traced N FILE    wait until N links of BPF trace a file
//
// and the conditions bpf (this process may trace), root, fires (probes do, on this
// machine) and uprobe_multi (links say what they trace).
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			exe, err := os.Executable()
			e.Setenv("NOPFIRE", exe)
			// The path of the command, for scripts that clear PATH.
			first, _, _ := strings.Cut(e.Getenv("PATH"), string(filepath.ListSeparator))
			e.Setenv("COMMAND", filepath.Join(first, "nopfire"))
			return err
		},
		UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"object":  cmdObject,
			"shop":    cmdShop,
			"asuser":  cmdAsUser,
			"status":  cmdStatus,
			"traced":  cmdTraced,
			"waitfor": cmdWaitFor,
		},
		Condition: condition,
	})
}

// condition knows what a script may ask for. In the CI nothing may be missing.
func condition(name string) (bool, error) {
	var err error
	switch name {
	case "bpf":
		err = feature.BPF.Check()
	case "uprobe_multi":
		// Kernels may lack it: it is no want of this machine.
		return feature.UprobeMulti.Check() == nil, nil
	case "root":
		if os.Geteuid() != 0 {
			err = fmt.Errorf("user id %d", os.Geteuid())
		}
	case "fires":
		if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
			return false, nil
		}
	default:
		return false, fmt.Errorf("condition %q is not known", name)
	}
	if err != nil && testutils.InCI() {
		return false, fmt.Errorf("%s is missing in the CI: %w", name, err)
	}
	return err == nil, nil
}

// cmdObject writes a fabricated object: what it holds is in list_file.txtar.
func cmdObject(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: object FILE")
	}
	obj, err := elfgen.Build(&elfgen.ProviderSpec{
		Name: "app",
		Probes: []elfgen.ProbeSpec{
			{Name: "request", Args: []elfgen.ArgSpec{
				{Name: "status", Type: &elfgen.Type{Kind: elfgen.Int, Size: 4}},
				{Name: "path", Type: &elfgen.Type{Kind: elfgen.String}},
			}},
			{Name: "idle"},
			{Name: "tuned", Semaphore: true, Args: []elfgen.ArgSpec{
				{Name: "took", Type: &elfgen.Type{Kind: elfgen.Int, Size: 8, Go: "time.Duration"}},
			}},
		},
	}, stapsdt.X86_64, elfgen.FormNop5)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), obj.Image, 0o644))
}

// cmdShop starts the child of the demo and lets it fire until the script ends.
func cmdShop(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: shop [DIR]")
	}
	cmd := exec.Command(nopfirePath(ts), "demo-child")
	if len(args) > 0 {
		cmd.Args = append(cmd.Args, "--dir", ts.MkAbs(args[0]))
	}
	in, err := cmd.StdinPipe()
	ts.Check(err)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		ts.Fatalf("shop says nothing")
	}
	var hello demoHello
	ts.Check(json.Unmarshal(lines.Bytes(), &hello))
	ts.Setenv("OBJECT", hello.Path)
	stop := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				in.Close()
				io.Copy(io.Discard, out)
				cmd.Wait()
				return
			case <-time.After(5 * time.Millisecond):
				io.WriteString(in, "fire 6\n") // each probe once
				for range 6 {
					lines.Scan()
				}
			}
		}
	}()
	ts.Defer(func() { close(stop); <-ended })
	ts.Setenv("PID", strconv.Itoa(cmd.Process.Pid))
}

// cmdWaitFor waits until a file that somebody writes has a line.
func cmdWaitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitfor FILE REGEXP")
	}
	re, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	var data []byte
	for range 1000 {
		if data, err = os.ReadFile(ts.MkAbs(args[0])); err == nil && re.Match(data) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("%s has no line %s: %s, %v", args[0], args[1], data, err)
}

// nopfirePath returns the file that the command nopfire of the scripts is.
func nopfirePath(ts *testscript.TestScript) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path := filepath.Join(dir, "nopfire"); fileExists(path) {
			return path
		}
	}
	ts.Fatalf("no nopfire in PATH")
	return ""
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// cmdStatus runs a command like exec, and wants one very exit status.
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command [argument...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	checkStatus(ts, args[0], err)
}

func checkStatus(ts *testscript.TestScript, want string, err error) {
	got := 0
	if err != nil {
		exit, ok := err.(*exec.ExitError)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if strconv.Itoa(got) != want {
		ts.Fatalf("exit status %d, want %s", got, want)
	}
}
