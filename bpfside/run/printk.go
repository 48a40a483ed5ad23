package run

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// usesPrintk reports whether a program of the object prints.
func usesPrintk(spec *ebpf.CollectionSpec) bool {
	for _, p := range spec.Programs {
		for _, ins := range p.Instructions {
			if ins.IsBuiltinCall() && (ins.Constant == int64(asm.FnTracePrintk) || ins.Constant == int64(asm.FnTraceVprintk)) {
				return true
			}
		}
	}
	return false
}
