package doctor

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/nopfire/nopfire/internal/feature"
)

// A host is what /proc and the like say about this process and its system. Tests
// make up others.
type host struct {
	read     func(path string) (string, error) // a file, without blanks around it
	readlink func(path string) (string, error)
	pid, uid int
	exe      string // this program
	nosuid   bool   // its file system ignores capabilities of files
}

// thisHost returns the host of this process.
func thisHost() *host {
	h := &host{
		read: func(path string) (string, error) {
			data, err := os.ReadFile(path)
			return strings.TrimSpace(string(data)), err
		},
		readlink: os.Readlink,
		pid:      os.Getpid(), uid: os.Geteuid(),
		exe: "nopfire",
	}
	if exe, err := os.Executable(); err == nil {
		h.exe = exe
		var st unix.Statfs_t
		h.nosuid = unix.Statfs(exe, &st) == nil && st.Flags&unix.ST_NOSUID != 0
	}
	return h
}

// line returns the value of a "Key:\tvalue" line of /proc/self/status.
func (h *host) line(key string) string { return statusLine(h, "/proc/self/status", key) }

// statusLine returns the value of a "Key:\tvalue" line of a status file.
func statusLine(h *host, path, key string) string {
	status, _ := h.read(path)
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// caps returns the set of capabilities that a line of the status file has.
func (h *host) caps(key string) feature.CapSet {
	n, _ := strconv.ParseUint(h.line(key), 16, 64)
	return feature.CapSet(n)
}

// The inodes of the first namespaces (enum init_ns_ino in
// include/uapi/linux/nsfs.h; older kernels have the numbers in
// include/linux/proc_ns.h).
const (
	initUserNS = "user:[4026531837]"
	initPIDNS  = "pid:[4026531836]"
)

// inUserNS reports whether the process is in a user namespace of its own: its
// capabilities do not count outside of that.
func (h *host) inUserNS() bool {
	ns, err := h.readlink("/proc/self/ns/user")
	return err == nil && ns != initUserNS
}

// machine says what system this is.
func (h *host) machine() []Check {
	var checks []Check
	add := func(name string, status Status, found, remedy string) {
		checks = append(checks, Check{Group: GroupMachine, Name: name, Status: status, Found: found, Remedy: remedy})
	}
	release, _ := h.read("/proc/sys/kernel/osrelease")
	add("kernel", OK, "Linux "+release+" "+runtime.GOARCH, "")
	switch runtime.GOARCH {
	case "amd64", "arm64":
	default:
		add("architecture", Note, "probes of Go programs fire on amd64 and arm64 only; those of others are traced", "")
	}
	if h.uid == 0 {
		add("user", OK, "root", "")
	} else {
		add("user", OK, "user id "+strconv.Itoa(h.uid), "")
	}
	if h.inUserNS() {
		add("user namespace", Missing, "not the initial one: its capabilities do not count for BPF, not even root's",
			"run nopfire outside of the container or in one without a user namespace (not rootless, no --userns)")
	} else {
		add("user namespace", OK, "the initial one", "")
	}
	if kind := h.container(); kind != "" {
		add("container", Note, kind, "")
	}
	switch ns, err := h.readlink("/proc/self/ns/pid"); {
	case err != nil:
		add("pid namespace", Missing, "not known: "+firstLine(err), "mount -t proc proc /proc")
	case ns == initPIDNS:
		add("pid namespace", OK, "the initial one", "")
	default:
		add("pid namespace", Note, "not the initial one: process ids are those of this namespace, and processes outside of it are not seen", "")
	}
	return append(checks, h.procMount())
}

// container names what made a container of this, "" if nothing says so.
func (h *host) container() string {
	for _, c := range []struct{ path, kind string }{
		{"/run/.containerenv", "podman"}, // podman-run(1)
		{"/.dockerenv", "docker"},
		{"/var/run/secrets/kubernetes.io/serviceaccount/namespace", "kubernetes"},
	} {
		if _, err := h.read(c.path); err == nil {
			return c.kind
		}
	}
	return ""
}

// procMount says whether /proc shows what it has to.
func (h *host) procMount() Check {
	c := Check{Group: GroupMachine, Name: "/proc", Found: "shows all processes"}
	self, err := h.readlink("/proc/self")
	if err != nil {
		c.Status, c.Found, c.Remedy = Missing, firstLine(err), "mount -t proc proc /proc"
		c.err = fmt.Errorf("/proc is not mounted: %w", err)
		return c
	}
	if self != strconv.Itoa(h.pid) {
		// unshare --pid without --mount-proc.
		c.Status, c.Found, c.Remedy = Missing, "is of another PID namespace: this is process "+strconv.Itoa(h.pid)+" here and "+self+" there",
			"mount -t proc proc /proc in a mount namespace of its own (unshare --mount-proc)"
		return c
	}
	mounts, _ := h.read("/proc/self/mountinfo")
	options := procOptions(mounts)
	hide := ""
	for option := range strings.SplitSeq(options, ",") {
		// Documentation/filesystems/proc.rst, "Mount options".
		switch option {
		case "hidepid=1", "hidepid=noaccess", "hidepid=2", "hidepid=invisible", "hidepid=4", "hidepid=ptraceable", "subset=pid":
			hide = option
		}
	}
	if hide != "" && !h.caps("CapEff").Has(feature.CapSysPtrace) {
		c.Status, c.Found, c.Remedy = Missing, "is mounted with "+hide+": processes of other users cannot be seen",
			"run as root, or with CAP_SYS_PTRACE"
	}
	return c
}

// procOptions returns the options of the file system on /proc, as its super block
// has them. The last mount there covers the others.
func procOptions(mountinfo string) (options string) {
	for line := range strings.Lines(mountinfo) {
		// 22 27 0:21 / /proc rw,relatime shared:5 - proc proc rw,hidepid=2
		mount, fs, ok := strings.Cut(strings.TrimSpace(line), " - ")
		if f, g := strings.Fields(mount), strings.Fields(fs); ok && len(f) >= 5 && len(g) >= 3 && f[4] == "/proc" && g[0] == "proc" {
			options = g[2]
		}
	}
	return options
}
