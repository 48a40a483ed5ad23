package lower

import (
	"fmt"
	"strings"

	"github.com/cilium/ebpf/asm"
)

// text prints code as llvm-objdump does, an instruction a line, with the number
// of its slot where one jumps to.
func text(c Code) string {
	targets := map[int]bool{}
	slot := 0
	for _, in := range c.Insns {
		if t, ok := target(in, slot); ok {
			targets[t] = true
		}
		slot += slots(in)
	}
	var b strings.Builder
	slot = 0
	for _, in := range c.Insns {
		if targets[slot] {
			fmt.Fprintf(&b, "%d:\n", slot)
		}
		fmt.Fprintf(&b, "\t%s\n", disassemble(in, slot))
		slot += slots(in)
	}
	return b.String()
}

func slots(in Insn) int {
	if in.OpCode.IsDWordLoad() {
		return 2
	}
	return 1
}

// target returns the slot that in jumps to.
func target(in Insn, slot int) (int, bool) {
	switch op := in.OpCode.JumpOp(); {
	case !in.OpCode.Class().IsJump() || op == asm.Call || op == asm.Exit:
		return 0, false
	case op == asm.Ja && in.OpCode.Class() == asm.Jump32Class:
		return slot + 1 + int(in.Constant), true
	}
	return slot + 1 + int(in.Offset), true
}

func disassemble(in Insn, slot int) string {
	name := func(r asm.Register, wide bool) string {
		if wide {
			return fmt.Sprintf("r%d", r)
		}
		return fmt.Sprintf("w%d", r)
	}
	class := in.OpCode.Class()
	wide := class == asm.ALU64Class || class == asm.JumpClass
	dst, src := name(in.Dst, wide), fmt.Sprint(in.Constant)
	if in.OpCode.Source() == asm.RegSource {
		src = name(in.Src, wide)
	}
	size := in.OpCode.Size().Sizeof() * 8
	address := func(r asm.Register) string {
		kind := "u"
		if in.OpCode.Mode() == asm.MemSXMode {
			kind = "s"
		}
		return fmt.Sprintf("*(%s%d *)(r%d %+d)", kind, size, r, in.Offset)
	}
	switch class {
	case asm.LdClass:
		if in.Sym != nil {
			return fmt.Sprintf("r%d = @%s%+d ll", in.Dst, in.Sym.SymbolName(), in.Constant)
		}
		return fmt.Sprintf("r%d = %#x ll", in.Dst, uint64(in.Constant))
	case asm.LdXClass:
		return fmt.Sprintf("r%d = %s", in.Dst, address(in.Src))
	case asm.StClass:
		return fmt.Sprintf("%s = %d", address(in.Dst), in.Constant)
	case asm.StXClass:
		if in.OpCode.Mode() == asm.AtomicMode {
			return fmt.Sprintf("%v %s, r%d", in.OpCode.AtomicOp(), address(in.Dst), in.Src)
		}
		return fmt.Sprintf("%s = r%d", address(in.Dst), in.Src)
	case asm.JumpClass, asm.Jump32Class:
		t, _ := target(in, slot)
		switch op := in.OpCode.JumpOp(); op {
		case asm.Exit:
			return "exit"
		case asm.Call:
			if in.Sym != nil {
				return "call @" + in.Sym.SymbolName()
			}
			return fmt.Sprintf("call %d", in.Constant)
		case asm.Ja:
			if class == asm.Jump32Class {
				return fmt.Sprintf("gotol %d", t)
			}
			return fmt.Sprintf("goto %d", t)
		default:
			for cond, o := range jumpOps {
				if o == op {
					return fmt.Sprintf("if %s %s %s goto %d", dst, condText[cond], src, t)
				}
			}
		}
	}
	switch op := in.OpCode.ALUOp(); op {
	case asm.Swap:
		if class == asm.ALU64Class {
			return fmt.Sprintf("%s = bswap%d %s", dst, in.Constant, dst)
		}
		return fmt.Sprintf("r%d = be%d r%d", in.Dst, in.Constant, in.Dst)
	case asm.Mov:
		return fmt.Sprintf("%s = %s", dst, src)
	case asm.MovSX8, asm.MovSX16, asm.MovSX32:
		return fmt.Sprintf("%s = (s%d)%s", dst, map[asm.ALUOp]int{asm.MovSX8: 8, asm.MovSX16: 16, asm.MovSX32: 32}[op], src)
	case asm.Neg:
		return fmt.Sprintf("%s = -%s", dst, dst)
	case asm.SDiv:
		return fmt.Sprintf("%s s/= %s", dst, src)
	case asm.SMod:
		return fmt.Sprintf("%s s%%= %s", dst, src)
	default:
		return fmt.Sprintf("%s %s %s", dst, aluText[op], src)
	}
}
