package usdt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"github.com/nopfire/nopfire/urdt/abi"
)

// URDTOptions say how to attach to a tracepoint of URDT. The zero value of each
// field is the usual choice of libbpf's RFC, and a nil *URDTOptions is all of
// them.
type URDTOptions struct {
	// NArgs is the number of arguments that the name is fired with, 0 to 11. A
	// name that is fired with another number is another tracepoint.
	NArgs int
	// Cookie is the user's half of the cookie; the hash of the name is the
	// other.
	Cookie uint32
	// PID is the process to trace; 0: this one; AllProcesses: every process
	// that fires through the objects of Path, later ones too.
	PID int
	// Path is the object with the sites. Without a '/' it is searched by
	// FindFile. AnyObject or "" stands for all that are known: the system's
	// and those of users, which need not be mapped by anybody yet, and those
	// that the process, or any process, has mapped. "/proc/self/exe" is the
	// program of this process; if that has no sites, what this process has
	// mapped.
	Path string
	// Method is the method that the program was prepared for.
	Method Method
	// LeftOut, if not nil, is called for each object of AnyObject that could
	// not be attached to while another was.
	LeftOut func(t *Target, reason error)
}

// AnyObject is the Path that stands for every object with sites of URDT.
const AnyObject = "*"

// AttachURDT attaches a program to a tracepoint that is defined at run time, and
// returns one link for all objects. The program is one in the lean style: the
// cookie of the kernel is hash<<32 | Cookie, which it compares with the hashes that
// stand in the first register of the sites. (BPF_URDT of bpfside/include/urdt.bpf.h
// does, with URDT_LEAN defined.) It sees what else fires at the same site, one name
// in sixteen of that arity, too.
//
// Only marked objects are attached to, as these have the registers that the
// program knows; for another the error wraps ErrUnmarked. Where there is no object,
// or none with that number of arguments, it wraps ErrNoProbe. Programs on usdt.bpf.h
// are attached by Manager.AttachURDT.
//
// The caller closes the link. If nobody does, it ends with the process.
func AttachURDT(prog *ebpf.Program, provider, name string, opts *URDTOptions) (link.Link, error) {
	return attachURDT(prog, provider, name, opts, true, AttachAll)
}

// AttachURDT attaches a program of the collection to a tracepoint that is defined
// at run time. A program on usdt.bpf.h is attached to every object, and the cookie
// that bpf_usdt_cookie returns is hash<<32 | Cookie. For one in the lean style, and
// in everything else, it is as the function of this name.
//
// The caller closes the link.
func (m *Manager) AttachURDT(prog *ebpf.Program, provider, name string, opts *URDTOptions) (link.Link, error) {
	var o URDTOptions
	if opts != nil {
		o = *opts
	}
	if o.Method == Auto {
		o.Method = m.methodOf(prog)
	}
	if m.layout == nil || m.isLean(prog) {
		return AttachURDT(prog, provider, name, &o)
	}
	return attachURDT(prog, provider, name, &o, false, m.AttachAll)
}

// isLean reports whether a program of the collection reads the cookie of the kernel
// by itself and not through the map of usdt.bpf.h, which the collection has for
// others.
func (m *Manager) isLean(prog *ebpf.Program) bool {
	for name, p := range m.coll.Programs {
		if p != prog || m.spec.Programs[name] == nil {
			continue
		}
		cookie := false
		for _, ins := range m.spec.Programs[name].Instructions {
			if ins.Reference() == specMapName {
				return false
			}
			cookie = cookie || ins.IsBuiltinCall() && asm.BuiltinFunc(ins.Constant) == asm.FnGetAttachCookie
		}
		return cookie
	}
	return false
}

// attachURDT attaches to the name in all objects of the options. A lean program
// takes marked objects only.
func attachURDT(prog *ebpf.Program, provider, name string, opts *URDTOptions, lean bool,
	attach func(*ebpf.Program, []*Target, *Options) ([]link.Link, error)) (link.Link, error) {
	var o URDTOptions
	if opts != nil {
		o = *opts
	}
	fail := func(err error) (link.Link, error) {
		return nil, fmt.Errorf("attach to urdt %s with %d arguments: %w", printable(provider+":"+name), o.NArgs, err)
	}
	if o.NArgs < 0 || o.NArgs > abi.MaxArgs {
		return fail(fmt.Errorf("that is not within 0..%d", abi.MaxArgs))
	}
	targets, err := urdtTargets(&o)
	if err != nil {
		return fail(err)
	}
	hash := abi.Hash(provider, name)
	var links []link.Link
	var left []*Target
	var errs []error
	for _, t := range targets {
		var l []link.Link
		err := error(&FileError{t.Path, "", -1, "", ErrUnmarked})
		if !lean || t.Shards > 0 {
			l, err = attach(prog, []*Target{t.ShardOf(hash)}, &Options{
				PID: o.process(), Cookie: abi.Cookie(hash, o.Cookie), Method: o.Method,
			})
		}
		if err != nil {
			left, errs = append(left, t), append(errs, err)
		}
		links = append(links, l...)
	}
	if len(links) == 0 || len(errs) > 0 && !o.any() {
		closeAll(links)
		return fail(join(dedup(errs)))
	}
	if o.LeftOut != nil {
		for i, t := range left {
			o.LeftOut(t, errs[i])
		}
	}
	return together(links), nil
}

