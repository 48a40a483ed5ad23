package pass

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir/interp"
	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir/irgen"
)

// outcome runs the program of m, its function of a section, and returns what can
// be seen of it afterwards.
func outcome(m *ir.Module, ctx []byte) (string, error) {
	mc := interp.New(m)
	mc.Helper = func(call *ir.Value, args []uint64) (uint64, error) { return help(mc, m, call, args) }
	ctx = bytes.Clone(ctx)
	for _, f := range m.Funcs {
		if f.Section == "" {
			continue
		}
		ret, err := mc.Call(f, mc.Object(ctx))
		if err != nil {
			return "", err
		}
		text := fmt.Sprintf("returns %#x, leaves %x", ret, ctx)
		for _, g := range m.Globals {
			data, err := mc.Bytes(mc.Global(g), g.Size)
			if err != nil {
				return "", err
			}
			text += fmt.Sprintf(" and %s %x", g.Name, data)
		}
		return text, nil
	}
	return "", fmt.Errorf("no program")
}

// help is the helper of irgen: it changes what it may and returns what it read.
func help(mc *interp.Machine, m *ir.Module, call *ir.Value, args []uint64) (uint64, error) {
	sum := uint64(len(args))
	mix := func(data []byte) {
		for i := range data {
			sum = (sum ^ uint64(data[i])) * 0x100000001b3
			if sum%5 == 0 {
				data[i] = byte(sum >> 8)
			}
		}
	}
	for i, a := range args {
		if call.Args[i].Type != ir.Ptr {
			sum = (sum ^ a) * 0x100000001b3
			continue
		}
		data, err := mc.Bytes(a, 16)
		if err != nil {
			return 0, err
		}
		mix(data)
	}
	for _, g := range m.Globals {
		data, err := mc.Bytes(mc.Global(g), g.Size)
		if err != nil {
			return 0, err
		}
		mix(data)
	}
	return sum, nil
}

// same checks that each pass of Run leaves the outcome of a random module as it
// was.
func same(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	m := irgen.Module(r, irgen.Options{
		Values:  10 + r.IntN(100),
		Globals: seed%2 == 0, Calls: seed%3 == 0, Atomics: seed%5 == 0, Pointers: seed%7 < 3, Helpers: seed%4 == 0,
	})
	var ctxs [3][]byte
	var want [3]string
	for i := range ctxs {
		ctxs[i] = make([]byte, irgen.ContextSize)
		for k := 0; k < len(ctxs[i]); k += 8 {
			// Small numbers, large ones, and halves of which one is either.
			binary.LittleEndian.PutUint64(ctxs[i][k:], uint64(int64(r.Uint64())>>r.IntN(64)))
		}
		var err error
		if want[i], err = outcome(m, ctxs[i]); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, m)
		}
	}
	before := m.String()
	err := Run(m, Options{After: func(pass string, f *ir.Func) error {
		if err := m.Check(); err != nil {
			return err
		}
		for i, ctx := range ctxs {
			got, err := outcome(m, ctx)
			if err != nil {
				return err
			}
			if got != want[i] {
				return fmt.Errorf("context %x:\n%s, not\n%s", ctx, got, want[i])
			}
		}
		before = m.String()
		return nil
	}})
	if err != nil {
		t.Fatalf("seed %d: %v\nbefore:\n%s\nafter:\n%s", seed, err, before, m)
	}
	for _, f := range m.Funcs {
		for _, b := range f.Blocks {
			if b.Term.Kind == ir.TermSwitch {
				t.Fatalf("seed %d: a switch is left\n%s", seed, m)
			}
		}
	}
}

func TestRandom(t *testing.T) {
	for seed := range uint64(120) {
		same(t, seed)
	}
}

func FuzzRandom(f *testing.F) {
	f.Add(uint64(0))
	f.Fuzz(same)
}
