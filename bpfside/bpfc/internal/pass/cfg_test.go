package pass

import "github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"

func init() {
	tables["cfg"] = cfg
	tables["thread"] = func(f *ir.Func) bool { return both(thread(f), cfg(f)) }
	tables["returns"] = returns
	tables["unroll"] = func(f *ir.Func) bool { return both(unroll(f), both(combine(f), both(cfg(f), dce(f)))) }
	tables["switch"] = switches
}
