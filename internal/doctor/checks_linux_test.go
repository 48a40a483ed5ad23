package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/nopfire/nopfire/internal/feature"
	"github.com/nopfire/nopfire/internal/testutils"
	"github.com/nopfire/nopfire/urdt"
)

// Leaked descriptors and mappings fail the run: nothing of what is tried stays.
func TestMain(m *testing.M) { testutils.Main(m) }

// Where BPF programs load, the whole way has to work.
func TestRun(t *testing.T) {
	testutils.NeedBPF(t)
	r := Run(0)
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	status := make(map[string]Status)
	for _, c := range r.Checks {
		if _, twice := status[c.Name]; twice {
			t.Errorf("%s is there twice", c.Name)
		}
		status[c.Name] = c.Status
		if c.Group == "" || c.Found == "" {
			t.Errorf("group or finding is missing: %+v", c)
		}
		if (c.Remedy != "") != (c.Status == Missing) {
			t.Errorf("%s: a remedy goes with what is missing, and only with that", text(c))
		}
	}
	for _, name := range []string{"kernel", "/proc", "CAP_BPF", "bpf program", "ring buffer", "attach cookie", "following", "trial", "executable memfd"} {
		if got, there := status[name]; !there || got != OK {
			t.Errorf("%s: there is %t, status %s", name, there, got)
		}
	}
	if want := feature.UprobeMulti.Check() == nil; (status["uprobe_multi"] == OK) != want {
		t.Errorf("uprobe_multi is %s, the kernel has it: %t", status["uprobe_multi"], want)
	}
}

// What an ordinary user is told, with any of the capabilities that tracing needs.
func TestRunAsUser(t *testing.T) {
	testutils.Root(t)
	testutils.NeedBPF(t)
	dir, err := os.MkdirTemp("", "nopfire-test") // Go's are not for other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(dir+"/self", self, 0o755)
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		caps []feature.Capability
		want []string
	}{
		{"none", nil, []string{
			"missing bpf program: missing CAP_BPF and CAP_PERFMON → " + privilegesFirst, "missing following: missing CAP_PERFMON",
			"note uprobe_multi: not known", "note trial: not tried, as bpf program is missing",
			"result: privileges: trace: operation not permitted: missing CAP_BPF and CAP_PERFMON (run as root",
		}},
		{"CAP_BPF", []feature.Capability{feature.CapBPF}, []string{
			"missing bpf program: missing CAP_PERFMON → ", "ok ring buffer: ", "result: privileges: trace: ",
		}},
		{"CAP_PERFMON", []feature.Capability{feature.CapPerfmon}, []string{
			"missing bpf program: missing CAP_BPF → ", "ok following: ", "result: privileges: trace: ",
		}},
		{"both", feature.TracingCaps, []string{
			"ok bpf program: ", "ok trial: ", "note map_files: not known: missing CAP_CHECKPOINT_RESTORE", "result: traces",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.name == "both" {
				testutils.Need(t, feature.UprobeMulti) // else it takes CAP_SYS_ADMIN
			}
			cmd := exec.Command(dir+"/self", "-test.run=^TestRunAsUserChild$", "-test.v")
			cmd.Dir = "/"
			cmd.Env = append(os.Environ(), "NOPFIRE_TEST_CHILD=1", "NOPFIRE_CI=")
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			for _, c := range tc.caps {
				cmd.SysProcAttr.AmbientCaps = append(cmd.SysProcAttr.AmbientCaps, uintptr(c))
			}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, want := range tc.want {
				if !strings.Contains(string(out), "\n"+want) {
					t.Errorf("no line %q in\n%s", want, out)
				}
			}
		})
	}
}

// TestRunAsUserChild is the user of TestRunAsUser.
func TestRunAsUserChild(t *testing.T) {
	if os.Getenv("NOPFIRE_TEST_CHILD") == "" {
		t.Skip("skipped: run by TestRunAsUser")
	}
	r := Run(0)
	for _, c := range r.Checks {
		fmt.Println(text(c))
	}
	var pe *feature.PermissionError
	switch err := r.Err(); {
	case err == nil:
		fmt.Println("result: traces")
	case errors.As(err, &pe):
		fmt.Println("result: privileges:", err)
	default:
		fmt.Println("result:", err)
	}
}

func TestScope(t *testing.T) {
	absent := &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}
	system := urdt.Place{Name: "system", Path: "/sys/lib.so"}
	user := urdt.Place{Name: "user", Path: "/run/user/lib.so"}
	with := func(p urdt.Place, err error) urdt.Place {
		p.Err = err
		return p
	}
	for _, tc := range []struct {
		name   string
		places []urdt.Place
		noexec bool
		want   []string
	}{
		{"installed", []urdt.Place{system, with(user, absent)}, false, []string{
			"ok urdt system: /sys/lib.so is what processes of this user share", "note urdt user: not there, and not needed",
		}},
		{"not installed", []urdt.Place{with(system, absent), with(user, absent)}, false, []string{
			"note urdt system: not installed", "ok urdt user: /run/user/lib.so is made by the first process that fires",
		}},
		{"made by a process", []urdt.Place{with(system, absent), user}, false, []string{
			"note urdt system: not installed", "ok urdt user: /run/user/lib.so is what processes of this user share",
		}},
		{"both", []urdt.Place{system, user}, false, []string{"ok urdt system: /sys/lib.so is what", "ok urdt user: /run/user/lib.so is right"}},
		{"neither", []urdt.Place{with(system, absent), {Name: "user", Err: fmt.Errorf("$XDG_RUNTIME_DIR is not set")}}, false, []string{
			"note urdt system: not installed", "note urdt user: $XDG_RUNTIME_DIR is not set", "note urdt scope: process: each has an object of its own",
		}},
		{"of another release", []urdt.Place{with(system, fmt.Errorf("differs")), with(user, absent)}, false, []string{
			"missing urdt system: /sys/lib.so is not used: differs → nopfire urdt uninstall, and install again", "ok urdt user: ",
		}},
		{"noexec", []urdt.Place{system}, true, []string{
			"missing urdt system: /sys/lib.so lies on a file system that is mounted noexec", "note urdt scope: process",
		}},
		{"named and not there", []urdt.Place{{Name: "$NOPFIRE_URDT", Path: "/x", Err: absent}, system}, false, []string{
			"missing urdt $NOPFIRE_URDT: /x is not there → nopfire urdt install --dir, or unset $NOPFIRE_URDT", "ok urdt system: /sys/lib.so is what",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			checks := scope(tc.places, func(string) bool { return tc.noexec })
			if len(checks) != len(tc.want) {
				t.Fatalf("%d checks, want %d", len(checks), len(tc.want))
			}
			for i, c := range checks {
				if !strings.HasPrefix(text(c), tc.want[i]) {
					t.Errorf("got   %s\nwant  %s", text(c), tc.want[i])
				}
			}
		})
	}
}
