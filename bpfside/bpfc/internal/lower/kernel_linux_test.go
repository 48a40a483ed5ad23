package lower

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir/interp"
	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir/irgen"
	"github.com/nopfire/nopfire/internal/testutils"
)

var (
	seeds     = flag.Uint64("seeds", 60, "number of random programs for each level")
	firstSeed = flag.Uint64("first", 1, "the first of them")
)

// load gives the functions of a module, the last of which is the program, to the
// kernel.
func load(code []Code) (*ebpf.Program, error) {
	var all asm.Instructions
	// The verifier takes no function that nobody calls.
	prog := code[len(code)-1]
	called := map[ir.Symbol]bool{prog.Func: true}
	for range code {
		for _, c := range code {
			for _, in := range c.Insns {
				if called[c.Func] && in.Sym != nil {
					called[in.Sym] = true
				}
			}
		}
	}
	code = slices.DeleteFunc(slices.Clone(code), func(c Code) bool { return !called[c.Func] })
	for n := range code {
		c := code[(n+len(code)-1)%len(code)] // the program first
		for i, in := range c.Insns {
			ins := in.Instruction
			if i == 0 {
				ins = ins.WithSymbol(c.Func.Name)
			}
			if f, ok := in.Sym.(*ir.Func); ok {
				ins = ins.WithReference(f.Name)
			}
			if ins.OpCode.AtomicOp() != asm.InvalidAtomic && ins.OpCode.Class() == asm.StXClass && ins.OpCode.Mode() == asm.AtomicMode {
				// cilium's marshalling wants it in Constant, too.
				ins.Constant = int64(ins.OpCode.AtomicOp() >> 8)
			}
			all = append(all, ins)
		}
	}
	return ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "random", Type: ebpf.Syscall, Flags: 1 << 4, // BPF_F_SLEEPABLE
		Instructions: all, License: "GPL",
	})
}

// TestKernel runs random programs in the kernel and in the interpreter.
func TestKernel(t *testing.T) {
	testutils.NeedBPF(t)
	for cpu := 1; cpu <= 4; cpu++ {
		t.Run(fmt.Sprintf("v%d", cpu), func(t *testing.T) {
			if cpu == 4 {
				if err := features.HaveV4ISA(); err != nil {
					testutils.SkipOrFail(t, "no instructions of v4: %v", err)
				}
			}
			refused := uint64(0)
			for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
				ok := compareRuns(t, seed, Options{CPU: cpu, WriteBack: seed%4 == 0})
				if !ok {
					refused++
				}
				if t.Failed() {
					break
				}
			}
			// Programs that the verifier finds too long to follow.
			if refused > *seeds/4 {
				t.Errorf("%d of %d programs were refused", refused, *seeds)
			}
		})
	}
}

func compareRuns(t *testing.T, seed uint64, opts Options) bool {
	m := randomModule(seed, opts.CPU)
	if seed%2 == 0 {
		// Those of package irgen have less that lives at once, and more of the rest.
		m = irgen.Module(rand.New(rand.NewPCG(seed, 3)), irgen.Options{Calls: true, Atomics: opts.CPU >= 3})
	}
	if err := m.Check(); err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, m)
	}
	code, err := Module(m, opts)
	if err != nil && strings.Contains(err.Error(), "bytes of stack") {
		return false
	}
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, m)
	}
	describe := func() string {
		var b strings.Builder
		fmt.Fprintf(&b, "seed %d\n%s\n", seed, m)
		for _, c := range code {
			fmt.Fprintf(&b, "%s:\n%s", c.Func.Name, text(c))
		}
		return b.String()
	}
	prog, err := load(code)
	if err != nil {
		var ve *ebpf.VerifierError
		if errors.As(err, &ve) && (strings.Contains(err.Error(), "too many") || strings.Contains(err.Error(), "too large") || strings.Contains(err.Error(), "complex")) {
			return false
		}
		t.Fatalf("%v\n%s", err, describe())
	}
	defer prog.Close()
	r := rand.New(rand.NewPCG(seed, 2))
	for range 4 {
		in := make([]byte, ctxSize)
		for i := 0; i < ctxIn; i += 8 {
			n := r.Uint64()
			if r.IntN(2) == 0 {
				n = uint64(odd[r.IntN(len(odd))])
			}
			binary.LittleEndian.PutUint64(in[i:], n)
		}
		want := bytes.Clone(in)
		mc := interp.New(m)
		result, err := mc.Call(m.Funcs[len(m.Funcs)-1], mc.Object(want))
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, m)
		}
		got := bytes.Clone(in)
		ret, err := prog.Run(&ebpf.RunOptions{Context: in, ContextOut: got})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if ret != uint32(result) || !bytes.Equal(got, want) {
			t.Fatalf("in  %x\ngot  %#x %x\nwant %#x %x\n%s", in, ret, got, result, want, describe())
		}
	}
	return true
}
