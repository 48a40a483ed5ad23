package body

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

const (
	// maxStructs bounds the structs that are looked at and printed, maxTypeDepth
	// how deep arrays and structs lie in one another: what metadata says is not
	// trusted, and may be cyclic where C cannot be.
	maxStructs   = 1000
	maxTypeDepth = 32
	// maxMembers bounds the fields of one struct.
	maxMembers = 10_000
	// maxSize is the size up to which a struct or an array is one.
	maxSize = 1 << 24
)

// structs are those that the arguments lead to.
type structs struct {
	all     []*usdt.Type
	index   map[*usdt.Type]int
	goNames map[*usdt.Type]string // as people write them
}

// newStructs collects the structs behind the arguments. The first to be found is
// the first in the order.
func newStructs(args []Arg) *structs {
	s := &structs{index: map[*usdt.Type]int{}, goNames: map[*usdt.Type]string{}}
	for i := range args {
		t := args[i].Type
		if t == nil {
			continue
		}
		if name, ok := strings.CutPrefix(t.Go, "*"); ok && t.Kind == usdt.Pointer && t.Elem != nil && t.Elem.Kind == usdt.Struct {
			s.goNames[t.Elem] = name
		}
		s.add(t, 0)
	}
	for i := 0; i < len(s.all); i++ {
		for _, f := range s.all[i].Fields {
			s.add(f.Type, 0)
		}
	}
	return s
}

// add adds the struct that t is or leads to.
func (s *structs) add(t *usdt.Type, depth int) {
	for ; t != nil && depth < maxTypeDepth; depth++ {
		if t.Kind == usdt.Struct {
			if _, ok := s.index[t]; !ok && len(s.all) < maxStructs {
				s.index[t] = len(s.all)
				s.all = append(s.all, t)
			}
			return
		}
		t = t.Elem
	}
}

// name returns what people call a struct.
func (s *structs) name(t *usdt.Type) string {
	switch {
	case s.goNames[t] != "":
		return s.goNames[t]
	case t.Go != "":
		return t.Go
	case t.Name != "":
		return t.Name
	}
	return "struct"
}

// cName returns what people call the struct that is called name in C.
func (s *structs) cName(name string) string {
	if n, err := strconv.Atoi(strings.TrimPrefix(name, "s_")); err == nil && n >= 0 && n < len(s.all) {
		return s.name(s.all[n])
	}
	return name
}

// notValue says that a struct is none.
func (s *structs) notValue(t *usdt.Type) string {
	if isHeader(t) {
		return "a string of Go in memory can stand alone or be compared with text; else it has ptr and len"
	}
	return printable(s.name(t)) + " is a struct, not a value: name one of its fields"
}

// find returns the struct with a name: that of the metadata, or that of Go, with or
// without the package.
func (s *structs) find(name string) (*usdt.Type, error) {
	matches := [2][]*usdt.Type{}
	for _, t := range s.all {
		goName := s.name(t)
		pkg, short, _ := strings.Cut(goName, ".")
		if !isIdentifier(pkg) {
			short = "" // []main.order, which is a struct as well, in C
		}
		switch {
		case name == t.Name || name == goName || strings.ReplaceAll(name, ".", "_") == t.Name:
			matches[0] = append(matches[0], t)
		case name == short || short == "" && strings.HasSuffix(t.Name, "_"+name):
			matches[1] = append(matches[1], t)
		}
	}
	for _, m := range matches {
		if len(m) == 0 {
			continue
		}
		for _, other := range m[1:] {
			if s.name(other) != s.name(m[0]) {
				return nil, fmt.Errorf("struct %s may be %s or %s", name, printable(s.name(m[0])), printable(s.name(other)))
			}
		}
		return m[0], nil
	}
	var names []string
	for _, t := range s.all {
		if t.Name != "" && !strings.HasPrefix(t.Name, "go_") && !slices.Contains(names, printable(s.name(t))) {
			names = append(names, printable(s.name(t)))
		}
	}
	return nil, fmt.Errorf("struct %s is not known%s", name, suggest(name, "the arguments know", "the arguments know of no struct", names))
}

