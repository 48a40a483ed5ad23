package usdt

import (
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/bpfside/internal/kconfig"
)

// fillKconfig sets the variables of a specification that LoadCollectionSpec
// returned and that are marked __kconfig: their values are those of the kernel
// that the object is loaded into.
func fillKconfig(spec *ebpf.CollectionSpec, kernel *kconfig.Kernel) error {
	var ds *btf.Datasec
	if spec.Types == nil || spec.Types.TypeByName(".kconfig", &ds) != nil {
		return nil
	}
	used := make(map[string]*btf.Var)
	var names []string
	for _, vsi := range ds.Vars {
		v, ok := vsi.Type.(*btf.Var)
		if !ok {
			continue
		}
		vs := spec.Variables[v.Name]
		if vs == nil || vs.SectionName != kconfigSection && vs.SectionName != kconfigWeakSection {
			continue
		}
		if used[v.Name] == nil {
			names = append(names, v.Name)
		}
		used[v.Name] = v
	}
	values, err := kernel.Values(names)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		vs := spec.Variables[name]
		text, ok := values[name]
		switch {
		case ok:
			err = kconfig.Put(vs.Value, used[name].Type, spec.ByteOrder, text)
		case vs.SectionName == kconfigSection:
			err = kconfig.ErrUndefined
		}
		if err != nil {
			return fmt.Errorf("kconfig variable %s: %w", name, err)
		}
	}
	return nil
}