// process returns the pid of Options.
func (o *URDTOptions) process() int {
	switch {
	case o.PID < 0:
		return AllProcesses
	case o.PID == 0:
		return os.Getpid()
	}
	return o.PID
}

func (o *URDTOptions) any() bool { return o.Path == "" || o.Path == AnyObject }

// selfExe is the path that the RFC gives a meaning of its own.
const selfExe = "/proc/self/exe"

// urdtTargets returns the probe for the number of arguments in each object that
// the options mean, at least one.
func urdtTargets(o *URDTOptions) ([]*Target, error) {
	pattern := abi.Provider + ":" + abi.SiteName(o.NArgs)
	switch {
	case o.any():
		return anyURDT(o, pattern)
	case o.Path == selfExe:
		f, err := Open(selfExe)
		if err != nil {
			return nil, err
		}
		if !f.hasURDT() {
			res, err := ProcessTargets(os.Getpid(), pattern)
			return res.Targets, err
		}
	}
	path, err := FindFile(o.Path)
	if err != nil {
		return nil, err
	}
	res, err := FileTargets(path, pattern)
	return res.Targets, err
}

// anyURDT returns the probe in all objects that are known.
func anyURDT(o *URDTOptions, pattern string) ([]*Target, error) {
	known, _ := KnownURDT(pattern)
	var res *Result
	var err error
	if o.PID < 0 {
		res, err = AllTargets(pattern)
	} else {
		res, err = ProcessTargets(o.process(), pattern)
	}
	if err != nil && (!errors.Is(err, ErrNoProbe) || len(known) == 0) {
		return nil, err
	}
	return distinct(append(known, res.Targets...)), nil
}

// distinct drops targets in files that stood before.
func distinct(targets []*Target) []*Target {
	seen := make(map[Key]bool)
	var out []*Target
	for _, t := range targets {
		k := t.Key()
		k.PID = 0
		if !seen[k] {
			seen[k] = true
			out = append(out, t)
		}
	}
	return out
}

// KnownURDT returns the wanted probes of the objects that processes look for by
// name and that are there, whether somebody has mapped them or not: the system's,
// those of the users who are logged in, and the one that this process's environment
// names. Patterns are as for FileTargets, but one that matches nothing is no error.
// Problems tells of files that cannot be read.
func KnownURDT(patterns ...string) (targets []*Target, problems []error) {
	for _, path := range knownURDTPaths() {
		res, err := FileTargets(path, patterns...)
		if err != nil && !errors.Is(err, ErrNoProbe) && !errors.Is(err, os.ErrNotExist) {
			problems = append(problems, err)
		}
		problems = append(problems, res.Problems...)
		targets = append(targets, res.Targets...)
	}
	return distinct(targets), problems
}

// runtimeDirs is where systemd makes the directories that XDG_RUNTIME_DIR names,
// one for each user, by number (pam_systemd(8)).
const runtimeDirs = "/run/user"

// systemURDT is the object of the system; tests have another.
var systemURDT = filepath.Join(abi.SystemDir, abi.Library)

// knownURDTPaths returns where objects may be.
func knownURDTPaths() []string {
	var paths []string
	if p := os.Getenv(abi.PathVariable); p != "" {
		paths = append(paths, p)
	}
	paths = append(paths, systemURDT)
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		paths = append(paths, filepath.Join(dir, abi.UserDir, abi.Library))
	}
	users, _ := os.ReadDir(runtimeDirs)
	for _, u := range users {
		if _, err := strconv.ParseUint(u.Name(), 10, 32); err == nil {
			paths = append(paths, filepath.Join(runtimeDirs, u.Name(), abi.UserDir, abi.Library))
		}
	}
	return paths
}

// PID returns the process that is followed, 0 for all.
func (f *Follower) PID() int { return f.opts.PID }
