package trace

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cilium/ebpf"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/urdt/abi"
)

// urdtPattern is the pattern for the probes of objects with sites of URDT: what the
// follower, or the search, of a session that traces names has to look for.
const urdtPattern = abi.Provider + ":probe*"

// A URDTName is a tracepoint that is defined at run time: see docs/urdt-spec.md.
type URDTName struct {
	Provider, Name string
	// NArgs is the number of arguments; EveryNumber: whichever.
	NArgs int
}

// EveryNumber is the NArgs that stands for every number of arguments.
const EveryNumber = -1

// ParseURDTName reads "urdt:PROVIDER:NAME" and "urdt:PROVIDER:NAME/NARGS". IsURDT
// tells whether the text means such a name at all: with two colons and this
// beginning; "urdt:probe2" is a probe like any other.
func ParseURDTName(text string) (n URDTName, isURDT bool, err error) {
	rest, ok := strings.CutPrefix(text, abi.Provider+":")
	if !ok || !strings.Contains(rest, ":") {
		return n, false, nil
	}
	n.Provider, n.Name, _ = strings.Cut(rest, ":")
	n.NArgs = EveryNumber
	if i := strings.LastIndexByte(n.Name, '/'); i >= 0 {
		arity, ok := abi.Arity("probe" + n.Name[i+1:])
		if !ok {
			return n, true, fmt.Errorf("name %q: %q is no number of arguments within 0..%d", text, n.Name[i+1:], abi.MaxArgs)
		}
		n.Name, n.NArgs = n.Name[:i], arity
	}
	if n.Provider == "" || n.Name == "" {
		return n, true, fmt.Errorf("name %q: want urdt:PROVIDER:NAME or urdt:PROVIDER:NAME/NARGS", text)
	}
	return n, true, nil
}

// String returns the name as ParseURDTName reads it.
func (n URDTName) String() string {
	s := abi.Provider + ":" + n.Provider + ":" + n.Name
	if n.NArgs >= 0 {
		s += fmt.Sprintf("/%d", n.NArgs)
	}
	return s
}

// maxURDTEntries bounds the map that the programs find names in: a name takes one
// entry for each number of arguments, and one for each way in which some object has
// them.
const maxURDTEntries = 1 << 18

// urdtNames is what a session knows of the names that it traces. Many names fire at
// one site, and many are traced by one link: the program looks the hashes up that it
// is called with.
type urdtNames struct {
	wanted map[int][]wantedName // by number of arguments
	// entries is the map: from a urdtKey to the cookie of the events.
	entries *ebpf.Map
	names   map[urdtKey]string // of each entry its name
	classes map[string]uint64  // of each program, by the key of its layout
	types   map[URDTName][]usdt.Param
	current map[string]urdtKey // the entry of each name and place of its arguments
	pending []urdtEntry
	pinned  map[fileKey]bool // files that are attached to whoever maps them
	files   map[fileKey]*urdtFile
}

// A wantedName is a name that a clause traces.
type wantedName struct {
	URDTName
	clause *clause
	// turn is how many clauses before this one trace the same name: a program
	// finds one cookie for it, so each needs programs of its own.
	turn int
	// every tells that the clause traces the name with whatever number of
	// arguments.
	every bool
}

// A urdtFile is a file that is attached to.
type urdtFile struct {
	targets []*usdt.Target
	held    map[urdtPlace]bool // that a link stands at
}

// A urdtPlace is a location, and a program that is attached there: at most once, as
// it looks for all names.
type urdtPlace struct {
	prog   *ebpf.Program
	offset uint64
}

// A urdtEntry is to be made when the program that looks for it is attached.
type urdtEntry struct {
	key    urdtKey
	cookie uint64
	name   URDTName
	place  string // the name and its turn, and where its arguments are
}

// A urdtKey is what a program looks for. Its layout in memory is the one that
// layout.lookUp stores.
type urdtKey struct {
	// Hashes are both hashes; for an object without the second one, the
	// first.
	Hashes uint64
	// Class is the class of the program, as the same name has other fields
	// where its arguments stand elsewhere.
	Class uint64
}

// newURDTNames returns what a session needs for the names that clauses trace; nil if
// none does.
func newURDTNames(clauses []*clause) (*urdtNames, error) {
	u := &urdtNames{
		wanted: make(map[int][]wantedName), names: make(map[urdtKey]string), classes: make(map[string]uint64),
		types: make(map[URDTName][]usdt.Param), current: make(map[string]urdtKey),
		pinned: make(map[fileKey]bool), files: make(map[fileKey]*urdtFile),
	}
	turns := make(map[URDTName]int)
	for _, c := range clauses {
		if c.name == nil {
			continue
		}
		for nargs := range abi.MaxArgs + 1 {
			if c.name.NArgs == EveryNumber || c.name.NArgs == nargs {
				one := URDTName{c.name.Provider, c.name.Name, nargs}
				u.wanted[nargs] = append(u.wanted[nargs], wantedName{one, c, turns[one], c.name.NArgs == EveryNumber})
				turns[one]++
			}
		}
	}
	if len(u.wanted) == 0 {
		return nil, nil
	}
	var err error
	u.entries, err = ebpf.NewMap(&ebpf.MapSpec{
		Name: "nopfire_names", Type: ebpf.Hash, KeySize: 16, ValueSize: 8, MaxEntries: maxURDTEntries,
		Flags: 1, // BPF_F_NO_PREALLOC, include/uapi/linux/bpf.h
	})
	if err != nil {
		return nil, explain("create map of names", err)
	}
	return u, nil
}

