package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/bpfside/bpfc"
)

// compileFlags are the flags of commands that compile.
type compileFlags struct {
	defines []string
	include []string
	cpu     string
	btf     string
	arch    string
}

// add adds the flags to a command.
func (f *compileFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&f.defines, "define", "D", nil, "define macro `NAME[=VALUE]`; may be repeated")
	cmd.Flags().StringArrayVarP(&f.include, "include", "I", nil, "search `DIR` for header files too; may be repeated")
	cmd.Flags().StringVar(&f.cpu, "cpu", "", "instruction set, `v1` to v4 (default v3)")
	cmd.Flags().StringVar(&f.btf, "btf", "", "take the types of the kernel from `FILE`, not from the running kernel")
}

// options returns the options of the compiler, and the file system and name by
// which it finds the program.
func (f *compileFlags) options(file string) (*bpfc.Options, *sourceTree, string, error) {
	o := &bpfc.Options{Defines: f.defines, Arch: f.arch}
	switch f.cpu {
	case "":
	case "v1", "v2", "v3", "v4":
		o.CPU = int(f.cpu[1] - '0')
	default:
		return nil, nil, "", usagef("--cpu %s: want v1, v2, v3 or v4", f.cpu)
	}
	if f.btf != "" {
		var err error
		if o.KernelBTF, err = os.ReadFile(f.btf); err != nil {
			return nil, nil, "", err
		}
	}
	tree, err := newSourceTree(append([]string{file}, f.include...))
	if err != nil {
		return nil, nil, "", err
	}
	for _, dir := range f.include {
		o.Include = append(o.Include, tree.name(dir))
	}
	return o, tree, tree.name(file), nil
}

// compile compiles a program into a specification.
func (f *compileFlags) compile(ctx context.Context, file string) (*ebpf.CollectionSpec, error) {
	opts, tree, name, err := f.options(file)
	if err != nil {
		return nil, err
	}
	spec, err := bpfc.Compile(ctx, tree, name, opts)
	return spec, tree.explain(err)
}

// A sourceTree is the file system that the compiler sees: what is below the current
// directory or, if the program or a directory of headers lies outside of it, below
// the root. So the names in objects and messages are those that the user gave,
// where that can be.
type sourceTree struct {
	fs.FS
	cwd     string
	outside bool
}

func newSourceTree(paths []string) (*sourceTree, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	t := &sourceTree{FS: os.DirFS("."), cwd: cwd}
	for _, p := range paths {
		if t.name(p) == "" {
			t.outside = true
			root := filepath.VolumeName(cwd) + string(filepath.Separator)
			t.FS = os.DirFS(root)
		}
	}
	return t, nil
}

// name returns the path of a file as package fs has it, "" if it is outside.
func (t *sourceTree) name(path string) string {
	abs := path
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(t.cwd, abs)
	}
	if t.outside {
		rel := strings.TrimPrefix(filepath.Clean(abs), filepath.VolumeName(abs))
		rel = strings.TrimPrefix(filepath.ToSlash(rel), "/")
		if rel == "" {
			return "."
		}
		return rel
	}
	rel, err := filepath.Rel(t.cwd, abs)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// explain gives the names in diagnostics back the root that the compiler does not
// know of.
func (t *sourceTree) explain(err error) error {
	var all bpfc.Diagnostics
	if t.outside && errors.As(err, &all) {
		for _, d := range all {
			d.File = t.shown(d.File)
		}
	}
	return err
}

// shown is the name of a file for people.
func (t *sourceTree) shown(file string) string {
	if !t.outside || file == "" || strings.HasPrefix(file, "<") {
		return file
	}
	return "/" + file
}

// explainVerifier adds the line of C to a refusal of the verifier.
func explainVerifier(spec *ebpf.CollectionSpec, err error) error {
	return bpfc.Explain(spec, err)
}

// newCC returns the command that compiles only.
func newCC() *cobra.Command {
	var f compileFlags
	var output string
	cmd := &cobra.Command{
		Use:   "cc [-o FILE.o] [flags] FILE.bpf.c",
		Short: "Compile a BPF program in C into an object file",
		Long: `Compile a BPF program in C, written as for libbpf, into an object file that
bpftool, libbpf and cilium/ebpf load. No compiler is needed on the machine.

vmlinux.h and the headers of libbpf are part of nopfire; files of these names in
the directory of the program or in a directory of -I come before them. Offsets of
fields of the kernel (CO-RE) are settled for the running kernel, or for the one
that --btf describes: the object is for that kernel.

The object is named as the source, with .o in place of .c. -o - writes it to
standard output. The dialect of C is described in docs/bpfc.md.`,
		Example: `  nopfire cc trace.bpf.c
  nopfire cc -o trace.o -D MAX=64 -I include --cpu v2 trace.bpf.c
  nopfire cc --btf vmlinux-6.1 --target arm64 trace.bpf.c`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%d files: want one FILE.bpf.c", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if output == "" {
				output = strings.TrimSuffix(args[0], ".c") + ".o"
			}
			opts, tree, name, err := f.options(args[0])
			if err != nil {
				return err
			}
			object, err := bpfc.CompileELF(cmd.Context(), tree, name, opts)
			if err != nil {
				return tree.explain(err)
			}
			if output == "-" {
				_, err := cmd.OutOrStdout().Write(object)
				return err
			}
			if err := os.WriteFile(output, object, 0o666); err != nil {
				return fmt.Errorf("write the object: %w", err)
			}
			return nil
		},
	}
	f.add(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "", "write the object to `FILE`")
	cmd.Flags().StringVar(&f.arch, "target", "", "the `MACHINE` that the program will run on, as amd64 or arm64 (default: this one)")
	return cmd
}
