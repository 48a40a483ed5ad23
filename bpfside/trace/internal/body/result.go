package body

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// function makes the result. spec is nil if nothing was compiled.
func (u *unit) function(insns asm.Instructions, spec *ebpf.CollectionSpec) (*Function, error) {
	f := &Function{Insns: insns, NeedsPID: u.p.pid}
	for i, e := range u.exprs {
		if e.index < 0 {
			f.WhereArgs = e.args
			continue
		}
		if e.computed() {
			t := variable(spec, "type"+strconv.Itoa(i))
			if !u.known(e) && !u.describe(&e.value, t) {
				e.err = errorf(e.tree.off, "%s is no value", printable(u.spell(t)))
				e.err.OtherProbe = true
			}
		}
		f.Values = append(f.Values, e.value)
	}
	for i, t := range u.p.texts {
		typ := variable(spec, "operand"+strconv.Itoa(i))
		if e := u.exprs[t.expr]; !isCharacters(typ, t.strict) && e.err == nil {
			e.err = errorf(t.off, "%s is no address of text: cast it to char * if it is one", printable(u.spell(typ)))
			e.err.OtherProbe = e.args != 0
		}
	}
	if u.err() != nil {
		return nil, u.err()
	}
	return f, nil
}

// known describes the value of an expression whose type the compiler does not see as
// it is; false if there is nothing of that.
func (u *unit) known(e *expression) bool {
	t, v := u.p.typeOf(e.tree), &e.value
	if t == nil {
		return false
	}
	switch {
	case isHeader(t):
		v.Kind, v.Size, v.Type = Header, 8, headers[t.Name]
	case isFloatMember(t, e.tree):
		v.Kind, v.Size, v.Type = Float, t.Size, cmp.Or(t.Go, goType(t))
	case t.Size == 4 && t.Kind == usdt.Pointer:
		v.Kind, v.Size, v.Type = Pointer, 4, cmp.Or(t.Go, goType(t))
	case t.Size == 4 && isText(t):
		v.Kind, v.Size, v.Type = String, 4, "string"
	case t.Go != "" && inProcess(e.tree):
		// A field, which in Go has a type with a name.
		kind, ok := map[usdt.Kind]Kind{usdt.Int: Int, usdt.Uint: Uint, usdt.Bool: Bool, usdt.Pointer: Pointer}[t.Kind]
		if !ok {
			return false
		}
		v.Kind, v.Size, v.Type = kind, t.Size, t.Go
	default:
		return false
	}
	return true
}

// variable returns the type of a variable. One without a size, as an array of no
// elements, is left out by the compiler: then it is void.
func variable(spec *ebpf.CollectionSpec, name string) btf.Type {
	if v := spec.Variables[name]; v != nil && v.Type != nil {
		return btf.UnderlyingType(v.Type.Type)
	}
	return (*btf.Void)(nil)
}

// isCharacters tells whether a value of type t can be the address of characters.
func isCharacters(t btf.Type, strict bool) bool {
	switch t := t.(type) {
	case *btf.Pointer:
		return true
	case *btf.Array:
		size, err := btf.Sizeof(t.Type)
		return err == nil && size == 1
	case *btf.Int:
		return !strict || t.Size == 8
	}
	return false
}

// argumentValue describes an argument alone.
func argumentValue(i int, a *Arg) Value {
	v := Value{Arg: i, Args: 1 << i, Size: a.Size, Kind: Uint, Type: "uint" + strconv.Itoa(8*a.Size)}
	if a.Signed {
		v.Kind, v.Type = Int, "int"+strconv.Itoa(8*a.Size)
	}
	t := a.Type
	if t == nil || t.Kind == usdt.Unknown {
		if a.Float {
			v.Type = "float" + strconv.Itoa(8*a.Size)
		}
		return v
	}
	switch t.Kind {
	case usdt.Int:
		v.Kind = Int
	case usdt.Uint:
		v.Kind = Uint
	case usdt.Bool:
		v.Kind = Bool
	case usdt.String, usdt.Error:
		v.Kind = String
	case usdt.Pointer, usdt.Bytes:
		v.Kind = Pointer
	}
	v.Type = cmp.Or(t.Go, goType(t))
	return v
}

// goType spells a type as Go does.
func goType(t *usdt.Type) string {
	n := strconv.Itoa(8 * t.Size)
	switch t.Kind {
	case usdt.Int, usdt.Uint, usdt.Float:
		return t.Kind.String() + n
	case usdt.Bytes:
		return "[]byte"
	case usdt.Pointer:
		switch e := t.Elem; {
		case e == nil:
			return "unsafe.Pointer"
		case e.Go != "":
			return "*" + e.Go
		case e.Kind == usdt.Struct && e.Name != "":
			return "*" + e.Name
		case e.Kind == usdt.Int || e.Kind == usdt.Uint || e.Kind == usdt.Float:
			return "*" + goType(e)
		default:
			return "*" + e.Kind.String()
		}
	}
	return t.Kind.String() // bool, string, error
}

// describe fills in what the type of an expression says of its value; false if it
// is none.
func (u *unit) describe(v *Value, t btf.Type) bool {
	v.Size, v.Type = 8, u.spell(t)
	switch t := t.(type) {
	case *btf.Int:
		v.Size = int(t.Size)
		switch {
		case t.Encoding == btf.Bool:
			v.Kind = Bool
		case t.Encoding == btf.Signed || t.Encoding == btf.Char:
			v.Kind = Int
		default:
			v.Kind = Uint
		}
	case *btf.Pointer:
		v.Kind = Pointer
		if isChar(t.Target) {
			v.Kind, v.Type = String, "string"
		}
	case *btf.Array: // where it begins
		v.Kind, v.Type = Pointer, "*"+u.spell(t.Type)
		if isChar(t.Type) {
			v.Kind, v.Type = String, "string"
		}
	default:
		return false
	}
	return true
}

func isChar(t btf.Type) bool {
	i, ok := btf.UnderlyingType(t).(*btf.Int)
	return ok && i.Size == 1 && i.Name == "char"
}

// spell spells a type as Go does.
func (u *unit) spell(t btf.Type) string {
	switch t := btf.UnderlyingType(t).(type) {
	case *btf.Int:
		bits := strconv.Itoa(int(8 * t.Size))
		switch {
		case t.Encoding == btf.Bool:
			return "bool"
		case t.Encoding == btf.Signed || t.Encoding == btf.Char:
			return "int" + bits
		}
		return "uint" + bits
	case *btf.Float:
		return "float" + strconv.Itoa(int(8*t.Size))
	case *btf.Pointer:
		if _, ok := btf.UnderlyingType(t.Target).(*btf.Void); ok {
			return "unsafe.Pointer"
		}
		return "*" + u.spell(t.Target)
	case *btf.Array:
		return fmt.Sprintf("[%d]%s", t.Nelems, u.spell(t.Type))
	case *btf.Struct:
		return u.p.structs.cName(t.Name)
	case *btf.Fwd:
		return u.p.structs.cName(t.Name)
	}
	if name := t.TypeName(); name != "" {
		return name
	}
	return "void"
}
