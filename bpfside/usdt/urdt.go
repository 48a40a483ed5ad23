package usdt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/urdt/abi"
)

// Tracepoints that are defined at run time (URDT) all fire through a few USDT
// probes, urdt:probe0 to urdt:probe11, one for each number of arguments; the last
// argument of each tells the name by its hash. docs/urdt-spec.md is the
// specification. Two kinds of object have such probes:
//
//   - marked ones, liburdt.so.1 that is: every probe has K locations, and a name
//     fires at the one that its hash selects. The registers are known, and beside
//     the hash there is a second one;
//   - all others, such as a library with the functions of libbpf's RFC: a name may
//     fire at any location of the probe.

// ErrUnmarked is wrapped when a program that relies on the layout of marked
// objects is to be attached to another one.
var ErrUnmarked = errors.New("object does not carry the URDT marker of nopfire")

// IsURDT returns the number of arguments of the names that fire through a probe,
// and whether the probe is one of those of URDT.
func (p *Probe) IsURDT() (nargs int, ok bool) {
	if p.Provider != abi.Provider {
		return 0, false
	}
	return abi.Arity(p.Name)
}

// ShardOf returns a target with those locations of t at which a name with the given
// hash may fire: the one of its shard if t is of a marked object, else all. Its Shards
// is 0.
func (t *Target) ShardOf(hash uint32) *Target {
	one := *t
	one.Shards, one.shardOrder = 0, nil
	if t.Shards > 0 && t.Shards == len(t.shardOrder) && t.Shards == len(t.Locations) {
		i := t.shardOrder[abi.Shard(hash, t.Shards)]
		one.Locations = t.Locations[i : i+1 : i+1]
	}
	return &one
}

// maxMarkerBytes bounds the section of the marker, which has one note of 32 bytes.
const maxMarkerBytes = 4096

// readMarker looks for the marker of URDT objects, and marks the probes that it
// is right about.
func (img *image) readMarker(ef *elfFile) {
	s := ef.Section(abi.MarkerSection)
	if s == nil {
		return
	}
	fault := func(probe string, err error) {
		img.file.problem(s.Name, int64(s.Offset), probe, fmt.Errorf("marker: %w", err))
	}
	data, err := img.section(s, maxMarkerBytes)
	if err != nil {
		fault("", err)
		return
	}
	kind, k, err := parseMarker(data, ef.ByteOrder)
	if err != nil {
		fault("", err)
		return
	}
	if kind != abi.KindURDT {
		return
	}
	for _, p := range img.file.Probes {
		nargs, ok := p.IsURDT()
		if !ok {
			continue
		}
		if err := p.mark(nargs, k); err != nil {
			fault(p.String(), fmt.Errorf("%w: all locations are taken", err))
		}
	}
}

// parseMarker reads the section of the marker: one note, with three words of 32
// bits behind the owner.
func parseMarker(data []byte, order binary.ByteOrder) (kind uint32, k int, err error) {
	const (
		head  = 12
		owner = abi.MarkerOwner + "\x00"
		desc  = 12
	)
	if len(data) < head+len(owner)+desc {
		return 0, 0, fmt.Errorf("%d bytes, want %d", len(data), head+len(owner)+desc)
	}
	word := func(off int) uint32 { return order.Uint32(data[off:]) }
	switch {
	case word(0) != uint32(len(owner)) || string(data[head:head+len(owner)]) != owner:
		return 0, 0, errors.New("owner is not " + abi.MarkerOwner)
	case word(8) != abi.MarkerType || word(4) < desc:
		return 0, 0, fmt.Errorf("type %d with %d bytes", word(8), word(4))
	}
	at := head + len(owner)
	version, kind, shards := word(at), word(at+4), word(at+8)
	const maxShards = 1 << 16 // what abi.Shard can tell apart
	switch {
	case version != abi.MarkerVersion:
		return 0, 0, fmt.Errorf("version %d is not known", version)
	case kind == abi.KindURDT && (shards == 0 || shards > maxShards || shards&(shards-1) != 0):
		return 0, 0, fmt.Errorf("%d sites for each probe is no power of two within 1..%d", shards, maxShards)
	}
	return kind, int(min(shards, maxShards)), nil
}

// mark makes the probe one of a marked object, if it is as the marker promises: k
// locations, each with all arguments in the known registers and without a
// semaphore.
func (p *Probe) mark(nargs, k int) error {
	if len(p.Locations) != k {
		return fmt.Errorf("%d locations, want %d", len(p.Locations), k)
	}
	want, ok := markedArgs(p.Locations[0].Machine, nargs)
	if !ok {
		return fmt.Errorf("%w: machine %s", ErrNotSupported, p.Locations[0].Machine)
	}
	order := make([]int, k)
	for i := range p.Locations {
		loc := &p.Locations[i]
		order[i] = i
		switch {
		case loc.Err != nil:
			return loc.Err
		case loc.Semaphore != 0:
			return fmt.Errorf("location %#x has a semaphore", loc.Address)
		case loc.ArgString != want:
			return fmt.Errorf("location %#x has arguments %q, want %q", loc.Address, loc.ArgString, want)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		if p.Locations[a].Address < p.Locations[b].Address {
			return -1
		}
		return 1
	})
	for i := 1; i < k; i++ {
		if p.Locations[order[i]].Address == p.Locations[order[i-1]].Address {
			return fmt.Errorf("location %#x stands in two notes", p.Locations[order[i]].Address)
		}
	}
	p.Shards, p.shardOrder = k, order
	return nil
}

// markedArgs returns the argument string of the probe for n arguments in a marked
// object: the arguments, signed, and last the hashes.
func markedArgs(m stapsdt.Machine, n int) (string, bool) {
	var regs *[abi.MaxArgs + 1]string
	switch m {
	case stapsdt.X86_64:
		regs = &abi.RegistersX86_64
	case stapsdt.ARM64:
		regs = &abi.RegistersARM64
	default:
		return "", false
	}
	var b strings.Builder
	for _, r := range regs[1 : n+1] {
		b.WriteString("-8@" + r + " ")
	}
	return b.String() + "8@" + regs[0], true
}

// hasURDT reports whether a file has probes of URDT.
func (f *File) hasURDT() bool {
	return slices.ContainsFunc(f.Probes, func(p *Probe) bool { _, ok := p.IsURDT(); return ok })
}
