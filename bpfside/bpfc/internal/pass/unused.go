package pass

import (
	"slices"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// removeUnused drops the static functions and globals of m that nothing needs.
func removeUnused(m *ir.Module) {
	needed := map[ir.Symbol]bool{}
	var work []ir.Symbol
	need := func(s ir.Symbol) {
		if !needed[s] {
			needed[s] = true
			work = append(work, s)
		}
	}
	for _, f := range m.Funcs {
		if isEntry(f) {
			need(f)
		}
	}
	for _, g := range m.Globals {
		if isVisible(g) {
			need(g)
		}
	}
	for len(work) > 0 {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		switch s := s.(type) {
		case *ir.Global:
			for _, r := range s.Relocs {
				need(r.Sym)
			}
		case *ir.Func:
			for _, b := range s.Blocks {
				for _, v := range b.Values {
					if v.Sym != nil {
						need(v.Sym)
					}
				}
			}
		}
	}
	m.Funcs = slices.DeleteFunc(m.Funcs, func(f *ir.Func) bool { return !needed[f] })
	m.Globals = slices.DeleteFunc(m.Globals, func(g *ir.Global) bool { return !needed[g] })
}

// isVisible says whether a loader, or its user, sees g though no function names
// it: by its name, or by its section. An extern is nothing by itself.
func isVisible(g *ir.Global) bool {
	switch {
	case g.Used:
		return true
	case g.Extern:
		return false
	case g.Section == ".maps" || g.Section == "license" || g.Section == "version":
		return true
	}
	return g.Linkage != ir.Static
}

// tooManyParams refuses the functions of m that have more parameters than a call
// has registers: what is inlined everywhere is gone by now.
func tooManyParams(m *ir.Module) error {
	var errs ir.Errors
	for _, f := range m.Funcs {
		if n := len(f.Params()); n > maxArgs {
			errs.Add(f.Pos, "%s has %d parameters: a function that is not inlined has at most %d", f.Name, n, maxArgs)
		}
	}
	return errs.Err()
}
