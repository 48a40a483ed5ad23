package doctor

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/feature"
)

func TestProcess(t *testing.T) {
	ok := &usdt.Location{}
	broken := &usdt.Location{Err: errors.New("overwritten")}
	target := func(provider, name string, locations ...*usdt.Location) *usdt.Target {
		target := &usdt.Target{Probe: usdt.Probe{Provider: provider, Name: name}, ID: usdt.FileID{Inode: uint64(len(provider))}}
		for _, l := range locations {
			target.Locations = append(target.Locations, *l)
		}
		return target
	}
	denied := &feature.PermissionError{Op: "read", Missing: []feature.Capability{feature.CapSysPtrace}, Err: syscall.EACCES}
	refused := &feature.PermissionError{Op: "read", Err: syscall.EACCES}
	const running = "Name:\tshop\nState:\tS (sleeping)\nTgid:\t88\nUid:\t1000\t1000\t1000\t1000\nNSpid:\t88"
	for _, tc := range []struct {
		name    string
		changes map[string]string
		found   usdt.Result
		err     error
		want    []string
		wantErr error
	}{
		{"with probes", map[string]string{
			"/proc/88/status": running, "link:/proc/88/ns/mnt": "mnt:[1]", "link:/proc/88/ns/user": initUserNS,
		}, usdt.Result{
			Targets: []*usdt.Target{target("shop", "order", ok), target("shop", "paid", broken, ok), target("python", "x", ok)},
		}, nil, []string{
			"ok process: 88 shop, of user id 1000",
			"ok mount namespace of the process: this one",
			"ok user namespace of the process: this one",
			"ok mappings: can be read",
			"ok probes: 3, of 2 providers in 2 files",
		}, nil},
		{"in a container", map[string]string{
			"/proc/88/status":      running + "\t7",
			"link:/proc/88/ns/mnt": "mnt:[2]", "link:/proc/88/ns/user": "user:[4]",
		}, usdt.Result{Targets: []*usdt.Target{target("a", "b", ok)}, Problems: []error{errors.New("open x: gone\nand more")}}, nil, []string{
			"ok process: 88 shop, of user id 1000",
			"ok pid namespace of the process: one below this: inside it is process 7",
			"ok mount namespace of the process: another (a container)",
			"ok user namespace of the process: another",
			"ok mappings: can be read",
			"ok probes: 1, of 1 provider in 1 file; 1 fault (nopfire list -p 88): open x: gone",
		}, nil},
		{"without probes", map[string]string{"/proc/88/status": running}, usdt.Result{}, nil, []string{
			"ok process: ", "note mount namespace of the process: not known", "note user namespace of the process: not known",
			"ok mappings: can be read",
			"missing probes: none that could be attached to → nopfire list --why -p 88 FILE",
		}, nil},
		{"with broken ones only", map[string]string{"/proc/88/status": running}, usdt.Result{Targets: []*usdt.Target{target("a", "b", broken)}}, nil, []string{
			"ok process: ", "note mount", "note user", "ok mappings", "missing probes: none that could be attached to → ",
		}, nil},
		{"of somebody else", map[string]string{"/proc/88/status": strings.ReplaceAll(running, "1000", "0")}, usdt.Result{}, denied, []string{
			"ok process: 88 shop, of user id 0", "note mount", "note user",
			"missing mappings: missing CAP_SYS_PTRACE → run as root, or with CAP_SYS_PTRACE",
		}, denied},
		{"of this user, and not to be looked at", map[string]string{"/proc/88/status": running}, usdt.Result{}, fmt.Errorf("x: %w", denied), []string{
			"ok process: ", "note mount", "note user",
			"missing mappings: missing CAP_SYS_PTRACE: the process is of this user, but has capabilities, or is not dumpable (PR_SET_DUMPABLE; a setuid program) → run as root, or with CAP_SYS_PTRACE",
		}, denied},
		{"that nobody may look at", map[string]string{"/proc/88/status": running}, usdt.Result{}, refused, []string{
			"ok process: ", "note mount", "note user",
			"missing mappings: refused in spite of all capabilities: permission denied → none by capabilities: a security module",
		}, refused},
		{"that has gone meanwhile", map[string]string{"/proc/88/status": running}, usdt.Result{}, os.ErrNotExist, []string{
			"ok process: ", "note mount", "note user", "missing mappings: file does not exist → ",
		}, os.ErrNotExist},
		{"that is not there", nil, usdt.Result{}, nil, []string{
			"missing process: there is no process 88 → the id as ps shows it here",
		}, os.ErrNotExist},
		{"that is a thread", map[string]string{"/proc/88/status": strings.ReplaceAll(running, "Tgid:\t88", "Tgid:\t80")}, usdt.Result{}, nil, []string{
			"ok process: ", "missing thread: is a thread of process 80 → nopfire doctor -p 80",
		}, nil},
		{"that has ended", map[string]string{"/proc/88/status": strings.ReplaceAll(running, "S (sleeping)", "Z (zombie)")}, usdt.Result{}, nil, []string{
			"ok process: ", "missing state: has ended, and its parent has not waited for it → ",
		}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			checks := made(tc.changes).process(88, func(pid int, patterns ...string) (*usdt.Result, error) {
				if pid != 88 || len(patterns) != 0 {
					t.Errorf("asked for process %d, %q", pid, patterns)
				}
				return &tc.found, tc.err
			})
			if len(checks) != len(tc.want) {
				t.Errorf("%d checks, want %d", len(checks), len(tc.want))
			}
			missing := false
			for i, c := range checks {
				if i < len(tc.want) && !strings.HasPrefix(text(c), tc.want[i]) {
					t.Errorf("got   %s\nwant  %s", text(c), tc.want[i])
				}
				missing = missing || c.Status == Missing
			}
			err := (&Report{Checks: checks}).Err()
			if tc.wantErr != nil && !errors.Is(err, tc.wantErr) {
				t.Errorf("error %v, want %v", err, tc.wantErr)
			}
			if (err != nil) != missing {
				t.Errorf("error %v, though something is missing: %t", err, missing)
			}
		})
	}
}
