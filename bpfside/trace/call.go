package trace

import (
	"fmt"

	"github.com/cilium/ebpf/asm"

	"github.com/nopfire/nopfire/bpfside/trace/internal/body"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// A bodyCall is a call of the function that the expressions of a clause became. The
// hit that the function is called with lies on the stack: see package body.
type bodyCall struct {
	fn   *compiled
	args []bodyArg
	// tracks tells that there are values that may lack one of their arguments.
	tracks bool
	values int // how many the function leaves
}

// A bodyArg is an argument that the function needs.
type bodyArg struct {
	index int
	arg   stapsdt.Arg
	lacks bool // it can never be read, and what needs it is not used
}

// planBody decides which arguments are loaded for a function.
func planBody(fn *compiled, m stapsdt.Machine, args []stapsdt.Arg) (*bodyCall, error) {
	c := &bodyCall{fn: fn, values: len(fn.Values)}
	needed := fn.WhereArgs
	for _, v := range fn.Values {
		if v.Arg < 0 && !v.Comm {
			needed |= v.Args
		}
	}
	for i := range args {
		if needed&(1<<i) == 0 {
			continue
		}
		err := readable(m, args[i])
		if err != nil && fn.WhereArgs&(1<<i) != 0 {
			return nil, fmt.Errorf("condition: %w", err)
		}
		c.args = append(c.args, bodyArg{i, args[i], err != nil})
		if args[i].Operand.Kind == stapsdt.Memory && fn.WhereArgs&(1<<i) == 0 {
			c.tracks = true
		}
	}
	return c, nil
}

// end returns where the arguments of the hit end, and its values begin, from the
// frame pointer: all that is below may be overwritten when the function has returned.
func (c *bodyCall) end() int {
	if c == nil {
		return stackTop
	}
	return stackTop - 8*c.values
}

// hit returns where the hit lies. It is no longer than it needs to be.
func (c *bodyCall) hit() int {
	if c.values > 0 || c.fn.NeedsPID {
		return c.end() - body.OffValues
	}
	last := 0
	for _, a := range c.args {
		last = a.index + 1
	}
	return c.end() - 8*last
}

// assemble returns the code that fills the hit, calls the function, and ends the
// program if the hit is not wanted. It jumps to "unread" if an argument of the
// condition cannot be read, and reports whether it may.
func (c *bodyCall) assemble(m stapsdt.Machine, ns pidNamespace) (insns asm.Instructions, unread bool, err error) {
	hit := c.hit()
	if c.tracks {
		insns = append(insns, storeImm(stackFailed, 0))
	}
	for _, a := range c.args {
		at := int16(hit + body.OffArgs + 8*a.index)
		if a.lacks {
			insns = append(insns, storeImm(at, 0))
			continue
		}
		code, err := loadWord(m, a.arg)
		if err != nil {
			return nil, false, err
		}
		insns = append(insns, code...)
		insns = append(insns, asm.StoreMem(asm.RFP, at, regValue, asm.DWord))
		switch {
		case a.arg.Operand.Kind != stapsdt.Memory: // cannot fail
		case c.fn.WhereArgs&(1<<a.index) != 0:
			unread = true
			insns = append(insns, asm.JSLT.Imm(asm.R0, 0, "unread"))
		default:
			read := fmt.Sprintf("arg%d_read", a.index)
			insns = append(insns,
				asm.JSGE.Imm(asm.R0, 0, read),
				asm.LoadMem(asm.R1, asm.RFP, stackFailed, asm.DWord),
				asm.Or.Imm(asm.R1, 1<<a.index),
				asm.StoreMem(asm.RFP, stackFailed, asm.R1, asm.DWord),
				asm.Mov.Imm(asm.R0, 0).WithSymbol(read),
			)
		}
	}
	if c.fn.NeedsPID {
		insns = append(insns, storePID(ns, "hit", ids{base: asm.RFP, pid: hit + body.OffPID, tid: hit + body.OffTID, size: asm.DWord})...)
	}
	return append(insns,
		asm.Mov.Reg(asm.R1, asm.RFP),
		asm.Add.Imm(asm.R1, int32(hit)),
		asm.Call.Label(body.Symbol),
		asm.JNE.Imm(asm.R0, 0, "wanted_hit"),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("wanted_hit"),
	), unread, nil
}

// load returns the instructions that put a value of the function into regValue, and
// 0 or a negative errno into R0.
func (c *bodyCall) load(ld *load, label string) asm.Instructions {
	insns := asm.Instructions{
		asm.LoadMem(regValue, asm.RFP, int16(c.end()+8*ld.value), asm.DWord),
		asm.Mov.Imm(asm.R0, 0),
	}
	if !c.tracks || ld.needs == 0 {
		return insns
	}
	const efault = 14 // EFAULT, which is what bpf_probe_read_user says
	read := label + "_computed"
	return append(insns,
		asm.LoadMem(asm.R1, asm.RFP, stackFailed, asm.DWord),
		asm.And.Imm(asm.R1, int32(ld.needs)),
		asm.JEq.Imm(asm.R1, 0, read),
		asm.Mov.Imm(asm.R0, -efault),
		asm.Mov.Imm(asm.R1, 0).WithSymbol(read),
	)
}