// close frees the map.
func (u *urdtNames) close() error {
	if u == nil {
		return nil
	}
	return u.entries.Close()
}

// prepare gets ready to attach to targets in files that nothing is attached to.
func (u *urdtNames) prepare(targets []*usdt.Target) {
	if u == nil || len(targets) == 0 {
		return
	}
	// Whoever maps a file may have registered names; of one that is only known
	// by its name, anybody.
	pids := make(map[int]bool)
	for _, t := range targets {
		delete(u.files, fileOf("", t))
		switch {
		case !u.takes(t):
		case t.PID != 0 || len(t.PIDs) == 0:
			pids[t.PID] = true
		default:
			for _, pid := range t.PIDs {
				pids[pid] = true
			}
		}
	}
	if pids[0] {
		pids = map[int]bool{0: true}
	}
	for _, pid := range slices.Sorted(maps.Keys(pids)) {
		u.learn(pid)
	}
	for _, t := range targets {
		if !u.takes(t) {
			continue
		}
		f := u.files[fileOf("", t)]
		if f == nil {
			f = &urdtFile{held: make(map[urdtPlace]bool)}
			u.files[fileOf("", t)] = f
		}
		f.targets = append(f.targets, t)
	}
}

// learn takes the types of wanted names from what processes have registered; those of
// the first registration stay. It returns the names that are typed now and were not.
func (u *urdtNames) learn(pid int) (news []URDTName) {
	registered, _ := usdt.RegisteredNames(pid) // a name without types is one of integers
	for _, r := range registered {
		n := URDTName{r.Provider, r.Name, len(r.Params)}
		if _, ok := u.types[n]; !ok && slices.ContainsFunc(u.wanted[n.NArgs], func(w wantedName) bool { return w.URDTName == n }) {
			u.types[n] = r.Params
			news = append(news, n)
		}
	}
	return news
}

// takes reports whether a target is one through which wanted names fire.
func (u *urdtNames) takes(t *usdt.Target) bool {
	if u == nil {
		return false
	}
	_, ok := t.IsURDT()
	return ok
}

// groupURDT sorts the places at which the wanted names fire in a target into
// groups, one for each program.
func (s *Session) groupURDT(t *usdt.Target) (groups []*group, problems []error) {
	nargs, _ := t.IsURDT()
	return s.groupNames(t, s.urdt.wanted[nargs])
}

// groupNames is groupURDT for some of the names.
func (s *Session) groupNames(t *usdt.Target, names []wantedName) (groups []*group, problems []error) {
	held := s.urdt.files[fileOf("", t)].held
	byProg := make(map[*ebpf.Program]*group)
	for _, name := range names {
		for _, at := range t.ShardOf(abi.Hash(name.Provider, name.Name)).Layouts() {
			prog, err := s.wantURDT(name, at, t.Shards > 0)
			if m := new(misfit); name.every && errors.As(err, &m) && m.other {
				continue // fired with so few arguments it is another tracepoint
			}
			if err != nil {
				if name.clause.isNews(err) {
					problems = append(problems, fmt.Errorf("%s in %s: %w", name, t.Path, err))
				}
				continue
			}
			at.Locations = slices.DeleteFunc(at.Locations, func(l usdt.Location) bool { return held[urdtPlace{prog, l.Offset}] })
			if len(at.Locations) == 0 {
				continue
			}
			g := byProg[prog]
			if g == nil {
				g = &group{prog: prog, offsets: make(map[uint64]bool), names: true}
				byProg[prog] = g
				groups = append(groups, g)
			}
			g.add(at, 0)
			for _, l := range at.Locations {
				held[urdtPlace{prog, l.Offset}] = true
			}
		}
	}
	return groups, problems
}

// wantURDT makes the program for a name at locations of one layout, and makes it
// look for the name.
func (s *Session) wantURDT(w wantedName, t *usdt.Target, marked bool) (*ebpf.Program, error) {
	name := w.URDTName
	view, hash, err := urdtView(name, t)
	if err != nil {
		return nil, err
	}
	view.Params = s.urdt.types[name]
	names := &nameLookup{hash: hash, second: marked, nargs: name.NArgs, turn: w.turn}
	prog, cookie, err := s.prepare(view, w.clause, names)
	if err != nil {
		return nil, err
	}
	w.clause.selected = true
	e := urdtEntry{
		key:    urdtKey{abi.Hashes(name.Provider, name.Name), names.class},
		cookie: cookie,
		name:   name,
		place:  fmt.Sprintf("%s %d %t", name, w.turn, marked),
	}
	for _, a := range t.Locations[0].Args() {
		e.place += " " + a.Text
	}
	if !marked {
		e.key.Hashes &= 1<<32 - 1
	}
	s.urdt.pending = append(s.urdt.pending, e)
	return prog, nil
}

