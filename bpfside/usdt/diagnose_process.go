package usdt

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/internal/procmaps"
)

// The steps in a process: whether the kernel will put breakpoints there, and count
// semaphores. Where it does not, it says nothing: an attach succeeds and no probe fires.

// checkAlive looks at the process itself.
func (d *diagnoser) checkAlive() bool {
	const step = "process"
	if _, ok := processStat(d.PID); !ok {
		return d.fault(step, ReasonNoProcess, "there is no process %d", d.PID)
	}
	if !alive(d.PID) {
		return d.fault(step, ReasonZombie, "process %d has ended, and its parent has not waited for it", d.PID)
	}
	for _, err := range procmaps.Of(d.PID) {
		var fe *procmaps.FormatError
		if err != nil && !errors.As(err, &fe) {
			return d.fault(step, ReasonNoAccess, "%v", explainMaps(fmt.Sprintf("read mappings of process %d", d.PID), err))
		}
	}
	d.ok(step, "process %d is alive", d.PID)
	return true
}

// maxMappings bounds the mappings of the file that are looked at for each location: a
// loader makes four or five, and a hostile process 65,530.
const maxMappings = 256

// checkProcess looks at how the process has mapped the file.
func (d *diagnoser) checkProcess() bool {
	const step = "mapping"
	if !d.checkAlive() {
		return false
	}
	var all, ours []procmaps.Mapping
	isOurs := make(map[inode]bool)
	for m, err := range procmaps.Of(d.PID) {
		if err != nil || m.Inode == 0 {
			continue
		}
		all = append(all, m)
		key := inodeOf(m)
		if _, known := isOurs[key]; !known {
			isOurs[key] = d.isMapped(m)
		}
		if isOurs[key] && len(ours) < maxMappings {
			ours = append(ours, m)
		}
	}
	if len(ours) == 0 {
		return d.notMapped(step, all)
	}
	if !slices.ContainsFunc(ours, executable) {
		return d.fault(step, ReasonNoExec, "process %d has mapped %s, but nothing of it executable", d.PID, d.name())
	}
	d.checkMappings(step, ours)
	d.checkMemory(ours)
	return true
}

func (d *diagnoser) checkMappings(step string, maps []procmaps.Mapping) {
	defer d.good(step, func() string {
		return fmt.Sprintf("process %d has mapped %s as the kernel wants it", d.PID, d.name())
	})()
	for i, t := range d.targets {
		d.checkMapped(step, t, d.sites[i], maps)
	}
}

func executable(m procmaps.Mapping) bool { return m.Perms&procmaps.Exec != 0 }

// isMapped reports whether a mapping is one of the file. Some file systems number a
// file in one way for stat and in another for mappings: so it is looked at, if its
// number or its name is that of the file. If it may not be, both must be.
func (d *diagnoser) isMapped(m procmaps.Mapping) bool {
	number := m.Inode == d.image.file.ID.Inode
	name := filepath.Base(m.Path) == filepath.Base(d.Path)
	if !number && !name {
		return false
	}
	f, _, err := openMapping(d.PID, m)
	if err != nil || f == nil {
		return number && name
	}
	defer f.Close()
	id, err := identify(f)
	return err == nil && id.sameFile(d.image.file.ID)
}