// A member is a field of a struct, those of structs without a name in it included.
type member struct {
	name string
	off  int
	typ  *usdt.Type
}

// members returns those of a struct, by their offsets.
func members(t *usdt.Type) []member {
	var all []member
	seen := 0
	var collect func(t *usdt.Type, off, depth int)
	collect = func(t *usdt.Type, off, depth int) {
		for _, f := range t.Fields {
			switch seen++; {
			case f.Type == nil || seen > maxMembers:
			case f.Name == "" && f.Type.Kind == usdt.Struct && depth < maxTypeDepth:
				collect(f.Type, off+f.Offset, depth+1)
			case f.Name != "":
				all = append(all, member{f.Name, off + f.Offset, f.Type})
			}
		}
	}
	collect(t, 0, 0)
	slices.SortStableFunc(all, func(a, b member) int { return cmp.Compare(a.off, b.off) })
	return all
}

// field returns the member with a name.
func field(t *usdt.Type, name string) (member, bool) {
	for _, m := range members(t) {
		if m.name == name {
			return m, true
		}
	}
	return member{}, false
}

// A structPrinter writes the definitions of structs, with the members that
// expressions name and no others: what a struct of a program leads to may be
// thousands.
type structPrinter struct {
	*structs
	wanted map[string]bool // members
	out    strings.Builder
	state  map[*usdt.Type]int // 1: being written, 2: written
	queue  []*usdt.Type
}

// print returns the definitions of those structs that roots lead to.
func (s *structs) print(wanted map[string]bool, roots []*usdt.Type) string {
	p := &structPrinter{structs: s, wanted: wanted, state: map[*usdt.Type]int{}}
	for _, t := range roots {
		p.reach(t, 0)
	}
	for len(p.queue) > 0 {
		t := p.queue[0]
		p.queue = p.queue[1:]
		p.define(t)
	}
	return p.out.String()
}

// reach queues the struct that t is or leads to.
func (p *structPrinter) reach(t *usdt.Type, depth int) {
	for ; t != nil && depth < maxTypeDepth; depth++ {
		if _, ok := p.index[t]; ok && p.state[t] == 0 {
			p.queue = append(p.queue, t)
			return
		}
		t = t.Elem
	}
}

// define writes the definition of t behind those that it needs. It reports whether
// it could: not of a struct that lies in itself.
func (p *structPrinter) define(t *usdt.Type) bool {
	if p.state[t] != 0 {
		return p.state[t] == 2
	}
	p.state[t] = 1
	var fields []member
	end := 0
	seen := map[string]bool{}
	for _, m := range members(t) {
		if !p.wanted[m.name] || seen[m.name] {
			continue
		}
		size, ok := p.sizeIn(m.typ, 0)
		if !ok || m.off < end || m.off > t.Size || size > t.Size-m.off {
			continue // not to be had
		}
		seen[m.name] = true
		fields = append(fields, m)
		end = m.off + size
	}
	end = 0
	var b strings.Builder
	pad := func(to int) {
		if to > end {
			fmt.Fprintf(&b, " unsigned char pad_%d[%d];", end, to-end)
		}
	}
	fmt.Fprintf(&b, "%s {", p.ref(t))
	for _, m := range fields {
		pad(m.off)
		size, _ := p.sizeIn(m.typ, 0)
		fmt.Fprintf(&b, " %s;", p.declare(m.typ, "f_"+m.name))
		end = m.off + size
		p.reach(m.typ, 0)
	}
	if t.Size <= maxSize {
		pad(t.Size)
	}
	b.WriteString(" } __attribute__((packed));\n")
	p.out.WriteString(b.String())
	p.state[t] = 2
	return true
}