// commitNames makes the programs that are attached now look for the pending entries.
// An entry with other types for the same name in the same place goes: for a moment
// nobody looks for the name then, rather than two programs.
func (s *Session) commitNames() (problems []error) {
	u := s.urdt
	if u == nil {
		return nil
	}
	for _, e := range u.pending {
		// Of names that only a second hash could tell apart the first is
		// traced.
		if other, ok := u.names[e.key]; ok && other != e.name.String() {
			problems = append(problems, fmt.Errorf("%s: it has the hash of %s, and an object has no second one", e.name, other))
			continue
		}
		if old, ok := u.current[e.place]; ok && old != e.key {
			_ = u.entries.Delete(old) // it is there
			delete(u.names, old)
		}
		if err := u.entries.Put(e.key, e.cookie); err != nil {
			problems = append(problems, fmt.Errorf("%s: look for name: %w", e.name, err))
			continue
		}
		u.names[e.key], u.current[e.place] = e.name.String(), e.key
		s.markAttached(e.cookie)
	}
	u.pending = nil
	return problems
}

// urdtView returns a target with the arguments that the caller of a name has given,
// and the argument of the site that is the hash.
func urdtView(name URDTName, t *usdt.Target) (*usdt.Target, stapsdt.Arg, error) {
	loc := t.Locations[0]
	args := loc.Args()
	if len(args) != name.NArgs+1 {
		return nil, stapsdt.Arg{}, fmt.Errorf("location %#x has %d arguments, want %d and the hash", loc.Address, len(args), name.NArgs)
	}
	last := stapsdt.ParseArgs(loc.Machine, loc.ArgString)[name.NArgs]
	loc.ArgString = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(loc.ArgString), last.Text))
	view := *t
	view.Provider, view.Name = name.Provider, name.Name
	view.Locations = []usdt.Location{loc}
	if hash := args[name.NArgs]; hash.Size == 4 || hash.Size == 8 {
		return &view, hash, readable(loc.Machine, hash)
	}
	return nil, stapsdt.Arg{}, fmt.Errorf("location %#x: a hash of %d bytes", loc.Address, last.Size)
}

// attachKnown attaches to the objects that processes find by their name, before any
// has mapped them: what the first one fires is seen.
func (s *Session) attachKnown(pid int) []error {
	targets, problems := usdt.KnownURDT(urdtPattern)
	for _, t := range targets {
		t.PID = pid
	}
	errs := s.attach("", targets)
	for _, t := range targets {
		if key := fileOf("", t); len(s.links[key]) > 0 {
			s.urdt.pinned[key] = true
		}
	}
	return append(problems, errs...)
}

// keeps reports whether a file is attached to whether or not somebody maps it.
func (u *urdtNames) keeps(key fileKey) bool { return u != nil && u.pinned[key] }

// forget drops what is known of a file that is gone.
func (u *urdtNames) forget(key fileKey) {
	if u != nil {
		delete(u.files, key)
	}
}

// typesInterval is how often a following session looks for new registrations, which
// nothing tells of; less often if that takes long.
const typesInterval = time.Second

// followTypes gives names their types when a process registers them, until the
// session ends.
func (s *Session) followTypes(pid int) {
	wait := typesInterval
	for {
		select {
		case <-s.follow.done:
			return
		case <-time.After(wait):
		}
		start := time.Now()
		s.tell(s.retype(pid))
		// At most a twentieth of one CPU.
		wait = max(typesInterval, 20*time.Since(start))
	}
}

// retype attaches programs that read the arguments of newly typed names as what they
// are.
func (s *Session) retype(pid int) (problems []error) {
	s.attaching.Lock()
	defer s.attaching.Unlock()
	if s.detached {
		return nil
	}
	news := s.urdt.learn(pid)
	if len(news) == 0 {
		return nil
	}
	for _, file := range s.urdt.files {
		for _, t := range file.targets {
			nargs, _ := t.IsURDT()
			names := slices.DeleteFunc(slices.Clone(s.urdt.wanted[nargs]), func(w wantedName) bool { return !slices.Contains(news, w.URDTName) })
			groups, errs := s.groupNames(t, names)
			problems = append(append(problems, errs...), s.attachGroups("", groups)...)
		}
	}
	return append(withoutGone(problems), s.commitNames()...)
}

// TypeName returns the type of an argument of a registered name as the events have
// it: int64 if the process does not say.
func TypeName(p usdt.Param) string {
	_, typ, ok := paramType(&p)
	if !ok {
		return "int64"
	}
	return typ
}
