package run

import (
	"maps"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/bpfside/btfvalue"
)

// eventTag begins the declaration tags by which bpfc tells what goes through a
// map: "event:struct NAME". Programs that clang builds can say the same, with
// __attribute__((btf_decl_tag("event:struct NAME"))) at the map.
const eventTag = "event:"

// eventTypes knows the types that the events of each map can have.
type eventTypes struct {
	byMap map[string]mapTypes
}

// mapTypes are the types that go through one map.
type mapTypes struct {
	types []candidate
	// guess says that the object does not tell, and that these are all structs
	// which it has.
	guess bool
}

type candidate struct {
	name string
	typ  btf.Type
	size int
}

func newEventTypes(spec *ebpf.CollectionSpec) *eventTypes {
	e := &eventTypes{byMap: make(map[string]mapTypes)}
	var all []candidate // made when a map does not tell
	for _, name := range slices.Sorted(maps.Keys(spec.Maps)) {
		ms := spec.Maps[name]
		if ms.Type != ebpf.RingBuf && ms.Type != ebpf.PerfEventArray {
			continue
		}
		var told []candidate
		for _, tag := range ms.Tags {
			if t, ok := strings.CutPrefix(tag, eventTag); ok {
				told = appendNamed(told, spec.Types, t)
			}
		}
		if ms.Value != nil {
			// The value of a perf buffer is a descriptor, an int.
			if _, isInt := btf.UnderlyingType(ms.Value).(*btf.Int); !isInt {
				told = appendCandidate(told, ms.Value)
			}
		}
		if len(told) > 0 {
			e.byMap[name] = mapTypes{types: told}
			continue
		}
		if all == nil {
			all = structs(spec)
		}
		e.byMap[name] = mapTypes{types: all, guess: true}
	}
	return e
}

// appendNamed appends the types of a tag: "struct NAME", "union NAME" or the name
// of a typedef.
func appendNamed(to []candidate, types *btf.Spec, tag string) []candidate {
	if types == nil {
		return to
	}
	kind, name, found := strings.Cut(tag, " ")
	if !found {
		kind, name = "", tag
	}
	list, err := types.AnyTypesByName(name)
	if err != nil {
		return to
	}
	for _, t := range list {
		ok := false
		switch t.(type) {
		case *btf.Struct:
			ok = kind == "struct"
		case *btf.Union:
			ok = kind == "union"
		case *btf.Typedef, *btf.Int, *btf.Enum:
			ok = kind == "" || kind == "enum"
		}
		if ok {
			to = appendCandidate(to, t)
		}
	}
	return to
}

func appendCandidate(to []candidate, t btf.Type) []candidate {
	size, err := btf.Sizeof(t)
	if err != nil || size == 0 {
		return to
	}
	return append(to, candidate{t.TypeName(), t, size})
}

// structs returns the structs that an object has: any of them can be an event if
// the object says nothing of it.
func structs(spec *ebpf.CollectionSpec) []candidate {
	var out []candidate
	if spec.Types == nil {
		return out
	}
	for t, err := range spec.Types.All() {
		if err != nil {
			return out
		}
		if st, ok := t.(*btf.Struct); ok && st.Name != "" {
			out = appendCandidate(out, st)
		}
	}
	return out
}

// decode gives the content of an event of a map a type. The data may have up to
// padding bytes more than what was sent.
func (e *eventTypes) decode(name string, data []byte, padding int) (string, btfvalue.Value) {
	if c, ok := e.choose(name, len(data), padding); ok {
		if v, err := btfvalue.Decode(c.typ, data); err == nil {
			return c.name, v
		}
	}
	return "", btfvalue.Bytes(slices.Clone(data))
}

// choose returns the type of an event: the one that has its very size. Of several
// the first is taken if the map tells what it carries; a guess has to be the only
// one. An event that is longer than any type, as one with a text behind it is, has
// the type if there is but one.
func (e *eventTypes) choose(name string, size, padding int) (candidate, bool) {
	m := e.byMap[name]
	var fits []candidate
	for _, c := range m.types {
		if c.size <= size && size-c.size <= padding {
			fits = append(fits, c)
		}
	}
	// The least padding comes first.
	slices.SortStableFunc(fits, func(a, b candidate) int { return b.size - a.size })
	switch {
	case len(fits) == 0:
		if len(m.types) == 1 && m.types[0].size < size {
			return m.types[0], true
		}
		return candidate{}, false
	case len(fits) > 1 && m.guess && fits[1].size == fits[0].size:
		return candidate{}, false
	}
	return fits[0], true
}
