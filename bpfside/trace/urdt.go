package trace

import (
	"fmt"
	"strings"

	"github.com/cilium/ebpf"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/urdt/abi"
)

// URDTPattern is the pattern for the probes of objects with sites of URDT: what the
// follower, or the search, of a session with Options.URDT has to look for.
const URDTPattern = abi.Provider + ":probe*"

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
	wanted map[int][]URDTName // by number of arguments
	// entries is the map: from a urdtKey to the cookie of the events.
	entries *ebpf.Map
	names   map[urdtKey]string // of each entry its name
	classes map[string]uint64  // of each program, by the key of its layout
	types   map[URDTName][]usdt.Param
	pinned  map[fileKey]bool // files that are attached to whoever maps them
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

// newURDTNames returns what a session for the given names needs; nil for none.
func newURDTNames(names []URDTName) (*urdtNames, error) {
	if len(names) == 0 {
		return nil, nil
	}
	u := &urdtNames{
		wanted: make(map[int][]URDTName), names: make(map[urdtKey]string), classes: make(map[string]uint64),
		types: make(map[URDTName][]usdt.Param), pinned: make(map[fileKey]bool),
	}
	seen := make(map[URDTName]bool)
	for _, n := range names {
		for nargs := range abi.MaxArgs + 1 {
			one := URDTName{n.Provider, n.Name, nargs}
			if (n.NArgs == EveryNumber || n.NArgs == nargs) && !seen[one] {
				seen[one] = true
				u.wanted[nargs] = append(u.wanted[nargs], one)
			}
		}
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

// learn takes the types of names from what processes have registered; those of the
// first registration stay.
func (u *urdtNames) learn(pid int) {
	registered, _ := usdt.RegisteredNames(pid) // a name without types is one of integers
	for _, r := range registered {
		n := URDTName{r.Provider, r.Name, len(r.Params)}
		if _, ok := u.types[n]; !ok {
			u.types[n] = r.Params
		}
	}
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
	byProg := make(map[*ebpf.Program]*group)
	for _, name := range s.urdt.wanted[nargs] {
		for _, at := range t.ShardOf(abi.Hash(name.Provider, name.Name)).Layouts() {
			prog, err := s.wantURDT(name, at, t.Shards > 0)
			if err != nil {
				problems = append(problems, fmt.Errorf("%s in %s: %w", name, t.Path, err))
				continue
			}
			g := byProg[prog]
			if g == nil {
				g = &group{prog: prog, offsets: make(map[uint64]bool)}
				byProg[prog] = g
				groups = append(groups, g)
			}
			g.addNew(at)
		}
	}
	return groups, problems
}

// addNew takes those locations of a target into the group that are not in it.
func (g *group) addNew(t *usdt.Target) {
	fresh := *t
	fresh.Locations = nil
	for _, l := range t.Locations {
		if !g.offsets[l.Offset] {
			fresh.Locations = append(fresh.Locations, l)
		}
	}
	if len(fresh.Locations) > 0 {
		g.add(&fresh, 0)
	}
}

// wantURDT makes the program for a name at locations of one layout, and makes it
// look for the name.
func (s *Session) wantURDT(name URDTName, t *usdt.Target, marked bool) (*ebpf.Program, error) {
	view, hash, err := urdtView(name, t)
	if err != nil {
		return nil, err
	}
	view.Params = s.urdt.types[name]
	l, fields := plan(view, &s.opts)
	l.names = &nameLookup{hash: hash, second: marked}
	prog, err := s.program(l)
	if err != nil {
		return nil, err
	}
	cookie := s.cookie(probe{name.Provider, name.Name, fields, l.size})
	key := urdtKey{abi.Hashes(name.Provider, name.Name), l.names.class}
	if !marked {
		key.Hashes &= 1<<32 - 1
	}
	// Of names that only a second hash could tell apart the first is traced.
	if other, ok := s.urdt.names[key]; ok && other != name.String() {
		return nil, fmt.Errorf("it has the hash of %s, and the object has no second one", other)
	}
	if err := s.urdt.entries.Put(key, cookie); err != nil {
		return nil, fmt.Errorf("look for name: %w", err)
	}
	s.urdt.names[key] = name.String()
	return prog, nil
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
	targets, problems := usdt.KnownURDT(URDTPattern)
	for _, t := range targets {
		t.PID = pid
	}
	_, errs := s.attach(targets)
	for _, t := range targets {
		if key := fileOf(t); len(s.links[key]) > 0 {
			s.urdt.pinned[key] = true
		}
	}
	return append(problems, errs...)
}

// keeps reports whether a file is attached to whether or not somebody maps it.
func (u *urdtNames) keeps(key fileKey) bool { return u != nil && u.pinned[key] }

// TypeName returns the type of an argument of a registered name as the events have
// it: int64 if the process does not say.
func TypeName(p usdt.Param) string {
	_, typ, ok := paramType(&p)
	if !ok {
		return "int64"
	}
	return typ
}
