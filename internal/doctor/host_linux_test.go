package doctor

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
)

// A file system of a plain machine, and what tests change of it.
var plain = map[string]string{
	"/proc/sys/kernel/osrelease":                 "6.18.0",
	"/proc/self/status":                          "CapEff:\t000001ffffffffff\nCapBnd:\t000001ffffffffff\nNoNewPrivs:\t0\nSeccomp:\t0",
	"/proc/self/mountinfo":                       "22 27 0:21 / /proc rw,relatime shared:5 - proc proc rw",
	"/proc/sys/kernel/unprivileged_bpf_disabled": "2",
	"/proc/sys/kernel/perf_event_paranoid":       "2",
	"link:/proc/self":                            "77",
	"link:/proc/self/ns/user":                    initUserNS,
	"link:/proc/self/ns/pid":                     initPIDNS,
	"link:/proc/self/ns/mnt":                     "mnt:[1]",
}

const (
	allCaps = "000001ffffffffff"
	noCaps  = "0000000000000000"
	// CAP_BPF and CAP_PERFMON; CAP_SYS_ADMIN.
	bpfCaps   = "000000c000000000"
	adminCaps = "0000000000200000"
	// Docker's default set has none of them.
	dockerCaps = "00000000a80425fb"
)

// status is a /proc/self/status with these capabilities, and more lines.
func status(effective, bounding string, more ...string) string {
	return "CapEff:\t" + effective + "\nCapBnd:\t" + bounding + "\n" + strings.Join(more, "\n")
}

