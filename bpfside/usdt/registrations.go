package usdt

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/nopfire/nopfire/internal/procmaps"
	"github.com/nopfire/nopfire/urdt/abi"
)

// Limits on what is read of a process, which may be a hostile one: it can map one
// file as often as vm.max_map_count allows, and have another one behind each mapping.
const (
	// maxRegistry bounds what is read of a registry: some ten thousand names.
	maxRegistry = 1 << 20
	// maxRegistries bounds the files. A process has one for each copy of a
	// library that registers names, one as a rule.
	maxRegistries = 16
)

// A Registered is a name of URDT that a process has registered, with the types of
// its arguments.
type Registered struct {
	PID            int
	Provider, Name string
	// Params are the types of the arguments; of kind Unknown where the process
	// does not say. The names are empty.
	Params []Param
}

// RegisteredNames returns the names of URDT that a process has registered; of every
// process if pid is 0. Nothing obliges a process to register what it fires, and
// nothing keeps one from registering what it does not. Processes that may not be
// looked at are one problem, a *ProcessError; a process that ends meanwhile is none.
func RegisteredNames(pid int) (names []Registered, problems []error) {
	pids := []int{pid}
	if pid == 0 {
		var err error
		if pids, err = processes(); err != nil {
			return nil, []error{err}
		}
	}
	var denied deniedProcesses
	for _, pid := range pids {
		files := make(map[uint64]bool) // by inode, that were looked at
		for m, err := range procmaps.Of(pid) {
			var fe *procmaps.FormatError
			if errors.As(err, &fe) {
				problems = append(problems, fmt.Errorf("process %d: %w", pid, err))
				continue
			}
			if err != nil {
				denied.add(pid, err)
				break
			}
			if m.Path != "/memfd:"+abi.RegistryFile || files[m.Inode] {
				continue
			}
			if len(files) == maxRegistries {
				problems = append(problems, fmt.Errorf("process %d: names of urdt: more than %d files", pid, maxRegistries))
				break
			}
			files[m.Inode] = true
			regs, err := readRegistry(pid, m)
			if err != nil && !errors.Is(err, errUnmapped) {
				problems = append(problems, err)
			}
			names = append(names, regs...)
		}
	}
	if err := denied.problem(); err != nil {
		problems = append(problems, err)
	}
	return names, problems
}

// readRegistry reads the registry behind a mapping.
func readRegistry(pid int, m procmaps.Mapping) ([]Registered, error) {
	f, _, err := openMapping(pid, m)
	if err != nil || f == nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, 0, maxRegistry))
	if err != nil {
		return nil, fmt.Errorf("process %d: names of urdt: %w", pid, unwrapPath(err))
	}
	return registered(pid, data), nil
}

// registered decodes a registry.
func registered(pid int, data []byte) []Registered {
	var names []Registered
	for _, r := range abi.Registrations(data) {
		names = append(names, Registered{PID: pid, Provider: r.Provider, Name: r.Name, Params: registeredParams(r.Types)})
	}
	return names
}

// registeredParams turns the types of a registration into parameters.
func registeredParams(types []string) []Param {
	params := make([]Param, len(types))
	for i, text := range types {
		params[i] = Param{Type: registeredType(text)}
	}
	return params
}

// registeredKinds are the types that a registration can name. All travel in 8 bytes;
// Size is that of the value.
var registeredKinds = map[string]Type{
	"int8": {Kind: Int, Size: 1}, "int16": {Kind: Int, Size: 2}, "int32": {Kind: Int, Size: 4}, "int64": {Kind: Int, Size: 8},
	"uint8": {Kind: Uint, Size: 1}, "uint16": {Kind: Uint, Size: 2}, "uint32": {Kind: Uint, Size: 4}, "uint64": {Kind: Uint, Size: 8},
	"bool": {Kind: Bool, Size: 1}, "float32": {Kind: Float, Size: 4}, "float64": {Kind: Float, Size: 8},
	"string": {Kind: String, Size: 8}, "error": {Kind: Error, Size: 8}, "pointer": {Kind: Pointer, Size: 8},
}

// registeredType reads a type as registrations spell it, with its name in the
// program's language behind a blank: "int64 time.Duration".
func registeredType(text string) *Type {
	kind, name, _ := strings.Cut(text, " ")
	t := registeredKinds[kind] // Unknown if it is none of these
	if t.Kind != Unknown {
		t.Go = name
	}
	return &t
}
