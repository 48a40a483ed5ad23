package front

import (
	"fmt"
	"strings"

	"github.com/cilium/ebpf/btf"
	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// CO-RE ("compile once, run everywhere") lets a program name members of kernel
// structs whose places differ between kernels. clang leaves relocations for a
// loader; here the kernel's types are at hand when the program is compiled, and
// each place is looked up at once, by the rules of libbpf's relo_core.c.

// A chain is an access to a member, or an element, of a kernel struct: where it
// is in the kernel that the program is compiled for.
type chain struct {
	// name is how the program names it, such as "struct task_struct.pid".
	name  string
	base  *ir.Value // of the struct that the chain starts with
	off   int64
	align int
	// found are the types of that name in which there is such a member. A
	// kernel has more than one if parts of it disagree about a type.
	found []target
}

// A target is where a chain ends in a type of the kernel.
type target struct {
	t    btf.Type // without qualifiers and typedefs
	bits int      // from the start of the struct
	// bitfield is the width of a bit-field, 0 of other members.
	bitfield int
	last     bool // member of its struct: an array may be flexible
}

// newChain starts a chain at p, a struct or union; nil if the place of its
// members is what the program says.
func (g *body) newChain(at cc.Node, p place) *chain {
	r := g.record(p.t)
	if r == nil || r.tag == "" || g.fromKernel(r.key.first) {
		return nil
	}
	c := &chain{base: p.base, off: p.off, align: p.align}
	word := "struct "
	if r.union {
		word = "union "
	}
	c.name = word + r.tag
	types, err := g.kernelTypes(r.tag)
	if err != nil {
		g.errorf(at, "%s: its layout in the kernel is not known: %v", c.name, err)
		return nil
	}
	for _, t := range types {
		switch t.(type) {
		case *btf.Struct:
			if !r.union {
				c.found = append(c.found, target{t: t})
			}
		case *btf.Union:
			if r.union {
				c.found = append(c.found, target{t: t})
			}
		}
	}
	return c
}

// kernelTypes returns the types of the kernel that have a name, but for what
// follows "___" in it: what tells versions of a struct in the program apart.
func (u *unit) kernelTypes(name string) ([]btf.Type, error) {
	spec, err := u.kernel()
	if err != nil {
		return nil, err
	}
	types, err := spec.AnyTypesByName(essential(name))
	if err != nil {
		return nil, nil // not found
	}
	return types, nil
}

// essential returns a name without its flavour.
func essential(name string) string {
	if i := strings.Index(name, "___"); i > 0 {
		name = name[:i]
	}
	return name
}

// coreMember follows the chain to the member f, and p with it.
func (g *body) coreMember(p *place, c *chain, f field) {
	next := &chain{name: c.name + "." + f.name, base: c.base, off: c.off, align: c.align}
	for _, t := range c.found {
		m, bits, last, ok := findMember(t.t, f.name)
		if !ok || !g.coreCompatible(f.typ, m.Type) {
			continue
		}
		next.found = append(next.found, target{
			t: btf.UnderlyingType(m.Type), bits: t.bits + bits, bitfield: int(m.BitfieldSize), last: last,
		})
	}
	next.place(p)
}

// coreElement follows the chain to element n of an array, and p with it.
func (g *body) coreElement(p *place, c *chain, n int64) {
	next := &chain{name: fmt.Sprintf("%s[%d]", c.name, n), base: c.base, off: c.off, align: c.align}
	for _, t := range c.found {
		a, ok := t.t.(*btf.Array)
		if !ok || n < 0 || n >= int64(a.Nelems) && !(t.last && a.Nelems == 0) {
			continue
		}
		size, err := btf.Sizeof(a.Type)
		if err != nil {
			continue
		}
		next.found = append(next.found, target{t: btf.UnderlyingType(a.Type), bits: t.bits + int(n)*size*8})
	}
	next.place(p)
}

// place moves p to where the chain ends.
func (c *chain) place(p *place) {
	p.core = c
	p.base, p.off, p.align = c.base, c.off, c.align
	if len(c.found) == 0 {
		return
	}
	t := c.found[0]
	for _, other := range c.found[1:] {
		if other.bits != t.bits || other.bitfield != t.bitfield {
			c.name += " (ambiguous)"
			c.found = nil
			return
		}
	}
	if t.bitfield != 0 {
		p.bit, p.bits, p.size = t.bits, t.bitfield, 0
		return
	}
	p.bits = 0
	p.off += int64(t.bits / 8)
	p.align = commonAlign(c.align, int64(t.bits/8))
}

// fix ends a chain that an access is made through. Where the kernel has no such
// member, the access is made of what the verifier refuses, unless the program
// never gets there.
func (c *chain) fix(g *body, p *place) {
	if c == nil {
		return
	}
	if len(c.found) == 0 {
		p.base, p.off, p.bits = g.poison(c.name), 0, 0
	}
	p.core = nil
}

// accessSize returns how many bytes a load of the member takes: those of the
// kernel's type, if both are pointers or unsigned integers. libbpf changes other
// accesses whose sizes differ to what is refused.
func (c *chain) accessSize(p *place, t cc.Type, size int, signed bool) int {
	if c == nil || len(c.found) == 0 {
		return size
	}
	has, err := btf.Sizeof(c.found[0].t)
	if err != nil || has == size {
		return size
	}
	switch k := c.found[0].t.(type) {
	case *btf.Pointer:
		if isPointer(t) {
			return has
		}
	case *btf.Int:
		if !signed && isInteger(t) && k.Encoding != btf.Signed && (has == 1 || has == 2 || has == 4 || has == 8) {
			return has
		}
	}
	p.core = &chain{name: fmt.Sprintf("%s, which has %d bytes and not %d,", c.name, has, size)}
	return size
}

// poison returns a pointer that the program may not make: the result of a helper
// that no kernel has. Its number tells which name it stands for.
func (g *body) poison(name string) *ir.Value {
	v := g.value(ir.OpHelper, ir.Ptr)
	for i, other := range g.mod.Poisoned {
		if other == name {
			v.Imm = ir.Poison + int64(i)
			return v
		}
	}
	v.Imm = ir.Poison + int64(len(g.mod.Poisoned))
	g.mod.Poisoned = append(g.mod.Poisoned, name)
	return v
}

// findMember finds a member of a struct or union, in anonymous members too. bits
// is where it starts; last says whether it is the last one of its struct.
func findMember(t btf.Type, name string) (m btf.Member, bits int, last, ok bool) {
	var members []btf.Member
	switch t := t.(type) {
	case *btf.Struct:
		members = t.Members
	case *btf.Union:
		members = t.Members
	}
	for i, m := range members {
		if m.Name == name {
			return m, int(m.Offset), i == len(members)-1, true
		}
		if m.Name == "" {
			if inner, bits, last, ok := findMember(btf.UnderlyingType(m.Type), name); ok {
				return inner, int(m.Offset) + bits, last && i == len(members)-1, true
			}
		}
	}
	return btf.Member{}, 0, false, false
}

// coreCompatible reports whether a member that the program declares with type t
// may be one of the kernel's type: bpf_core_fields_are_compat of libbpf, which
// asks for the kind, and for the names of enumerations.
func (u *unit) coreCompatible(t cc.Type, kernel btf.Type) bool {
	kernel = btf.UnderlyingType(kernel)
	switch t := t.(type) {
	case *cc.StructType, *cc.UnionType:
		switch kernel.(type) {
		case *btf.Struct, *btf.Union:
			return true
		}
	case *cc.PointerType:
		_, ok := kernel.(*btf.Pointer)
		return ok
	case *cc.ArrayType:
		a, ok := kernel.(*btf.Array)
		return ok && u.coreCompatible(t.Elem(), a.Type)
	case *cc.EnumType:
		e, ok := kernel.(*btf.Enum)
		tag := t.Tag()
		name := tag.SrcStr()
		return ok && (name == "" || e.Name == "" || essential(name) == essential(e.Name))
	default:
		if cc.IsIntegerType(t) {
			_, ok := kernel.(*btf.Int)
			return ok
		}
		if floating(t) != nil {
			_, ok := kernel.(*btf.Float)
			return ok
		}
	}
	return false
}
