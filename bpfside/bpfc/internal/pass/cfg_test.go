package pass

import "github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"

func init() {
	tables["cfg"] = cfg
	tables["thread"] = func(f *ir.Func) bool { return both(thread(f), cfg(f)) }
	tables["returns"] = returns
	tables["switch"] = switches
}