// asMapped returns the path by which the file is opened, with a process: a trace of the
// process takes the file that it has mapped under the path, and not one that has taken
// its place since, or lies under that path elsewhere.
func (d *diagnoser) asMapped(step string) string {
	here, err := os.Stat(d.Path)
	var id FileID
	if err == nil {
		id, _ = identityOf(here)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return d.Path
	}
	other := ""
	var mapped procmaps.Mapping
	for m, err := range executableFiles(d.PID) {
		if err != nil || !d.isPath(m.Path) {
			continue
		}
		f, open, err := openMapping(d.PID, m)
		if err != nil || f == nil {
			continue
		}
		got, err := identify(f)
		f.Close()
		if here != nil && (err != nil || got.sameFile(id)) {
			return d.Path
		}
		if other == "" {
			other, mapped = open, m
		}
	}
	switch {
	case other != "" && mapped.Deleted:
		d.caution(step, ReasonReplaced, "process %d has mapped the file that was %s before that was deleted or replaced: this is looked at", d.PID, printable(mapped.Path))
		return other
	case other != "" && here != nil:
		d.add(Check{Step: step, Severity: Caution, Reason: ReasonOtherFile,
			Text:   fmt.Sprintf("process %d has mapped another file, which is %s where it lives (a container?): this is looked at", d.PID, printable(mapped.Path)),
			Remedy: fmt.Sprintf("nothing with -p %d, which takes the same; else name /proc/%d/root%s", d.PID, d.PID, printable(mapped.Path))})
		return other
	case here == nil && filepath.IsAbs(d.Path):
		return fmt.Sprintf("/proc/%d/root%s", d.PID, d.Path) // the name as the process knows it
	}
	return d.Path
}

