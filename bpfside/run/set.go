package run

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cilium/ebpf"

	"github.com/nopfire/nopfire/bpfside/btfvalue"
)

// ErrNoVariable says that an object has no global variable of a name.
var ErrNoVariable = errors.New("no such variable")

// Set gives a global variable of an object another value before it is loaded.
// What it reads is said at btfvalue.Encode: numbers, names of enumerators, text
// for arrays of char, {1, 2} for arrays and {a = 1} for structs.
func Set(spec *ebpf.CollectionSpec, name, value string) error {
	v := spec.Variables[name]
	if v == nil || !settable(v) {
		err := fmt.Errorf("set %s: %w", name, ErrNoVariable)
		if all := Variables(spec); len(all) > 0 {
			err = fmt.Errorf("%w; the object has %s", err, strings.Join(all, ", "))
		}
		return err
	}
	if v.Type == nil {
		return fmt.Errorf("set %s: the object does not tell its type", name)
	}
	data, err := btfvalue.Encode(v.Type.Type, value)
	if err != nil {
		return fmt.Errorf("set %s: %w", name, err)
	}
	if len(data) != len(v.Value) {
		return fmt.Errorf("set %s: its type has %d bytes, and it has %d", name, len(data), len(v.Value))
	}
	copy(v.Value, data)
	return nil
}

// Variables returns the names of the global variables that can be set.
func Variables(spec *ebpf.CollectionSpec) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(spec.Variables)) {
		if settable(spec.Variables[name]) {
			names = append(names, name)
		}
	}
	return names
}

// settable tells variables of the program from those of its header files and from
// what the loader fills in.
func settable(v *ebpf.VariableSpec) bool {
	return !strings.HasPrefix(v.SectionName, ".rodata.str") && !strings.HasPrefix(v.SectionName, ".rodata.kconfig") &&
		!strings.HasPrefix(v.Name, "__bpf_usdt") && !strings.Contains(v.Name, "____fmt")
}
