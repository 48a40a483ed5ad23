package usdt

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cilium/ebpf"

	"github.com/nopfire/nopfire/bpfside/internal/kconfig"
	"github.com/nopfire/nopfire/internal/feature"
)

// A Collection is a BPF object in the kernel, with the means to attach its
// programs: those of libbpf's usdt.bpf.h, which read the arguments of a probe by
// a map that user space has to fill, among them.
type Collection struct {
	*ebpf.Collection
	*Manager
}

// CollectionOptions say how to load a collection. A nil *CollectionOptions is the
// zero value.
type CollectionOptions struct {
	// Method is how probes are attached to, which is settled when the
	// programs are loaded.
	Method Method
	// Collection is passed on to cilium/ebpf.
	Collection ebpf.CollectionOptions
}

// LoadCollection reads a BPF object and loads it into the kernel. The caller
// closes the collection.
func LoadCollection(path string, opts *CollectionOptions) (*Collection, error) {
	spec, err := LoadCollectionSpec(path)
	if err != nil {
		return nil, err
	}
	c, err := NewCollection(spec, opts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", printable(path), err)
	}
	return c, nil
}

// NewCollection prepares a specification, which it changes, and loads it into the
// kernel. The caller closes the collection; links that were made of it stay until
// they are closed themselves.
func NewCollection(spec *ebpf.CollectionSpec, opts *CollectionOptions) (*Collection, error) {
	if opts == nil {
		opts = new(CollectionOptions)
	}
	if err := PrepareCollection(spec, opts.Method); err != nil {
		return nil, err
	}
	coll, err := ebpf.NewCollectionWithOptions(spec, opts.Collection)
	if err != nil {
		return nil, fmt.Errorf("load collection: %w", feature.Explain("load programs and maps", err, feature.TracingCaps...))
	}
	m, err := NewManager(spec, coll)
	if err != nil {
		coll.Close()
		return nil, err
	}
	return &Collection{coll, m}, nil
}

// PrepareCollection makes a specification of LoadCollectionSpec fit for this
// kernel: programs for USDT probes and uprobes get the attach type of the method,
// and variables that are marked __kconfig get their values. NewCollection does it;
// call it if you load the specification yourself, with LoadAndAssign for instance,
// and give the result to NewManager. It may be called again.
func PrepareCollection(spec *ebpf.CollectionSpec, m Method) error {
	for _, name := range slices.Sorted(maps.Keys(spec.Programs)) {
		p := spec.Programs[name]
		sec, err := ParseSection(p.SectionName)
		if err != nil {
			return fmt.Errorf("program %s: %w", name, err)
		}
		switch sec.Kind {
		case SectionUSDT, SectionURDT, SectionUprobe:
			if err := PrepareProgram(p, m); err != nil {
				return err
			}
		}
	}
	if err := fillKconfig(spec, kconfig.Running); err != nil {
		return fmt.Errorf("prepare collection: %w", err)
	}
	return nil
}