// made is a host with some of the files different; "" takes a file away.
func made(changes map[string]string) *host {
	files := maps.Clone(plain)
	maps.Copy(files, changes)
	look := func(prefix string) func(string) (string, error) {
		return func(path string) (string, error) {
			if text := files[prefix+path]; text != "" {
				return text, nil
			}
			return "", &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
	}
	return &host{read: look(""), readlink: look("link:"), pid: 77, uid: 1000, exe: "/bin/nopfire"}
}

// text writes a check as a line of text.
func text(c Check) string {
	s := fmt.Sprintf("%s %s: %s", c.Status, c.Name, c.Found)
	if c.Remedy != "" {
		s += " → " + c.Remedy
	}
	return s
}

func TestHost(t *testing.T) {
	for _, tc := range []struct {
		name    string
		changes map[string]string
		want    []string // lines of text, each the beginning of one
		not     []string
	}{
		{"plain machine, all capabilities", nil, []string{
			"ok user: user id 1000",
			"ok user namespace: the initial one",
			"ok pid namespace: the initial one",
			"ok /proc: shows all processes",
			"ok CAP_BPF: loads programs (trace,",
			"ok CAP_SYS_RESOURCE: exceeds limits",
			"ok seccomp: no filter",
			"ok lockdown: none that is shown",
			"ok kernel.unprivileged_bpf_disabled: 2",
			"ok kernel.perf_event_paranoid: 2: of no matter, as CAP_PERFMON",
		}, []string{"no_new_privs", "container", "kernel.yama", "security modules"}},
		{"no capabilities", map[string]string{"/proc/self/status": status(noCaps, allCaps)}, []string{
			"missing CAP_BPF: not there; it loads programs (trace, argdist, count, run) → run as root, or: setcap cap_bpf,cap_perfmon=ep /bin/nopfire",
			"missing CAP_PERFMON: ",
			"note CAP_SYS_ADMIN: not there; tracing does without it where the kernel has uprobe_multi",
			"note CAP_SYS_PTRACE: not there; processes of other users are not looked at",
			"note CAP_CHECKPOINT_RESTORE: not there; files that are deleted",
			"note kernel.perf_event_paranoid: 2: with 0 or -1",
		}, []string{"no_new_privs"}},
		{"CAP_SYS_ADMIN stands in", map[string]string{"/proc/self/status": status(adminCaps, allCaps)}, []string{
			"ok CAP_BPF: by CAP_SYS_ADMIN: loads",
			"ok CAP_PERFMON: by CAP_SYS_ADMIN: attaches",
			"ok CAP_CHECKPOINT_RESTORE: by CAP_SYS_ADMIN",
			"note CAP_SYS_PTRACE: not there",
		}, nil},
		{"setcap", map[string]string{"/proc/self/status": status(bpfCaps, allCaps)}, []string{
			"ok CAP_BPF: loads", "ok CAP_PERFMON: attaches", "note CAP_SYS_ADMIN: not there",
		}, nil},
		{"container that takes capabilities away", map[string]string{
			"/proc/self/status": status(dockerCaps, dockerCaps, "NoNewPrivs:\t1", "Seccomp:\t2"),
			"/.dockerenv":       " ", "link:/proc/self/ns/pid": "pid:[4026532000]",
		}, []string{
			"note container: docker",
			"note pid namespace: not the initial one",
			"missing CAP_BPF: not there; it loads programs (trace, argdist, count, run) → give it to the container: --cap-add BPF ",
			"missing CAP_PERFMON: not there; it attaches them, and follows processes (trace, argdist, count, run) → give it to the container: --cap-add PERFMON ",
			"missing no_new_privs: set: sudo and capabilities of files have no effect here → start nopfire from another session",
			"note seccomp: a filter is active",
		}, nil},
		{"no_new_privs does no harm to who has the capabilities", map[string]string{
			"/proc/self/status": status(bpfCaps, allCaps, "NoNewPrivs:\t1"),
		}, nil, []string{"no_new_privs"}},
		{"user namespace with all capabilities", map[string]string{"link:/proc/self/ns/user": "user:[4026532001]"}, []string{
			"missing user namespace: not the initial one",
			"note CAP_BPF: in the user namespace only, where it does not count",
		}, nil},
		{"user namespace without", map[string]string{
			"link:/proc/self/ns/user": "user:[4026532001]", "/proc/self/status": status(noCaps, allCaps),
		}, []string{
			"missing CAP_BPF: not there; it loads programs (trace, argdist, count, run) → run nopfire outside of the user namespace",
		}, nil},
		{"/proc is not mounted", map[string]string{"link:/proc/self": "", "link:/proc/self/ns/pid": ""}, []string{
			"missing pid namespace: not known",
			"missing /proc: open /proc/self: file does not exist → mount -t proc proc /proc",
		}, nil},
		{"/proc of the namespace outside", map[string]string{"link:/proc/self": "4711"}, []string{
			"missing /proc: is of another PID namespace: this is process 77 here and 4711 there → mount",
		}, nil},
		{"hidepid", map[string]string{
			"/proc/self/status":    status(bpfCaps, allCaps),
			"/proc/self/mountinfo": "22 27 0:21 / /proc rw,relatime shared:5 - proc proc rw,gid=4,hidepid=invisible",
		}, []string{"missing /proc: is mounted with hidepid=invisible: processes of other users cannot be seen → "}, nil},
		{"hidepid hides nothing from CAP_SYS_PTRACE", map[string]string{
			"/proc/self/mountinfo": "22 27 0:21 / /proc rw,relatime shared:5 - proc proc rw,hidepid=2",
		}, []string{"ok /proc: shows all"}, nil},
		{"lockdown for confidentiality", map[string]string{"/sys/kernel/security/lockdown": "none integrity [confidentiality]"}, []string{
			"missing lockdown: confidentiality: programs of run cannot read memory of the kernel",
		}, nil},
		{"lockdown for integrity", map[string]string{"/sys/kernel/security/lockdown": "none [integrity] confidentiality"}, []string{
			"ok lockdown: integrity",
		}, nil},
		{"no lockdown", map[string]string{"/sys/kernel/security/lockdown": "[none] integrity confidentiality"}, []string{
			"ok lockdown: none",
		}, []string{"none that is shown"}},
		{"security modules", map[string]string{
			"/sys/kernel/security/lsm": "lockdown,capability,yama,apparmor", "/proc/self/attr/current": "docker-default (enforce)\x00",
			"/proc/sys/kernel/yama/ptrace_scope": "1",
		}, []string{
			"ok security modules: lockdown,capability,yama,apparmor; this process: docker-default (enforce)",
			"ok kernel.yama.ptrace_scope: 1: of no matter",
		}, nil},
		{"no file can be read", map[string]string{
			"/proc/self/status": "", "/proc/self/mountinfo": "", "/proc/sys/kernel/osrelease": "",
			"/proc/sys/kernel/unprivileged_bpf_disabled": "", "/proc/sys/kernel/perf_event_paranoid": "",
		}, []string{"missing CAP_BPF: "}, []string{"kernel.perf", "kernel.unpriv"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := made(tc.changes)
			checks := slices.Concat(h.machine(), h.privileges())
			var lines []string
			for _, c := range checks {
				lines = append(lines, text(c))
				if (c.Remedy != "") != (c.Status == Missing) {
					t.Errorf("%s: a remedy goes with what is missing, and only with that", text(c))
				}
			}
			all := strings.Join(lines, "\n")
			for _, want := range tc.want {
				if !strings.Contains("\n"+all, "\n"+want) {
					t.Errorf("no line %q in\n%s", want, all)
				}
			}
			for _, not := range tc.not {
				if strings.Contains(all, not) {
					t.Errorf("%q in\n%s", not, all)
				}
			}
		})
	}
}

func TestProcOptions(t *testing.T) {
	for _, tc := range []struct{ name, mountinfo, want string }{
		{"none", "", ""},
		{"not of /proc", "1 0 8:1 / / rw - ext4 /dev/sda1 rw,errors=remount-ro", ""},
		{"with optional fields", "22 27 0:21 / /proc rw shared:5 master:1 - proc proc rw,hidepid=2", "rw,hidepid=2"},
		{"without", "22 27 0:21 / /proc rw - proc proc rw", "rw"},
		{"the last one counts", "22 27 0:21 / /proc rw - proc proc rw\n23 27 0:22 / /proc rw - proc proc rw,subset=pid\n", "rw,subset=pid"},
		{"what is mounted below it", "22 27 0:21 / /proc rw - proc proc rw\n30 22 0:9 / /proc/sys rw - proc proc ro\n", "rw"},
		{"cut off", "22 27 0:21 / /proc rw - proc", ""},
	} {
		if got := procOptions(tc.mountinfo); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
