package usdt

import (
	"slices"
	"strings"

	"github.com/nopfire/nopfire/internal/procmaps"
)

// The books of a Follower: which process maps which file with wanted probes. They
// know nothing of where the news come from, and tell what has changed on balance
// since they were last asked.

// A heldFile is a file with wanted probes that somebody maps, or did when the
// books were last balanced.
type heldFile struct {
	id      FileID
	targets []*Target
	users   *fileUsers
	told    bool // the consumer knows of it
}

// A holding is how a process maps an object.
type holding struct {
	open  string // path to open it by
	inode inode  // as the mappings of the process number it
}

type holdings struct {
	files   map[FileID]*heldFile
	procs   map[int]map[*heldFile]holding
	touched map[*heldFile]bool
}

func newHoldings() *holdings {
	return &holdings{
		files:   make(map[FileID]*heldFile),
		procs:   make(map[int]map[*heldFile]holding),
		touched: make(map[*heldFile]bool),
	}
}

// add makes an object known, which must not be.
func (b *holdings) add(id FileID, targets []*Target, m procmaps.Mapping) *heldFile {
	o := &heldFile{id: id, targets: targets, users: newFileUsers(id, m)}
	b.files[id] = o
	b.touched[o] = true
	return o
}

// hold takes note that a process maps a file.
func (b *holdings) hold(pid int, o *heldFile, h holding) {
	if b.procs[pid] == nil {
		b.procs[pid] = make(map[*heldFile]holding)
	}
	b.procs[pid][o] = h
	o.users.add(pid, h.open)
	b.touched[o] = true
}

// drop takes note that a process does not map an object any more.
func (b *holdings) drop(pid int, o *heldFile) {
	delete(b.procs[pid], o)
	if len(b.procs[pid]) == 0 {
		delete(b.procs, pid)
	}
	o.users.remove(pid)
	b.touched[o] = true
}

// set takes note of all that a process maps: nothing, if it has ended. It reports
// whether the process held something that it does not any more.
func (b *holdings) set(pid int, now map[*heldFile]holding) (dropped bool) {
	for o := range b.procs[pid] {
		if _, ok := now[o]; !ok {
			b.drop(pid, o)
			dropped = true
		}
	}
	for o, h := range now {
		b.hold(pid, o, h)
	}
	return dropped
}

// balance returns the targets of the files that are mapped now and were not when it
// was last called, and of those that are not any more.
//
// A file that came and went in between is left out, unless it has a name: then it
// is added, and removed by the next call, so that a consumer hears of a program
// that never runs for long.
func (b *holdings) balance() (added, removed []*Target) {
	for f := range b.touched {
		mapped := len(f.users.open) > 0
		switch {
		case f.told && mapped:
		case f.told:
			removed = append(removed, f.targets...)
			delete(b.files, f.id)
		case mapped || f.users.name != "":
			f.told = true
			for _, t := range f.targets {
				f.users.describe(t)
			}
			added = append(added, f.targets...)
		default:
			delete(b.files, f.id)
		}
		if mapped || b.files[f.id] != f {
			delete(b.touched, f)
		}
	}
	byName := func(x, y *Target) int {
		return strings.Compare(x.Path+"\x00"+x.String(), y.Path+"\x00"+y.String())
	}
	slices.SortStableFunc(added, byName)
	slices.SortStableFunc(removed, byName)
	return added, removed
}
