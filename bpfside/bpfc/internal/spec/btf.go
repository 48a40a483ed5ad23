package spec

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
	"github.com/nopfire/nopfire/bpfside/bpfc/internal/lower"
)

// writeTypes adds .BTF and .BTF.ext.
func (w *writer) writeTypes() error {
	var b btf.Builder
	add := func(t btf.Type) error {
		if _, err := b.Add(t); err != nil {
			return fmt.Errorf("type information: %w", err)
		}
		return nil
	}
	funcs := make(map[*ir.Func]btf.TypeID)
	for _, c := range w.code {
		if c.Func.BTF == nil {
			return fmt.Errorf("function %s has no type", c.Func.Name)
		}
		t := *c.Func.BTF
		t.Tags = append(slices.Clone(t.Tags), w.missingTags(&c)...)
		t.Linkage = btf.GlobalFunc
		if c.Func.Linkage == ir.Static {
			t.Linkage = btf.StaticFunc
		}
		id, err := b.Add(&t)
		if err != nil {
			return fmt.Errorf("function %s: type information: %w", c.Func.Name, err)
		}
		funcs[c.Func] = id
	}
	for _, ds := range w.datasecs() {
		// A section in the order of C: the variables, and then what holds
		// them.
		for _, v := range ds.Vars {
			if err := add(v.Type); err != nil {
				return err
			}
		}
		if err := add(ds); err != nil {
			return err
		}
	}
	for _, g := range w.m.Globals {
		if _, ok := w.places[g]; !ok {
			continue
		}
		for _, t := range g.Events {
			if err := add(t); err != nil {
				return err
			}
		}
	}
	for _, t := range w.m.Types {
		if err := add(t); err != nil {
			return err
		}
	}
	blob, err := b.Marshal(nil, &btf.MarshalOptions{Order: binary.LittleEndian})
	if err != nil {
		return fmt.Errorf("type information: %w", err)
	}
	strs, err := openStrings(blob)
	if err != nil {
		return err
	}
	ext := w.extInfo(strs, funcs)
	w.obj.newSection(".BTF", elf.SHT_PROGBITS, 0, 4).data = strs.close()
	w.obj.newSection(".BTF.ext", elf.SHT_PROGBITS, 0, 4).data = ext
	return nil
}

// datasecs returns the types of the sections of data: which variable is where.
func (w *writer) datasecs() []*btf.Datasec {
	var out []*btf.Datasec
	byName := make(map[string]*btf.Datasec)
	for _, g := range w.m.Globals {
		p, defined := w.places[g]
		if g.BTF == nil || !defined && w.symbols[g] == nil {
			continue
		}
		ds := byName[g.Section]
		if ds == nil {
			ds = &btf.Datasec{Name: g.Section}
			byName[g.Section] = ds
			out = append(out, ds)
		}
		v := *g.BTF
		v.Tags = append(slices.Clone(v.Tags), eventTags(g)...)
		info := btf.VarSecinfo{Type: &v}
		switch {
		case defined:
			v.Linkage = btf.GlobalVar
			if g.Linkage == ir.Static {
				v.Linkage = btf.StaticVar
			}
			info.Offset, info.Size = uint32(p.offset), uint32(p.size)
			ds.Size = uint32(p.section.length())
		case g.Section == ".ksyms":
			v.Linkage = btf.ExternVar
			// cilium/ebpf takes an address without a type only as void.
			if _, void := btf.UnderlyingType(v.Type).(*btf.Void); void {
				v.Type = (*btf.Void)(nil)
			}
		default:
			v.Linkage = btf.ExternVar
			align := uint32(max(g.Align, 1))
			info.Offset, info.Size = (ds.Size+align-1)/align*align, uint32(g.Size)
			ds.Size = info.Offset + info.Size
		}
		ds.Vars = append(ds.Vars, info)
	}
	for _, ds := range out {
		slices.SortStableFunc(ds.Vars, func(a, b btf.VarSecinfo) int { return cmp.Compare(a.Offset, b.Offset) })
	}
	return out
}

// MissingTag begins the declaration tags of functions that ask for what the kernel
// lacks, as of a field: there the code calls a helper that does not exist. The rest
// is the number of that helper, a colon, and the name of what is missing.
const MissingTag = "missing:"

func (w *writer) missingTags(c *lower.Code) []string {
	var tags []string
	for i := range c.Insns {
		ins := &c.Insns[i]
		n := ins.Constant - ir.Poison
		if !ins.IsBuiltinCall() || n < 0 || n >= int64(len(w.m.Poisoned)) {
			continue
		}
		if tag := fmt.Sprintf("%s%d:%s", MissingTag, ins.Constant, w.m.Poisoned[n]); !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// eventTags returns the declaration tags that tell what goes through a map, as C
// would spell the type: "event:struct NAME". Types without a name have none.
func eventTags(g *ir.Global) []string {
	var tags []string
	for _, t := range g.Events {
		name := t.TypeName()
		if name == "" {
			continue
		}
		switch t.(type) {
		case *btf.Struct:
			name = "struct " + name
		case *btf.Union:
			name = "union " + name
		case *btf.Enum:
			name = "enum " + name
		}
		if tag := "event:" + name; !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// Fields of the header of BTF (linux/btf.h, struct btf_header).
const (
	btfMagic     = 0xeb9f
	btfHeaderLen = 24
	btfStrOff    = 16
	btfStrLen    = 20
)

// btfStrings are the strings of a blob of BTF while more are added to them, which
// btf.Builder has no way for. They are the last thing in it.
type btfStrings struct {
	blob  []byte
	start int // of the strings in blob
	at    map[string]uint32
}

func openStrings(blob []byte) (*btfStrings, error) {
	if len(blob) < btfHeaderLen {
		return nil, errors.New("type information: no header")
	}
	start := btfHeaderLen + int(binary.LittleEndian.Uint32(blob[btfStrOff:]))
	if start+int(binary.LittleEndian.Uint32(blob[btfStrLen:])) != len(blob) {
		return nil, errors.New("type information: the strings are not at the end")
	}
	return &btfStrings{blob, start, map[string]uint32{"": 0}}, nil
}

// add returns the offset of a string.
func (s *btfStrings) add(str string) uint32 {
	off, ok := s.at[str]
	if !ok {
		off = uint32(len(s.blob) - s.start)
		s.blob = append(append(s.blob, str...), 0)
		s.at[str] = off
	}
	return off
}

// close returns the blob with all strings.
func (s *btfStrings) close() []byte {
	binary.LittleEndian.PutUint32(s.blob[btfStrLen:], uint32(len(s.blob)-s.start))
	return s.blob
}
