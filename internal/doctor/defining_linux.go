package doctor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/nopfire/nopfire/emit"
	"github.com/nopfire/nopfire/urdt"
)

// defining says whether programs can define probes at run time, and how far an
// attach to a name of URDT reaches.
func defining() []Check {
	memory := trial{
		group: GroupDefining, name: "executable memfd", found: "allowed", wanted: true,
		lost:   "package emit falls back to files",
		remedy: "a security module forbids executable memory: allow it for the program, or let it use emit.BackingFile",
		try:    executableMemory,
	}
	checks := []Check{memory.check()}
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return checks
	}
	checks = append(checks, backing())
	return append(checks, scope(urdt.Places(), noexec)...)
}

// backing says where a provider of this process would lie.
func backing() Check {
	c := Check{Group: GroupDefining, Name: "provider"}
	app, err := emit.NewProvider("nopfire_doctor", nil)
	if err == nil {
		defer app.Close()
		_, err = emit.NewProbe0(app, "trial", nil)
	}
	if err == nil {
		err = app.Load()
	}
	if err != nil {
		c.Status, c.Found, c.Remedy = Missing, firstLine(err), "allow executable memfds, or mount some of $TMPDIR, /dev/shm and /var/tmp without noexec"
		return c
	}
	info := app.Backing()
	c.Found = "in a " + info.Backing.String() + ", " + info.NopForm.String()
	if info.Reason != nil {
		c.Status = Note
		c.Found += ": " + firstLine(info.Reason)
	}
	return c
}

// scope says which liburdt.so.1 processes of this user would share.
func scope(places []urdt.Place, noexec func(string) bool) []Check {
	var checks []Check
	used := ""
	for _, p := range places {
		c := Check{Group: GroupDefining, Name: "urdt " + p.Name}
		absent := errors.Is(p.Err, fs.ErrNotExist)
		switch {
		case p.Path == "":
			c.Status, c.Found = Note, firstLine(p.Err)
		case p.Err == nil && noexec(filepath.Dir(p.Path)):
			c.Status, c.Found = Missing, p.Path+" lies on a file system that is mounted noexec: no process can use it"
			c.Remedy = "mount -o remount,exec it, or: nopfire urdt install --dir elsewhere, and set $NOPFIRE_URDT"
		case p.Err == nil && used == "":
			used = p.Name
			c.Found = p.Path + " is what processes of this user share"
		case p.Err == nil:
			c.Found = p.Path + " is right"
		case absent && p.Name == "system":
			c.Status, c.Found = Note, "not installed (nopfire urdt install): an attach to a name reaches the processes of one user, or one process"
		case absent && p.Name == "user" && used == "":
			used = p.Name
			c.Found = p.Path + " is made by the first process that fires"
		case absent && p.Name == "user":
			c.Status, c.Found = Note, "not there, and not needed"
		case absent:
			c.Status, c.Found, c.Remedy = Missing, p.Path+" is not there", "nopfire urdt install --dir, or unset "+p.Name
		default:
			c.Status, c.Found, c.Remedy = Missing, p.Path+" is not used: "+firstLine(p.Err), "nopfire urdt uninstall, and install again"
		}
		checks = append(checks, c)
	}
	if used == "" {
		checks = append(checks, Check{Group: GroupDefining, Name: "urdt scope", Status: Note, Found: "process: each has an object of its own, and is found through its mappings"})
	}
	return checks
}

// noexec reports whether a directory is on a file system that runs nothing.
func noexec(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && st.Flags&unix.ST_NOEXEC != 0
}

// executableMemory tries to map a memfd executable, where package emit puts probes
// unless it is told otherwise. The flags are those of emit: kernels before 6.3 do not
// know MFD_EXEC, and vm.memfd_noexec=2 refuses it (Documentation/userspace-api/mfd_noexec.rst).
func executableMemory() (said string, err error) {
	for _, try := range []struct {
		flag int
		said string
	}{{unix.MFD_EXEC, ""}, {unix.MFD_NOEXEC_SEAL, "allowed, though not for execve (vm.memfd_noexec)"}, {0, ""}} {
		var fd int
		fd, err = unix.MemfdCreate("nopfire-doctor", unix.MFD_CLOEXEC|try.flag)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EACCES) {
			continue
		}
		if err == nil {
			err = mapExecutable(fd)
		}
		return try.said, err
	}
	return "", os.NewSyscallError("memfd_create", err)
}

// mapExecutable maps a file executable, and closes it.
func mapExecutable(fd int) error {
	defer unix.Close(fd)
	page := os.Getpagesize()
	if err := unix.Ftruncate(fd, int64(page)); err != nil {
		return os.NewSyscallError("ftruncate", err)
	}
	text, err := unix.Mmap(fd, 0, page, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	if err != nil {
		return os.NewSyscallError("mmap", err)
	}
	return unix.Munmap(text)
}
