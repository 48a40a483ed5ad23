package main

import (
	"context"
	"errors"

	"github.com/cilium/ebpf"
	"github.com/spf13/cobra"
)

// compileFlags are the flags of commands that compile.
type compileFlags struct {
	defines []string
	include []string
	cpu     string
	btf     string
}

// add adds the flags to a command.
func (f *compileFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&f.defines, "define", "D", nil, "define macro `NAME[=VALUE]`; may be repeated")
	cmd.Flags().StringArrayVarP(&f.include, "include", "I", nil, "search `DIR` for header files too; may be repeated")
	cmd.Flags().StringVar(&f.cpu, "cpu", "", "instruction set, `v1` to v4 (default: v3, or what the kernel takes)")
	cmd.Flags().StringVar(&f.btf, "btf", "", "take the kernel's types from `FILE`, not from the running kernel")
}

func (f *compileFlags) compile(ctx context.Context, path string) (*ebpf.CollectionSpec, error) {
	return nil, errors.New("bpfc is not there yet")
}

// explainVerifier adds the line of C to a refusal of the verifier.
func explainVerifier(err error, _ string) error { return err }
