package front

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cilium/ebpf/btf"
	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// Input is a program in C and what it may ask for.
type Input struct {
	FS   fs.FS  // the program, and the headers that are its own
	File string // of the program, in FS

	// Include are the directories of FS in which headers are looked for, after
	// that of the file that includes them and before System.
	Include []string
	// System holds the headers that every program has; SystemInclude are the
	// directories in it where they are looked for, "." if there are none.
	System        fs.FS
	SystemInclude []string

	Defines []string // NAME or NAME=VALUE
	Arch    string   // the machine whose registers programs read, as GOARCH names it

	// Kernel returns the types that CO-RE is answered from. It is called if the
	// program asks for one.
	Kernel func() (*btf.Spec, error)

	// Vmlinux returns the text of vmlinux.h with what the kernel has of the given
	// identifiers. It is called if the program includes that file and FS has none.
	Vmlinux func(identifiers map[string]bool) (string, error)
}

// Translate reads, checks and translates a program. What is wrong with the
// program is an [ir.Errors]; other errors are of the files or of ctx.
//
// Every definition that has external linkage is translated, and of the others
// what those need.
func Translate(ctx context.Context, in Input) (*ir.Module, error) {
	s := newSources(ctx, &in)
	u := newUnit(ctx, &in, s)
	ast, err := u.parse()
	if err != nil {
		return nil, err
	}
	u.ast = ast
	if err := u.stage("translate", u.translate); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("translate %s: %w", in.File, err)
	}
	if err := u.diags.Err(); err != nil {
		return nil, err
	}
	return u.mod, nil
}

// parse runs cc. Its whole is one call that knows no context; what bounds it is
// that the sources stop to open once ctx is done, and the limits of [config].
func (u *unit) parse() (*cc.AST, error) {
	cfg, err := config(u.src)
	if err != nil {
		return nil, err
	}
	if _, err := u.src.read(u.in.File); err != nil {
		return nil, fmt.Errorf("read program: %w", err)
	}
	list := []cc.Source{
		{Name: "<predefined>", Value: predefined},
		{Name: "<builtin>", Value: builtins},
		{Name: "<command line>", Value: commandLine(u.in)},
		{Name: u.in.File},
		{Name: "<end>", Value: tail},
	}
	var ast *cc.AST
	u.at = ir.Pos{File: u.src.file(u.in.File)}
	err = u.stage("parse", func() error {
		nest := u.src.macrosNest()
		if name := u.src.loop; name != "" {
			return ir.Errors{ir.Errorf(ir.Pos{File: u.src.file(name)}, "the file includes itself")}
		}
		if nest {
			if err := checkMacros(cfg, list); err != nil {
				return err
			}
			u.src.again()
		}
		var err error
		ast, err = cc.Translate(cfg, list)
		return err
	})
	switch {
	case u.ctx.Err() != nil:
		return nil, fmt.Errorf("translate %s: %w", u.in.File, u.ctx.Err())
	case u.src.err != nil:
		return nil, u.src.err
	}
	for _, at := range u.src.deep {
		u.diags.Add(u.posOf(at), "this is %v", errTooDeep)
	}
	var own ir.Errors
	if errors.As(err, &own) {
		u.diags = own
	} else if err != nil {
		u.ccErrors(err)
	}
	for _, p := range u.src.pragmaErrors {
		u.diags.Add(u.posOf(p.at), "%s", p.msg)
	}
	return ast, u.diags.Err()
}

// stage runs f. The C front end and what reads its tree panic on some programs
// that are not C; here, and nowhere else, that turns into a diagnostic.
func (u *unit) stage(name string, f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			at, msg := u.at, fmt.Sprintf("internal error: %s: %v", name, r)
			if name == "parse" {
				if line, col := u.src.elvis(); line > 0 {
					// The one program that cc is known not to survive: see rewrite.
					at.Line, at.Col, msg = line, col, "x ?: y with a constant x is not supported"
				}
			}
			u.diags.Add(at, "%s", msg)
			err = u.diags.Err()
		}
	}()
	return f()
}
