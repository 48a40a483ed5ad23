package lower

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// text prints code with the number of each slot, jumps with their targets.
func text(c Code) string {
	var b strings.Builder
	for _, in := range c.Insns {
		sym := ""
		if in.Sym != nil {
			sym = " @" + in.Sym.SymbolName()
		}
		fmt.Fprintf(&b, "%v%s\n", in.Instruction, sym)
	}
	return b.String()
}

func TestFirst(t *testing.T) {
	m, err := ir.Parse("x", `
global @counts section ".maps" size 32 align 8 external
global @hits section ".bss" size 8 align 8 external
func @prog i32 section "xdp" external {
b1(v1 ptr "ctx"):
	v2 ptr = alloca 4 align 4 "key"
	v3 i32 = load.4 v1+4
	store.4 v2, v3
	v4 ptr = global @counts
	v5 ptr = helper 1(v4, v2)
	v6 ptr = const 0
	v7 i32 = cmp.eq v5, v6
	if v7 b3, b2
b2:
	v8 i64 = load.8 v5
	v9 i64 = const 1
	v10 i64 = add v8, v9
	store.8 v5, v10
	v11 ptr = global @hits
	atomic.add.8 v11, v8
	jump b3
b3:
	v12 i32 = const 0
	ret v12
}`)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	code, err := Module(m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + text(code[0]))
}
