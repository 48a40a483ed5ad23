package urdt

import (
	"fmt"
	"strings"
	"sync"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/internal/argument"
	"github.com/nopfire/nopfire/urdt/abi"
)

// A signature is what the registry keeps of a handle.
type signature struct {
	abi.Registration
	hashes uint64
}

// newSignature checks name and types.
func newSignature(provider, name string, types []argument.Type) (*signature, error) {
	for _, s := range []string{provider, name} {
		if !abi.ValidName(s) {
			return nil, nameError(provider, name, fmt.Sprintf("%q is not printable ASCII without ':' and blanks, of 1 to %d bytes", s, abi.MaxName))
		}
	}
	s := &signature{hashes: abi.Hashes(provider, name)}
	s.Provider, s.Name = provider, name
	for i, t := range types {
		switch {
		case t.Reason != "":
			return nil, nameError(provider, name, fmt.Sprintf("argument %d: %s", i+1, t.Reason))
		case t.Op == argument.Bytes:
			return nil, nameError(provider, name, fmt.Sprintf("argument %d: []byte takes two; a string, or a pointer and a length, can travel", i+1))
		}
		s.Types = append(s.Types, spell(t.Meta))
	}
	return s, nil
}

// spell returns the type of an argument as a Registration has it.
func spell(t *elfgen.Type) string {
	if t == nil {
		return "" // New
	}
	var kind string
	switch t.Kind {
	case elfgen.Int:
		kind = fmt.Sprintf("int%d", 8*t.Size)
	case elfgen.Uint:
		kind = fmt.Sprintf("uint%d", 8*t.Size)
	case elfgen.Float:
		kind = fmt.Sprintf("float%d", 8*t.Size)
	case elfgen.Bool:
		kind = "bool"
	case elfgen.String:
		kind = "string"
	case elfgen.Error:
		kind = "error"
	default:
		kind = "pointer"
	}
	if t.Go != "" {
		kind += " " + t.Go
	}
	return kind
}

// registry holds the names of this process's handles.
var registry struct {
	sync.Mutex
	names map[key]string  // PROVIDER:NAME
	seen  map[string]bool // records, so that each is written once
	file  registryFile    // where tracers read them
}

// A key is what a tracer that knows the first hash alone can tell.
type key struct {
	nargs int
	hash  uint32
}

// register notes a handle, or refuses it if a tracer could not tell it from one
// that is there. Two handles may have one name, with equal types or others.
func register(s *signature) error {
	name := s.Provider + ":" + s.Name
	k := key{len(s.Types), uint32(s.hashes)}
	registry.Lock()
	defer registry.Unlock()
	// "a:bc" and "ab:c" are two names and hash alike: the colon tells them
	// apart, since no part has one.
	if other, taken := registry.names[k]; taken && other != name {
		return &CollisionError{Name: name, Other: other, NArgs: k.nargs, Hash: k.hash}
	}
	if registry.names == nil {
		registry.names = make(map[key]string)
		registry.seen = make(map[string]bool)
	}
	registry.names[k] = name
	id := name + ":" + strings.Join(s.Types, "\x00")
	if !registry.seen[id] {
		registry.seen[id] = true
		registry.file.append(abi.AppendRegistration(nil, &s.Registration))
	}
	return nil
}