// sizeIn returns the size of a member of type t, for which the definition of a
// struct comes first; not ok if C cannot have one.
func (p *structPrinter) sizeIn(t *usdt.Type, depth int) (size int, ok bool) {
	if depth > maxTypeDepth {
		return 0, false
	}
	switch t.Kind {
	case usdt.Struct:
		_, known := p.index[t]
		return t.Size, known && t.Size > 0 && t.Size <= maxSize && p.define(t)
	case usdt.Array:
		if t.Elem == nil || t.Len < 0 {
			return 0, false
		}
		elem, ok := p.sizeIn(t.Elem, depth+1)
		if !ok || elem == 0 || t.Len > maxSize/elem {
			return 0, false
		}
		return elem * t.Len, true
	}
	_, ok = scalar(t)
	return t.Size, ok
}

// ref names a struct in C.
func (s *structs) ref(t *usdt.Type) string { return "struct s_" + strconv.Itoa(s.index[t]) }

// scalar returns the type of C of one that is neither a pointer nor an aggregate.
func scalar(t *usdt.Type) (string, bool) {
	switch t.Kind {
	case usdt.Int, usdt.Uint:
		s, ok := integers[t.Size]
		if t.Kind == usdt.Int && t.Size == 1 {
			return "signed char", true
		}
		if t.Kind == usdt.Uint {
			s = "unsigned " + s
		}
		return s, ok
	case usdt.Bool:
		return "_Bool", t.Size == 1
	case usdt.Float:
		return map[int]string{4: "float", 8: "double"}[t.Size], t.Size == 4 || t.Size == 8
	case usdt.String, usdt.Error, usdt.Bytes, usdt.Pointer:
		// A pointer of a process of 32 bits is a number to BPF.
		return "unsigned int", t.Size == 4 || t.Size == 8
	}
	return "", false
}

// integers are the signed types of C by their sizes.
var integers = map[int]string{1: "char", 2: "short", 4: "int", 8: "long"}

// declare writes the declaration of what has type t.
func (s *structs) declare(t *usdt.Type, name string) string { return s.declarator(t, name, 0) }

func (s *structs) declarator(t *usdt.Type, name string, depth int) string {
	if t == nil || depth > maxTypeDepth {
		return "void " + name
	}
	switch t.Kind {
	case usdt.Struct:
		if _, ok := s.index[t]; ok {
			return s.ref(t) + " " + name
		}
	case usdt.Array:
		if t.Elem != nil && t.Len >= 0 && t.Len <= maxSize {
			if t.Elem.Size == 1 && t.Elem.Kind == usdt.Int {
				return fmt.Sprintf("char %s[%d]", name, t.Len) // text, in C
			}
			return s.declarator(t.Elem, fmt.Sprintf("%s[%d]", name, t.Len), depth+1)
		}
	case usdt.String, usdt.Error:
		if t.Size == 8 {
			return "char *" + name
		}
	case usdt.Bytes:
		if t.Size == 8 {
			return "unsigned char *" + name
		}
	case usdt.Pointer:
		if t.Size == 8 {
			if !pointable(t.Elem, depth) {
				return "void *" + name
			}
			if t.Elem.Kind == usdt.Array {
				return s.declarator(t.Elem, "(*"+name+")", depth+1)
			}
			return s.declarator(t.Elem, "*"+name, depth+1)
		}
	}
	if c, ok := scalar(t); ok {
		return c + " " + name
	}
	return "void " + name
}

// pointable tells whether a pointer to t can be more than one to void.
func pointable(t *usdt.Type, depth int) bool {
	elements := 1
	for ; t != nil && depth < maxTypeDepth; depth++ {
		if t.Kind != usdt.Array {
			_, ok := scalar(t)
			return ok || t.Kind == usdt.Struct && t.Size <= maxSize/elements
		}
		if t.Len < 0 || t.Len > maxSize/elements {
			return false
		}
		elements *= max(1, t.Len)
		t = t.Elem
	}
	return false
}
