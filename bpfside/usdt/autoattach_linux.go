package usdt

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/nopfire/nopfire/internal/feature"
)

// AutoAttach is the function of this name, for the collection of the manager.
func (m *Manager) AutoAttach(opts *AutoOptions) (*Attached, error) {
	var o AutoOptions
	if opts != nil {
		o = *opts
	}
	a := &Attached{Links: make(map[string][]link.Link)}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(m.spec.Programs)) {
		ps := m.spec.Programs[name]
		problem := func(err error) {
			a.Problems = append(a.Problems, fmt.Errorf("program %s, section %q: %w", name, ps.SectionName, err))
		}
		links, err := m.attachSection(ps, m.coll.Programs[name], &o, problem)
		switch {
		case errors.Is(err, ErrLeftToCaller), errors.Is(err, ErrUnknownSection):
			a.Left = append(a.Left, LeftProgram{name, ps.SectionName, err})
		case err != nil:
			errs = append(errs, fmt.Errorf("program %s, section %q: %w", name, ps.SectionName, err))
		default:
			a.Links[name] = links
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(join(errs), a.Close())
	}
	return a, nil
}

// attachSection attaches one program by its section, and tells of what it leaves out.
func (m *Manager) attachSection(ps *ebpf.ProgramSpec, prog *ebpf.Program, o *AutoOptions, problem func(error)) ([]link.Link, error) {
	sec, err := ParseSection(ps.SectionName)
	switch {
	case err != nil:
		return nil, err
	case sec.Kind == SectionOther:
		return nil, ErrUnknownSection
	case sec.Optional:
		return nil, fmt.Errorf("%w: it is optional", ErrLeftToCaller)
	case sec.Bare:
		return nil, fmt.Errorf("%w: the section does not say what to attach to", ErrLeftToCaller)
	case prog == nil:
		return nil, errors.New("the program is not loaded")
	}
	switch sec.Kind {
	case SectionUSDT:
		return m.attachUSDTSection(&sec, prog, o, problem)
	case SectionURDT:
		return one(m.AttachURDT(prog, sec.Provider, sec.Probe, &URDTOptions{
			NArgs: sec.NArgs, Cookie: o.URDTCookie, PID: allIfZero(o.PID), Path: sec.Path,
			LeftOut: func(t *Target, reason error) {
				problem(fmt.Errorf("%s: %w", printable(t.Path), reason))
			},
		}))
	case SectionUprobe:
		return one(attachUprobeSection(&sec, ps, prog, o))
	case SectionTracepoint:
		return one(link.Tracepoint(sec.Group, sec.Name, prog, nil))
	case SectionRawTracepoint:
		return one(link.AttachRawTracepoint(link.RawTracepointOptions{Name: sec.Name, Program: prog}))
	case SectionKprobe:
		return one(attachKprobeSection(&sec, prog))
	case SectionLSM:
		return one(link.AttachLSM(link.LSMOptions{Program: prog}))
	case SectionIter:
		return one(link.AttachIter(link.IterOptions{Program: prog}))
	case SectionTracing:
		return one(link.AttachTracing(link.TracingOptions{Program: prog}))
	}
	return nil, ErrUnknownSection
}

func one(l link.Link, err error) ([]link.Link, error) {
	if err != nil {
		return nil, err
	}
	return []link.Link{l}, nil
}

// attachUSDTSection attaches a program to the probes that its section names.
func (m *Manager) attachUSDTSection(sec *Section, prog *ebpf.Program, o *AutoOptions, problem func(error)) ([]link.Link, error) {
	res, err := sectionTargets(sec, o.PID)
	if err != nil {
		if res == nil {
			return nil, err
		}
		// A fault of the file may be why the probe is not found.
		return nil, errors.Join(append([]error{err}, res.Problems...)...)
	}
	for _, err := range res.Problems {
		problem(err)
	}
	return m.AttachAll(prog, res.Targets, &Options{
		PID: allIfZero(o.PID), Cookie: o.Cookie,
		LeftOut: func(t *Target, loc *Location, reason error) {
			if loc.Err == nil { // else it is among the problems of the file
				problem(fmt.Errorf("%s in %s: %w", printable(t.String()), printable(t.Path), reason))
			}
		},
	})
}

// sectionTargets finds the probes that a section names: in its file or, if the path
// is AnyObject, in everything that the process, or any process for pid 0, has mapped.
func sectionTargets(sec *Section, pid int) (*Result, error) {
	pattern := sec.Provider + ":" + sec.Probe
	switch {
	case sec.Path != AnyObject:
		path, err := FindFile(sec.Path)
		if err != nil {
			return nil, err
		}
		return FileTargets(path, pattern)
	case pid > 0:
		return ProcessTargets(pid, pattern)
	}
	return AllTargets(pattern)
}

// attachKprobeSection attaches a program to the function of the kernel that its
// section names. Those of system calls have a prefix that cilium/ebpf finds.
func attachKprobeSection(sec *Section, prog *ebpf.Program) (l link.Link, err error) {
	if sec.Return {
		l, err = link.Kretprobe(sec.Function, prog, nil)
	} else {
		l, err = link.Kprobe(sec.Function, prog, &link.KprobeOptions{Offset: sec.Offset})
	}
	return l, feature.Explain("attach", err, feature.PerfUprobeCaps...)
}

// allIfZero turns the pid of AutoOptions into that of Options.
func allIfZero(pid int) int {
	if pid == 0 {
		return AllProcesses
	}
	return pid
}

// attachUprobeSection attaches a program to the functions that its section names.
func attachUprobeSection(sec *Section, ps *ebpf.ProgramSpec, prog *ebpf.Program, o *AutoOptions) (link.Link, error) {
	path, err := FindFile(sec.Path)
	if err != nil {
		return nil, err
	}
	ex, err := link.OpenExecutable(path)
	if err != nil {
		return nil, err
	}
	names := []string{sec.Function}
	if sec.Multi {
		if names, err = functionNames(path, sec.Function); err != nil {
			return nil, err
		}
	}
	pid := max(o.PID, 0)
	var l link.Link
	if ps.AttachType == ebpf.AttachTraceUprobeMulti {
		opts := &link.UprobeMultiOptions{PID: uint32(pid)}
		if sec.Offset != 0 {
			opts.Offsets = []uint64{sec.Offset}
		}
		if sec.Return {
			l, err = ex.UretprobeMulti(names, prog, opts)
		} else {
			l, err = ex.UprobeMulti(names, prog, opts)
		}
		return l, feature.Explain("attach", err, feature.TracingCaps...)
	}
	var all []link.Link
	for _, name := range names {
		opts := &link.UprobeOptions{Offset: sec.Offset, PID: pid}
		if sec.Return {
			l, err = ex.Uretprobe(name, prog, opts)
		} else {
			l, err = ex.Uprobe(name, prog, opts)
		}
		if err != nil {
			closeAll(all)
			return nil, feature.Explain("attach", err, feature.PerfUprobeCaps...)
		}
		all = append(all, l)
	}
	return together(all), nil
}

// functionNames returns the names of the functions of a file that match a pattern
// of '*' and '?', each place once.
func functionNames(path, pattern string) ([]string, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", printable(path), unwrapPath(err))
	}
	defer f.Close()
	id, err := identify(f)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", printable(path), err)
	}
	var names []string
	at := make(map[uint64]bool)
	for _, fn := range readFunctions(f, id.Size).list {
		if fn.addr != 0 && glob(pattern, fn.name) && !at[fn.addr] {
			at[fn.addr] = true
			names = append(names, fn.name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no function of %s matches %q: %w", printable(path), pattern, link.ErrNoSymbol)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
