package difftest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// rounds is how often a program is run: what it left in its variables and maps is
// there when it is run again.
const rounds = 3

// An outcome is all that a program was seen to do, as lines of text.
type outcome []string

// refusedError is the verifier's word on a program.
type refusedError struct{ err error }

func (e *refusedError) Error() string {
	var v *ebpf.VerifierError
	if errors.As(e.err, &v) && len(v.Log) > 0 {
		return strings.Join(v.Log[max(0, len(v.Log)-8):], "\n")
	}
	return e.err.Error()
}

// runOne loads one program of an object, runs it on inputs that the seed makes, and
// tells what came of it.
func runOne(cs *ebpf.CollectionSpec, p *Program, seed uint64) (outcome, error) {
	one := only(cs, p.Name)
	coll, err := ebpf.NewCollectionWithOptions(one, ebpf.CollectionOptions{Programs: ebpf.ProgramOptions{LogSizeStart: 1 << 20}})
	if err != nil {
		return nil, &refusedError{err}
	}
	defer coll.Close()
	prog := coll.Programs[p.Name]
	if prog == nil {
		return nil, fmt.Errorf("no program %s", p.Name)
	}
	r := rand.New(rand.NewPCG(seed, 1))
	var out outcome
	for i := range rounds {
		opts := new(ebpf.RunOptions)
		data := make([]byte, argsSize)
		for j := range data {
			data[j] = byte(r.Uint32())
		}
		if p.Context == Syscall {
			opts.Context, opts.ContextOut = data, make([]byte, argsSize)
		} else {
			packet := append(data, data...)
			// The kernel wants an Ethernet header; IPv6 is what it asks no
			// more of.
			copy(packet[12:], "\x86\xdd")
			opts.Data = packet
			if p.Context == XDP {
				opts.DataOut = make([]byte, 256)
			}
		}
		ret, err := prog.Run(opts)
		if err != nil {
			return nil, fmt.Errorf("run: %w", err)
		}
		out = append(out, fmt.Sprintf("round %d returns = %#x", i, ret))
		switch p.Context {
		case Syscall:
			// 4 bytes after the member r are padding.
			args := opts.ContextOut.([]byte)
			out = append(out, fmt.Sprintf("round %d context = %x %x", i, args[:36], args[40:]))
		case XDP:
			out = append(out, fmt.Sprintf("round %d packet = %x", i, opts.DataOut))
		}
	}
	vars, err := variables(cs, coll, p.Name)
	if err != nil {
		return nil, err
	}
	maps, err := mapContents(cs, coll, p.Name)
	if err != nil {
		return nil, err
	}
	return append(append(out, vars...), maps...), nil
}

// only returns what one program of a file needs.
func only(cs *ebpf.CollectionSpec, name string) *ebpf.CollectionSpec {
	one := &ebpf.CollectionSpec{
		Maps:      make(map[string]*ebpf.MapSpec),
		Programs:  map[string]*ebpf.ProgramSpec{},
		Variables: make(map[string]*ebpf.VariableSpec),
		Types:     cs.Types, ByteOrder: cs.ByteOrder,
	}
	if p := cs.Programs[name]; p != nil {
		one.Programs[name] = p.Copy()
	}
	for k, m := range cs.Maps {
		if strings.HasPrefix(k, ".") || strings.HasPrefix(k, name+"_") {
			one.Maps[k] = m.Copy()
		}
	}
	for k, v := range cs.Variables {
		one.Variables[k] = v.Copy()
	}
	return one
}

// variables tells the values of the variables of a program.
func variables(cs *ebpf.CollectionSpec, coll *ebpf.Collection, name string) (outcome, error) {
	var out outcome
	for k, v := range cs.Variables {
		if !strings.HasPrefix(k, name+"_") || v.Constant() || v.Type == nil || v.Type.Linkage != btf.GlobalVar {
			continue
		}
		m := coll.Maps[v.SectionName]
		if m == nil {
			return nil, fmt.Errorf("variable %s: no map %s", k, v.SectionName)
		}
		section, err := m.LookupBytes(uint32(0))
		if err != nil || section == nil {
			return nil, fmt.Errorf("variable %s: read %s: %v", k, v.SectionName, err)
		}
		value := slices.Clone(section[v.Offset : v.Offset+v.Size()])
		out = append(out, fmt.Sprintf("%s = %x", k, masked(value, v.Type.Type)))
	}
	slices.Sort(out)
	return out, nil
}

func masked(value []byte, t btf.Type) []byte {
	for i, m := range Mask(t) {
		value[i] &= m
	}
	return value
}

// mapContents tells the elements of the maps of a program.
func mapContents(cs *ebpf.CollectionSpec, coll *ebpf.Collection, name string) (outcome, error) {
	var out outcome
	for k, spec := range cs.Maps {
		if !strings.HasPrefix(k, name+"_") {
			continue
		}
		m := coll.Maps[k]
		key := make([]byte, m.KeySize())
		it := m.Iterate()
		if spec.Type == ebpf.PerCPUArray {
			var values [][]byte
			for it.Next(&key, &values) {
				for cpu, v := range values {
					// One CPU runs all: the others' are 0.
					if v = masked(slices.Clone(v), spec.Value); !bytes.Equal(v, make([]byte, len(v))) {
						out = append(out, fmt.Sprintf("%s[%x] on CPU %d = %x", k, key, cpu, v))
					}
				}
			}
		} else {
			var value []byte
			for it.Next(&key, &value) {
				out = append(out, fmt.Sprintf("%s[%x] = %x", k, key, masked(slices.Clone(value), spec.Value)))
			}
		}
		if err := it.Err(); err != nil {
			return nil, fmt.Errorf("map %s: %w", k, err)
		}
	}
	slices.Sort(out)
	return out, nil
}
