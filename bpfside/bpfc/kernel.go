package bpfc

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"sync"

	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
	"github.com/nopfire/nopfire/bpfside/internal/kconfig"
)

// kernelTypes are the types of a kernel. They are read when they are asked for,
// which costs more than all else of a small program.
type kernelTypes struct {
	given []byte // nil: of the running kernel

	once    struct{ raw, spec sync.Once }
	raw     []byte
	release func() // of raw, if it is not given
	spec    *btf.Spec
	err     error // of the first that failed
}

// bytes returns BTF as it is in memory, to be used until close is called.
func (k *kernelTypes) bytes() ([]byte, error) {
	k.once.raw.Do(func() {
		k.raw = k.given
		if k.given == nil {
			k.raw, k.release, k.err = openRunning()
		}
		if k.err == nil && bytes.HasPrefix(k.raw, []byte(elf.ELFMAG)) {
			k.raw, k.err = btfSection(k.raw)
		}
		if k.err != nil {
			k.err = fmt.Errorf("types of the kernel: %w", k.err)
		}
	})
	return k.raw, k.err
}

func (k *kernelTypes) close() {
	if k.release != nil {
		k.release()
	}
}

// load returns the types as package btf has them.
func (k *kernelTypes) load() (*btf.Spec, error) {
	k.once.spec.Do(func() {
		var err error
		if k.given == nil {
			k.spec, err = btf.LoadKernelSpec()
		} else {
			k.spec, err = btf.LoadSpecFromReader(bytes.NewReader(k.given))
		}
		if err != nil {
			k.err = fmt.Errorf("types of the kernel: %w", err)
		}
	})
	return k.spec, k.err
}

// btfSection returns the section .BTF of an ELF file. Package debug/elf is not made
// for hostile files: should it panic, that is an error of the file.
func btfSection(file []byte) (data []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			data, err = nil, fmt.Errorf("not an ELF file: %v", p)
		}
	}()
	f, err := elf.NewFile(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	s := f.Section(".BTF")
	if s == nil {
		return nil, errors.New("the ELF file has no section .BTF")
	}
	return s.Data()
}

// kconfigSection is where kconfig variables are that the passes did not turn into
// constants of the code, such as strings: apart from what the program's own
// constant data is.
const kconfigSection = ".rodata.kconfig"

// settleExterns settles what is declared and found in the kernel, as far as the
// reader of the object would not: the other addresses are its to find.
func settleExterns(m *ir.Module, t *target) error {
	var errs ir.Errors
	for _, g := range m.Globals {
		if !g.Extern || g.Section != ".ksyms" || g.BTF == nil {
			continue
		}
		if _, void := btf.UnderlyingType(g.BTF.Type).(*btf.Void); !void {
			errs.Add(g.Pos, "kernel variable %s: variables of the kernel with a type are not supported, only addresses: \"extern const void %s __ksym\"", g.Name, g.Name)
		}
	}
	if err := errs.Err(); err != nil {
		return err
	}
	return settleKconfig(m, t)
}

// maxKconfig bounds the size of a kconfig variable: the values are lines of text.
const maxKconfig = 64 << 10

// settleKconfig gives the variables that are marked __kconfig the values of a
// kernel. They are constants from then on, and code for other kernels is dead.
func settleKconfig(m *ir.Module, t *target) error {
	var vars []*ir.Global
	var names []string
	for _, g := range m.Globals {
		if g.Extern && g.Section == ".kconfig" {
			vars = append(vars, g)
			names = append(names, g.Name)
		}
	}
	if len(vars) == 0 {
		return nil
	}
	values, err := t.kconfig.Values(names)
	if err != nil {
		return err
	}
	var errs ir.Errors
	for _, g := range vars {
		if g.Size > maxKconfig {
			errs.Add(g.Pos, "kconfig variable %s: %d bytes are more than the limit of %d", g.Name, g.Size, maxKconfig)
			continue
		}
		data := make([]byte, g.Size)
		text, ok := values[g.Name]
		var err error
		switch {
		case ok && g.BTF != nil:
			err = kconfig.Put(data, g.BTF.Type, byteOrder, text)
		case !ok && g.Linkage != ir.Weak:
			err = kconfig.ErrUndefined
		}
		if err != nil {
			errs.Add(g.Pos, "kconfig variable %s: %v", g.Name, err)
			continue
		}
		g.Data, g.Section, g.Linkage = data, kconfigSection, ir.Static
		g.Extern, g.Constant = false, true
	}
	return errs.Err()
}
