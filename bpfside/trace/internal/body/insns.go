package body

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// instructions returns those of the function, and how much stack they use, without what describes them: a program
// describes all of its functions or none (check_btf_info, kernel/bpf/verifier.c).
func instructions(spec *ebpf.CollectionSpec) (insns asm.Instructions, stack int, err error) {
	prog := spec.Programs[Symbol]
	if prog == nil {
		return nil, 0, errors.New("there is no function")
	}
	insns = make(asm.Instructions, len(prog.Instructions))
	depth := int16(0)
	for i := range prog.Instructions {
		ins := prog.Instructions[i]
		if ins.IsLoadFromMap() {
			return nil, 0, errors.New("the function uses a map")
		}
		symbol, reference := ins.Symbol(), ins.Reference()
		ins.Metadata = asm.Metadata{}
		if symbol != "" {
			ins = ins.WithSymbol(symbol)
		}
		if reference != "" {
			ins = ins.WithReference(reference)
		}
		insns[i] = ins
		depth = min(depth, frameOffset(prog.Instructions, i))
	}
	if -depth > StackLeft {
		return nil, 0, &Error{Expr: -1, Off: -1, Msg: fmt.Sprintf("the expressions take %d bytes of stack, and there are %d", -depth, StackLeft)}
	}
	insns[0] = insns[0].WithSymbol(Symbol)
	return insns, int(-depth), nil
}

// frameOffset returns where in the frame instruction i reaches, 0 if nowhere.
func frameOffset(insns asm.Instructions, i int) int16 {
	ins := insns[i]
	switch class := ins.OpCode.Class(); {
	case class == asm.LdXClass && ins.Src == asm.RFP, class.IsStore() && ins.Dst == asm.RFP:
		return ins.Offset
	case ins.OpCode == asm.Add.Op(asm.ImmSource) && i > 0:
		if prev := insns[i-1]; prev.OpCode == asm.Mov.Op(asm.RegSource) && prev.Src == asm.RFP && prev.Dst == ins.Dst {
			return int16(ins.Constant)
		}
	}
	return 0
}
