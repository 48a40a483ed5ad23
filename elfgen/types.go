package elfgen

import (
	"strconv"

	"github.com/nopfire/nopfire/elfgen/internal/btf"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// The tags that metadata of version 1 attaches to types.
const (
	tagProbe = "nopfire:probe="
	tagLen   = "nopfire:len="
	tagGo    = "nopfire:go="
)

// typeWriter translates the types of a valid spec into BTF.
type typeWriter struct {
	b *btf.Builder
	// structs are the structs written so far; byName are the same by name,
	// to find one that was described twice.
	structs map[*Type]btf.ID
	byName  map[string][]*Type
	// compared counts the pairs of types that were compared.
	compared int
	// later are the structs whose members are still to be written.
	later []pendingStruct

	// arguments remembers the types of arguments that have no parts, by kind
	// and size: nearly all of them.
	arguments [Pointer][9]btf.ID

	params []btf.Member
	tags   []paramTag
}

type pendingStruct struct {
	btf.Struct
	t *Type
}

// paramTag is a tag of a parameter that waits for its function.
type paramTag struct {
	param int
	text  string
}

func newTypeWriter(m stapsdt.Machine, probes, nameBytes int) *typeWriter {
	return &typeWriter{
		// A probe takes a function (12 bytes) and its tag (16); prototypes
		// are mostly shared.
		b: btf.NewBuilder(m.ByteOrder(), 256+28*probes, 128+nameBytes),
	}
}

// probe writes the function of a probe: its parameters are the arguments.
func (w *typeWriter) probe(provider string, p *ProbeSpec, symbol []byte) {
	w.params, w.tags = w.params[:0], w.tags[:0]
	for i := range p.Args {
		w.param(p.Args, i)
	}
	f := w.b.Func(symbol, w.params)
	w.b.Tag(f, -1, tagProbe, provider, ":", p.Name)
	for _, t := range w.tags {
		w.b.TagShared(f, t.param, t.text)
	}
	w.finishStructs()
}

// param adds the parameters of argument i.
func (w *typeWriter) param(args []ArgSpec, i int) {
	t := args[i].Type
	at := len(w.params)
	id := w.argument(t)
	w.params = append(w.params, btf.Member{Name: paramName(args, i, 0), Type: id})
	if t.Kind == Bytes {
		w.params = append(w.params, btf.Member{Name: paramName(args, i, 1), Type: w.scalar(Uint, 8)})
		w.tags = append(w.tags, paramTag{at, tagLen + strconv.Itoa(at+1)})
	}
	goName := t.Go
	if t.Kind == Error && goName == "" {
		goName = "error"
	}
	if goName != "" {
		w.tags = append(w.tags, paramTag{at, tagGo + goName})
	}
}

// argument returns the type of the first register of an argument.
func (w *typeWriter) argument(t *Type) btf.ID {
	if t.Kind >= Pointer || t.Size < 0 || t.Size > 8 {
		return w.newArgument(t)
	}
	id := &w.arguments[t.Kind][t.Size]
	if *id == btf.Void {
		*id = w.newArgument(t)
	}
	return *id
}

func (w *typeWriter) newArgument(t *Type) btf.ID {
	switch t.Kind {
	case String, Error:
		return w.b.Pointer(w.b.Const(w.char()))
	case Bytes:
		return w.b.Pointer(w.b.Const(w.scalar(Uint, 1)))
	}
	return w.inMemory(t)
}

func (w *typeWriter) char() btf.ID { return w.b.Int("char", 1, btf.Char) }

// scalarNames are the names of C's stdint.h by the logarithm of the size.
var scalarNames = [...][4]string{
	Int:   {"int8_t", "int16_t", "int32_t", "int64_t"},
	Uint:  {"uint8_t", "uint16_t", "uint32_t", "uint64_t"},
	Float: {"", "", "float", "double"},
}

// scalar returns a number of 1, 2, 4 or 8 bytes.
func (w *typeWriter) scalar(k Kind, size int) btf.ID {
	log := 0
	for 1<<log < size {
		log++
	}
	name := scalarNames[k][log]
	switch k {
	case Float:
		return w.b.Float(name, size)
	case Int:
		return w.b.Int(name, size, btf.Signed)
	}
	return w.b.Int(name, size, btf.Unsigned)
}

// inMemory returns the type of a value as it lies in the memory of a Go
// program.
func (w *typeWriter) inMemory(t *Type) btf.ID {
	switch t.Kind {
	case Int, Uint, Float:
		return w.scalar(t.Kind, t.Size)
	case Bool:
		return w.b.Int("bool", 1, btf.Bool)
	case String:
		return w.structure(goString)
	case Bytes:
		return w.structure(goBytes)
	case Error:
		return w.structure(goInterface)
	case Pointer:
		if t.Elem == nil {
			return w.b.Pointer(btf.Void)
		}
		return w.b.Pointer(w.inMemory(t.Elem))
	case Array:
		return w.b.Array(w.inMemory(t.Elem), t.Len)
	case Struct:
		return w.structure(t)
	}
	return btf.Void
}

// The headers of Go values on a 64-bit machine (reflect.StringHeader,
// reflect.SliceHeader, runtime.iface).
var (
	word     = &Type{Kind: Int, Size: 8}
	voidPtr  = &Type{Kind: Pointer}
	goString = &Type{Kind: Struct, Name: "go_string", Size: 16, Fields: []Field{
		{"ptr", 0, &Type{Kind: Pointer, Elem: &Type{Kind: Uint, Size: 1}}},
		{"len", 8, word},
	}}
	goBytes = &Type{Kind: Struct, Name: "go_bytes", Size: 24, Fields: []Field{
		{"ptr", 0, &Type{Kind: Pointer, Elem: &Type{Kind: Uint, Size: 1}}},
		{"len", 8, word},
		{"cap", 16, word},
	}}
	goInterface = &Type{Kind: Struct, Name: "go_interface", Size: 16, Fields: []Field{
		{"tab", 0, voidPtr},
		{"data", 8, voidPtr},
	}}
)

// memorySize returns the number of bytes that a value takes in the memory of a
// Go program on a 64-bit machine.
func (t *Type) memorySize() int {
	switch t.Kind {
	case Int, Uint, Float, Struct:
		return t.Size
	case Bool:
		return 1
	case String:
		return goString.Size
	case Bytes:
		return goBytes.Size
	case Error:
		return goInterface.Size
	case Pointer:
		return 8
	case Array:
		return t.Len * t.Elem.memorySize()
	}
	return 0
}

// structure returns a struct. Its members are written later, by finishStructs,
// so that it may refer to itself.
func (w *typeWriter) structure(t *Type) btf.ID {
	if id, ok := w.structs[t]; ok {
		return id
	}
	if w.structs == nil {
		w.structs = make(map[*Type]btf.ID)
		w.byName = make(map[string][]*Type)
	}
	for _, other := range w.byName[t.Name] {
		if w.compared >= maxAllPairs {
			break
		}
		if w.same(t, other) {
			w.structs[t] = w.structs[other]
			return w.structs[t]
		}
	}
	s := w.b.Struct(identifier(t.Name), t.Size, len(t.Fields))
	w.structs[t] = s.ID
	w.byName[t.Name] = append(w.byName[t.Name], t)
	w.later = append(w.later, pendingStruct{s, t})
	return s.ID
}

// finishStructs writes the members of all structs begun.
func (w *typeWriter) finishStructs() {
	for len(w.later) > 0 {
		s := w.later[0]
		w.later = w.later[1:]
		members := make([]btf.Member, len(s.t.Fields))
		for i, f := range s.t.Fields {
			members[i] = btf.Member{Name: identifier(f.Name), Type: w.inMemory(f.Type), Offset: f.Offset}
		}
		w.b.Members(s.Struct, members)
		if s.t.Go != "" {
			w.b.TagShared(s.ID, -1, tagGo+s.t.Go)
		}
		for i, f := range s.t.Fields {
			if f.Type.Go != "" && f.Type.Kind != Struct {
				w.b.TagShared(s.ID, i, tagGo+f.Type.Go)
			}
		}
	}
}

// What the search for structs that were described twice may cost, in pairs of
// types that are compared: for one struct, and for all. A struct that is not
// found is written again, which wastes bytes and nothing else.
const (
	maxPairs    = 256
	maxAllPairs = 1 << 16
)

// typePair is a comparison under way.
type typePair struct{ a, b *Type }

// same tells whether two structs look the same, as far as that can be found out
// with maxPairs comparisons.
func (w *typeWriter) same(a, b *Type) bool {
	assumed := make(map[typePair]bool)
	same := sameType(a, b, assumed)
	w.compared += 1 + len(assumed)
	return same
}

// sameType tells whether two types look the same, however often they refer to
// themselves: a pair that is being compared counts as equal until a difference
// is found.
func sameType(a, b *Type, assumed map[typePair]bool) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || a.Kind != b.Kind || a.Size != b.Size || a.Name != b.Name ||
		a.Go != b.Go || a.Len != b.Len || len(a.Fields) != len(b.Fields) {
		return false
	}
	pair := typePair{a, b}
	if assumed[pair] {
		return true
	}
	if len(assumed) == maxPairs {
		return false
	}
	assumed[pair] = true
	if !sameType(a.Elem, b.Elem, assumed) {
		return false
	}
	for i := range a.Fields {
		f, g := &a.Fields[i], &b.Fields[i]
		if f.Name != g.Name || f.Offset != g.Offset || !sameType(f.Type, g.Type, assumed) {
			return false
		}
	}
	return true
}
