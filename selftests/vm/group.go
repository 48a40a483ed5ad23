package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/nopfire/nopfire/selftests/vm/internal/plan"
)

// A group is the tests of one package, or a program that tests by itself.
type group struct {
	name string
	pkg  string // directory in the repository
	run  string // -test.run, "" for all
	skip string // -test.skip
	// selftest are arguments of nopfire that make it print the results of checks
	// as JSON: then there is no package.
	selftest []string
}

// groups are what depends on the kernel or the processor. What is left out reads
// files, or repeats on each level of an instruction set what was shown on one, or
// makes so many links that an older kernel is busy for minutes: it is the same on
// every kernel, or shows nothing more, and there is a limit to what a CI waits for.
var groups = []group{
	{name: "selftest", selftest: []string{"selftest", "--json"}},
	{name: "elfgen", pkg: "elfgen", run: "^(TestSites|TestURDTExecutes|TestURDTFires|TestURDTEnabled|TestDlopen|TestURDTBacktrace|TestURDTUnwind)"},
	{name: "emit", pkg: "emit"},
	{name: "urdt", pkg: "urdt"},
	{name: "call", pkg: "internal/call"},
	{name: "image", pkg: "internal/image"},
	{name: "feature", pkg: "internal/feature"},
	{name: "procwatch", pkg: "internal/procwatch"},
	{name: "usdt", pkg: "bpfside/usdt", run: "^Test(Attach|AutoAttach|Capabilities|Missing|Print|DiagnoseTraced|DiagnoseProcess|Discover|ProcessTargets|TraceGo|Follow|Tracer|Hold|LoadArg|Manager|Mapping|Kconfig|AllTargets|SitesAgree|NearProbes)",
		skip: "^Test(AttachManyLocations|AttachFiftyThousand|AttachForeign|AttachSemaphoreLimit|AttachCycles|AttachURDT|FollowChurn|FollowManyProcesses|FollowerScansAgain|FollowerDoubtsEvents|FollowerTellsFaultsOnce|FollowerOfReusedPID)$"},
	{name: "trace", pkg: "bpfside/trace", skip: "^Test(ThousandProbes|ConditionOfAThousandProbes)$"},
	{name: "body", pkg: "bpfside/trace/internal/body", run: "^Test(Values|Headers|Floats|Conditions|All|Undefined)$"},
	{name: "bpfc", pkg: "bpfside/bpfc", run: "^TestDialectLevels$/^v3|^Test(RunningKernelTypes|LayoutOfKernel|Explain|ReadUser)$"},
	{name: "run", pkg: "bpfside/run"},
	{name: "selftests", pkg: "selftests", run: "^Test(ExactlyOnce|CommandFollowsProcesses|Follow|KillLeavesNothing|UnusualForms|URDTSelf|URDTShared|URDTPerfEvent|URDTSeenBySession|URDTTraceLaterProcess|URDTTraceTyped|ObjectAutoAttach|ObjectPIDFilter)$"},
	{name: "cli", pkg: "cmd/nopfire", run: "^TestScript$/^(count|demo|doctor|pidns|trace|trace_all|trace_expr|trace_urdt|urdt)$"},
}

// Where things lie in the machine.
const (
	sourceDir  = "/src"
	testDir    = "/tests"
	programDir = "/programs"
)

// groupLimit is when a group is taken for hanging: an emulator is some twenty
// times slower than the machine that it runs on, and that may be busy.
const groupLimit = 5 * time.Minute

// programs are what tests would build with go, which is not there: testutils.GoBuild
// finds them by the last element of their path.
var programs = []string{
	"cmd/nopfire", "bpfside/usdt/testdata/goprog",
	"selftests/testprogs/bpfccompile", "selftests/testprogs/emitter", "selftests/testprogs/seedgo", "selftests/testprogs/urdtfire", "selftests/testprogs/urdtgo",
}

// buildGroups compiles the tests of the groups for an architecture, and what they
// run, into dir.
func buildGroups(dir, arch string, gs []group) error {
	for _, g := range gs {
		if g.selftest != nil {
			continue
		}
		if err := goBuild(arch, "test", "-c", "-o", filepath.Join(dir, g.name), "./"+g.pkg); err != nil {
			return err
		}
	}
	for _, p := range programs {
		if err := goBuild(arch, "build", "-o", filepath.Join(dir, programDir, path.Base(p)), "./"+p); err != nil {
			return err
		}
	}
	return goBuild(arch, "build", "-o", filepath.Join(dir, "init"), "./selftests/vm/init")
}

// goBuild runs the go command for Linux on an architecture, without cgo: what it
// builds needs no files but its own.
func goBuild(arch string, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// writeInitramfs writes all files of a machine: init, the tests that were built
// in dir, the source tree with their testdata, and the plan.
func writeInitramfs(file, dir, arch string, k *kernel, gs []group) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	c := newCpioWriter(f)
	if err := c.file("init", filepath.Join(dir, "init")); err != nil {
		return err
	}
	if err := addTools(c, arch); err != nil {
		return err
	}
	for _, d := range []string{"dev", "proc", "sys", "tmp", "run", "root", "bin", "etc"} {
		c.dir(d)
	}
	c.data("etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"))
	c.data("etc/group", 0o644, []byte("root:x:0:\nnogroup:x:65534:\n"))
	if err := c.file("boot/config-"+k.release, k.config); err != nil {
		return err
	}
	var p plan.Plan
	for _, g := range gs {
		if g.selftest != nil {
			p.Groups = append(p.Groups, plan.Group{
				Name: g.name, Dir: "/tmp", Path: path.Join(programDir, "nopfire"), Args: g.selftest, Limit: groupLimit,
			})
			continue
		}
		name := path.Join(testDir, g.name)
		if err := c.file(name[1:], filepath.Join(dir, g.name)); err != nil {
			return err
		}
		args := []string{"-test.v=test2json", "-test.short", "-test.timeout=0"}
		if g.run != "" {
			args = append(args, "-test.run="+g.run)
		}
		if g.skip != "" {
			args = append(args, "-test.skip="+g.skip)
		}
		p.Groups = append(p.Groups, plan.Group{
			Name: g.name, Dir: path.Join(sourceDir, g.pkg), Path: name, Args: args, Limit: groupLimit,
		})
	}
	for _, prog := range programs {
		name := path.Join(programDir, path.Base(prog))
		if err := c.file(name[1:], filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	tracked, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range bytes.SplitSeq(bytes.TrimSuffix(tracked, []byte{0}), []byte{0}) {
		// A file may be deleted and not yet committed.
		if err := c.file(inArchive(string(name)), string(name)); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	c.data(plan.File[1:], 0o644, text)
	if err := c.close(); err != nil {
		return err
	}
	return f.Close()
}
