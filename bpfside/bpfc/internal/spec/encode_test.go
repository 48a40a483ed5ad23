package spec

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/cilium/ebpf/asm"
)

// jump32 is a jump on the lower halves of registers.
func jump32(op asm.JumpOp) asm.OpCode { return asm.OpCode(asm.Jump32Class).SetJumpOp(op) }

// The bytes are those that llvm-mc makes of the text.
func TestAppendInsn(t *testing.T) {
	for _, tc := range []struct {
		text string
		ins  asm.Instruction
		want string // code, registers, offset, immediate
	}{
		{"r1 = r2", asm.Mov.Reg(asm.R1, asm.R2), "bf 21 0000 00000000"},
		{"w1 += -1", asm.Add.Imm32(asm.R1, -1), "04 01 0000 ffffffff"},
		{"w3 = 4294967295", asm.Instruction{OpCode: asm.Mov.Op32(asm.ImmSource), Dst: asm.R3, Constant: 0xffffffff}, "b4 03 0000 ffffffff"},
		{"r3 s/= r4", asm.SDiv.Reg(asm.R3, asm.R4), "3f 43 0100 00000000"},
		{"w3 s%= 7", asm.SMod.Imm32(asm.R3, 7), "94 03 0100 07000000"},
		{"r1 = (s8)r2", asm.MovSX8.Reg(asm.R1, asm.R2), "bf 21 0800 00000000"},
		{"r1 = (s16)r2", asm.MovSX16.Reg(asm.R1, asm.R2), "bf 21 1000 00000000"},
		{"r1 = (s32)r2", asm.MovSX32.Reg(asm.R1, asm.R2), "bf 21 2000 00000000"},
		{"r0 = *(u8 *)(r1 - 2)", asm.LoadMem(asm.R0, asm.R1, -2, asm.Byte), "71 10 feff 00000000"},
		{"*(u64 *)(r10 - 8) = r6", asm.StoreMem(asm.R10, -8, asm.R6, asm.DWord), "7b 6a f8ff 00000000"},
		{"*(u64 *)(r10 - 8) = -1", asm.Instruction{OpCode: asm.StoreImmOp(asm.DWord), Dst: asm.R10, Offset: -8, Constant: -1}, "7a 0a f8ff ffffffff"},
		{"lock *(u64 *)(r1 + 16) += r2", asm.AddAtomic.Mem(asm.R1, asm.R2, asm.DWord, 16), "db 21 1000 00000000"},
		{"w2 = atomic_fetch_add((u32 *)(r1 + 0), w2)", asm.FetchAdd.Mem(asm.R1, asm.R2, asm.Word, 0), "c3 21 0000 01000000"},
		{"r0 = cmpxchg_64(r1 + 0, r0, r2)", asm.CmpXchg.Mem(asm.R1, asm.R2, asm.DWord, 0), "db 21 0000 f1000000"},
		{"if w1 s< -2 goto +3", asm.Instruction{OpCode: jump32(asm.JSLT), Dst: asm.R1, Offset: 3, Constant: -2}, "c6 01 0300 feffffff"},
		{"gotol -2", asm.Instruction{OpCode: jump32(asm.Ja), Constant: -2}, "06 00 0000 feffffff"},
		{"r2 = be16 r2", asm.HostTo(asm.BE, asm.R2, asm.Half), "dc 02 0000 10000000"},
		{"call 6", asm.FnTracePrintk.Call(), "85 00 0000 06000000"},
		{"call 195896080", asm.BuiltinFunc(195896080).Call(), "85 00 0000 1023ad0b"}, // what libbpf marks refused relocations by
		{"exit", asm.Return(), "95 00 0000 00000000"},
		{"r1 = 0x123456789abcdef0 ll", asm.LoadImm(asm.R1, 0x123456789abcdef0, asm.DWord), "18 01 0000 f0debc9a 00 00 0000 78563412"},
	} {
		got, err := appendInsn(nil, tc.ins)
		if err != nil {
			t.Errorf("%s: %v", tc.text, err)
			continue
		}
		if want := strings.ReplaceAll(tc.want, " ", ""); hex.EncodeToString(got) != want {
			t.Errorf("%s: %x, want %s", tc.text, got, want)
		}
	}
}

func TestAppendInsnRefuses(t *testing.T) {
	for _, tc := range []struct {
		ins  asm.Instruction
		want string
	}{
		{asm.Instruction{OpCode: asm.Mov.Op(asm.ImmSource), Constant: 1 << 32}, "wider than 32 bits"},
		{asm.Mov.Reg(asm.R1, 11), "no such register"},
	} {
		if _, err := appendInsn(nil, tc.ins); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: error %v, want %q", tc.ins, err, tc.want)
		}
	}
}
