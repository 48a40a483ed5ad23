package usdt

// A kinship decides which forked processes a Follower has to look at: a child has
// the mappings of its parent, and no event tells of them.
//
// That a parent holds something at the moment is not enough to go by. What an event
// tells is learnt later: by then the parent may have unmapped it, or ended, which
// makes it a suspect. And events of different CPUs may come in the wrong order by
// one batch, so forks and suspects are remembered for that long.
type kinship struct {
	suspects, suspectsBefore map[int]bool
	forks                    []fork
	oldForks                 int // how many of them are of the batch before
	children                 map[int]bool
}

// A fork is a process that began with the mappings of another.
type fork struct{ parent, child int }

func newKinship() kinship {
	return kinship{
		suspects: make(map[int]bool), suspectsBefore: make(map[int]bool),
		children: make(map[int]bool),
	}
}

// suspect takes note that a process has mapped more than is known of it.
func (k *kinship) suspect(pid int) {
	if k.suspects[pid] {
		return
	}
	k.suspects[pid] = true
	for _, f := range k.forks {
		if f.parent == pid {
			k.look(f.child)
		}
	}
}

// forked takes note of a new process, whose parent holds something or not.
func (k *kinship) forked(parent, child int, holds bool) {
	k.forks = append(k.forks, fork{parent, child})
	if holds || k.suspects[parent] || k.suspectsBefore[parent] {
		k.look(child)
	}
}

// look makes a child one to look at. It may have ended by then, and have had
// children itself.
func (k *kinship) look(child int) {
	k.children[child] = true
	k.suspect(child)
}

// endBatch returns the children to look at, and forgets what no event can refer to
// any more.
func (k *kinship) endBatch() []int {
	var pids []int
	for pid := range k.children {
		pids = append(pids, pid)
	}
	clear(k.children)
	k.forks = append(k.forks[:0], k.forks[k.oldForks:]...)
	k.oldForks = len(k.forks)
	k.suspects, k.suspectsBefore = k.suspectsBefore, k.suspects
	clear(k.suspects)
	return pids
}