// isPath reports whether a mapping with a path may be one of the file, by its name.
func (d *diagnoser) isPath(path string) bool {
	abs, err := filepath.Abs(d.Path)
	if err != nil || abs == path {
		return abs == path
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	return err == nil && filepath.Join(dir, filepath.Base(abs)) == path
}

// notMapped tells what the process has mapped in place of the file.
func (d *diagnoser) notMapped(step string, all []procmaps.Mapping) bool {
	abs, err := filepath.Abs(d.Path)
	if err != nil {
		abs = d.Path
	}
	for _, m := range all {
		if m.Path != abs {
			continue
		}
		if m.Deleted {
			return d.fault(step, ReasonReplaced, "process %d has mapped the file that was %s before that was replaced", d.PID, printable(abs))
		}
		d.add(Check{Step: step, Severity: Fault, Reason: ReasonOtherFile,
			Text:   fmt.Sprintf("process %d has mapped another file, which is %s where it lives (a container?)", d.PID, printable(abs)),
			Remedy: fmt.Sprintf("name /proc/%d/root%s", d.PID, printable(abs))})
		return false
	}
	for _, m := range all {
		if filepath.Base(m.Path) == filepath.Base(abs) && executable(m) {
			return d.fault(step, ReasonOtherFile, "process %d has mapped another file of that name, %s", d.PID, printable(m.Path))
		}
	}
	return d.fault(step, ReasonNotMapped, "process %d has not mapped %s", d.PID, d.name())
}

// checkMapped looks at the mappings of the locations of a target and of their
// semaphores. The rules of the kernel are those of valid_vma and valid_ref_ctr_vma in
// kernel/events/uprobes.c.
func (d *diagnoser) checkMapped(step string, t *Target, sites []Site, maps []procmaps.Mapping) {
	covering := func(off uint64, n uint64, perm procmaps.Perms) (found []procmaps.Mapping) {
		for _, m := range maps {
			if m.Perms&perm != 0 && off >= m.Off && off+n <= m.Off+(m.End-m.Start) {
				found = append(found, m)
			}
		}
		return found
	}
	d.judge(t, step, tallyOf(t, func(i int) (Reason, error) {
		loc := &t.Locations[i]
		if loc.Err != nil || sites[i].Err != nil {
			return "", nil
		}
		code := covering(loc.Offset, 1, procmaps.Exec)
		with := func(p procmaps.Perms) func(procmaps.Mapping) bool {
			return func(m procmaps.Mapping) bool { return m.Perms&p != 0 }
		}
		good := slices.DeleteFunc(slices.Clone(code), with(procmaps.Shared|procmaps.Write))
		switch {
		case len(code) == 0:
			return ReasonNoExec, fmt.Errorf("the code at %#x is not mapped executable", loc.Offset)
		case len(good) == 0 && slices.ContainsFunc(code, with(procmaps.Shared)):
			return ReasonMappedShared, fmt.Errorf("the code at %#x is mapped MAP_SHARED (%s)", loc.Offset, code[0].Perms)
		case len(good) == 0:
			return ReasonMappedWritable, fmt.Errorf("the code at %#x is mapped writable (%s)", loc.Offset, code[0].Perms)
		}
		if loc.RefCtrOffset == 0 {
			return "", nil
		}
		data := covering(loc.RefCtrOffset, 2, procmaps.Read|procmaps.Write)
		counted := slices.DeleteFunc(slices.Clone(data), func(m procmaps.Mapping) bool {
			return m.Perms&procmaps.Write == 0 || m.Perms&procmaps.Shared != 0
		})
		if len(counted) == 0 {
			how := "not mapped"
			if len(data) > 0 {
				how = "mapped " + data[0].Perms.String()
			}
			return ReasonSemaphorePage, fmt.Errorf("the semaphore at %#x is %s: it stays 0 while the probe is traced", loc.RefCtrOffset, how)
		}
		return "", nil
	}))
	for i := range t.Locations {
		loc := &t.Locations[i]
		if n := len(covering(loc.Offset, 1, procmaps.Exec)); loc.Err == nil && loc.RefCtrOffset != 0 && n > 1 {
			d.against(t, Caution, step, ReasonMappedTwice, "its code is mapped %d times", n)
			return
		}
	}
}

// maxMemory bounds the locations that are read from the memory of a process.
const maxMemory = 4096

// checkMemory compares the code that the process runs with that of the file: the
// kernel writes its breakpoints into the process's own copy.
func (d *diagnoser) checkMemory(maps []procmaps.Mapping) {
	const step = "memory"
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", d.PID))
	if err != nil {
		d.caution(step, ReasonNoAccess, "the memory of process %d could not be looked at: %v", d.PID, unwrapPath(err))
		return
	}
	defer mem.Close()
	same, traced, looked := 0, 0, 0
	defer d.good(step, func() string {
		if traced > 0 {
			return fmt.Sprintf("%s of %d being traced right now", count(traced, "location"), looked)
		}
		return fmt.Sprintf("%s as in the file: nobody traces there now", count(same, "location"))
	})()
	for i, t := range d.targets {
		for j := range t.Locations {
			loc, site := &t.Locations[j], &d.sites[i][j]
			at := slices.IndexFunc(maps, func(m procmaps.Mapping) bool {
				off := loc.Offset + uint64(site.Shift)
				return executable(m) && off >= m.Off && off-m.Off < m.End-m.Start
			})
			if loc.Err != nil || len(site.Code) == 0 || at < 0 || looked == maxMemory {
				continue
			}
			got := make([]byte, len(site.Code))
			if n, _ := mem.ReadAt(got, int64(maps[at].Start+loc.Offset+uint64(site.Shift)-maps[at].Off)); n < len(got) {
				continue
			}
			looked++
			switch {
			case bytes.Equal(got, site.Code):
				same++
			case isBreakpoint(loc.Machine, got):
				traced++
			default:
				d.against(t, Caution, step, ReasonPatched, "the code at %#x is % x, and % x in the file", loc.Offset, got, site.Code)
			}
		}
	}
}

// isBreakpoint reports whether code is what the kernel puts at a traced instruction:
// int3, or a call into its trampoline, on x86; brk of UPROBES_BRK_IMM on arm64
// (arch/arm64/include/asm/brk-imm.h).
func isBreakpoint(m stapsdt.Machine, code []byte) bool {
	switch m {
	case stapsdt.X86_64, stapsdt.I386:
		return code[0] == 0xcc || len(code) >= 5 && code[0] == 0xe8
	case stapsdt.ARM64:
		return bytes.Equal(code, []byte{0xa0, 0x00, 0x20, 0xd4})
	}
	return false
}
