package bpfc

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"regexp"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/front"
	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
	"github.com/nopfire/nopfire/bpfside/bpfc/internal/lower"
	"github.com/nopfire/nopfire/bpfside/bpfc/internal/pass"
	"github.com/nopfire/nopfire/bpfside/bpfc/internal/spec"
	"github.com/nopfire/nopfire/bpfside/bpfc/internal/vmlinux"
	"github.com/nopfire/nopfire/bpfside/include"
)

// byteOrder is that of the machines that bpfc compiles for.
var byteOrder = binary.LittleEndian

// Compile compiles the program in a file of fsys, a path as package fs has it, into
// a specification for cilium/ebpf. Variables marked __kconfig are constants in it,
// with the values of the kernel.
//
// An error of the program is a [Diagnostics]. Nil options are the zero value.
func Compile(ctx context.Context, fsys fs.FS, file string, opts *Options) (*ebpf.CollectionSpec, error) {
	object, m, err := compile(ctx, fsys, file, opts, settleExterns)
	if err != nil {
		return nil, err
	}
	cs, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		return nil, asDiagnostics(file, ofMap(m, err))
	}
	makeStatic(cs, m)
	return cs, nil
}

// mapFault is how cilium/ebpf begins what it says of a map definition.
var mapFault = regexp.MustCompile(`\bmap (\w+): (.*)`)

// ofMap gives an error of reading the object its place, if it is about a map
// definition, whose members the front end takes as they are.
func ofMap(m *ir.Module, err error) error {
	if found := mapFault.FindStringSubmatch(err.Error()); found != nil {
		for _, g := range m.Globals {
			if g.Section == ".maps" && g.Name == found[1] {
				return ir.Errorf(g.Pos, "map %s: %s", g.Name, found[2])
			}
		}
	}
	return fmt.Errorf("read what was made: %w", err)
}

// CompileELF compiles the program in a file of fsys into an object file, as clang
// does: for EM_BPF, little endian, with BTF. Variables marked __kconfig are left to
// the loader. Otherwise it is as [Compile].
func CompileELF(ctx context.Context, fsys fs.FS, file string, opts *Options) ([]byte, error) {
	object, _, err := compile(ctx, fsys, file, opts, nil)
	return object, err
}

// compile runs the stages: C to the intermediate representation, its passes,
// instructions, the object file. settle, if not nil, changes the module before the
// passes.
func compile(ctx context.Context, fsys fs.FS, file string, opts *Options, settle func(*ir.Module, *target) error) ([]byte, *ir.Module, error) {
	if opts == nil {
		opts = new(Options)
	}
	t, err := newTarget(opts)
	if err != nil {
		return nil, nil, fmt.Errorf("compile %s: %w", file, err)
	}
	defer t.types.close()
	m, err := front.Translate(ctx, front.Input{
		FS: fsys, File: file, Include: opts.Include, System: include.Files, SystemInclude: include.Path,
		Defines: opts.Defines, Arch: t.arch, Kernel: t.types.load,
		Vmlinux: func(names map[string]bool) (string, error) {
			types, err := t.types.bytes()
			if err != nil {
				return "", err
			}
			return vmlinux.Generate(types, names)
		},
	})
	if err == nil && settle != nil {
		err = settle(m, t)
	}
	if err == nil {
		err = pass.Run(m, pass.Options{})
	}
	var code []lower.Code
	if err == nil {
		code, err = lower.Module(m, t.lower)
	}
	var object []byte
	if err == nil {
		object, err = spec.Object(m, code)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, nil, asDiagnostics(file, err)
	}
	return object, m, nil
}

// makeStatic marks functions that are __hidden as static, as libbpf has them: the
// verifier looks at them from where they are called, with whatever is passed to
// them. Without it, the kernel would check them by themselves.
func makeStatic(cs *ebpf.CollectionSpec, m *ir.Module) {
	hidden := make(map[string]bool)
	for _, f := range m.Funcs {
		if f.Hidden && f.Section == "" {
			hidden[f.Name] = true
		}
	}
	if len(hidden) == 0 {
		return
	}
	static := make(map[*btf.Func]*btf.Func)
	for _, p := range cs.Programs {
		for i := range p.Instructions {
			ins := &p.Instructions[i]
			f := btf.FuncMetadata(ins)
			if f == nil || !hidden[f.Name] {
				continue
			}
			if static[f] == nil {
				c := *f
				c.Linkage = btf.StaticFunc
				static[f] = &c
			}
			*ins = btf.WithFuncMetadata(*ins, static[f])
		}
	}
}
