package front

import (
	"reflect"

	"github.com/cilium/ebpf/btf"
)

// maxTypeDepth is how deep types are compared, as by libbpf.
const maxTypeDepth = 32

// sameKind says whether two types are of one kind: btf_kind_core_compat of
// libbpf. cilium has one Go type for both widths of enumerations.
func sameKind(a, b btf.Type) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b)
}

// coreTypesCompatible is bpf_core_types_are_compat of libbpf: of types with the
// same name, structs, unions and enumerations are, whatever is in them; pointers,
// arrays and functions are if what they are made of is.
func coreTypesCompatible(local, kernel btf.Type, depth int) bool {
	local, kernel = btf.UnderlyingType(local), btf.UnderlyingType(kernel)
	if depth > maxTypeDepth || !sameKind(local, kernel) {
		return false
	}
	switch l := local.(type) {
	case *btf.Pointer:
		return coreTypesCompatible(l.Target, kernel.(*btf.Pointer).Target, depth+1)
	case *btf.Array:
		return coreTypesCompatible(l.Type, kernel.(*btf.Array).Type, depth+1)
	case *btf.FuncProto:
		k := kernel.(*btf.FuncProto)
		if len(l.Params) != len(k.Params) {
			return false
		}
		for i := range l.Params {
			if !coreTypesCompatible(l.Params[i].Type, k.Params[i].Type, depth+1) {
				return false
			}
		}
		return coreTypesCompatible(l.Return, k.Return, depth+1)
	}
	return true
}

// coreMatches is bpf_core_types_match of libbpf: whether all that the program
// says of a type is so in the kernel's. Behind a pointer, structs and unions
// match by their names alone.
func coreMatches(local, kernel btf.Type, behindPointer bool, depth int) bool {
	if depth > maxTypeDepth {
		return false
	}
	local, kernel = btf.UnderlyingType(local), btf.UnderlyingType(kernel)
	if essential(local.TypeName()) != essential(kernel.TypeName()) {
		return false
	}
	if f, ok := local.(*btf.Fwd); ok {
		return behindPointer && forwardMatches(f, kernel)
	}
	if f, ok := kernel.(*btf.Fwd); ok {
		return behindPointer && forwardMatches(f, local)
	}
	if !sameKind(local, kernel) {
		return false
	}
	switch l := local.(type) {
	case *btf.Int:
		k := kernel.(*btf.Int)
		return l.Size == k.Size && (l.Encoding == btf.Signed) == (k.Encoding == btf.Signed)
	case *btf.Enum:
		return enumMatches(l, kernel.(*btf.Enum))
	case *btf.Pointer:
		return coreMatches(l.Target, kernel.(*btf.Pointer).Target, true, depth+1)
	case *btf.Array:
		k := kernel.(*btf.Array)
		return l.Nelems == k.Nelems && coreMatches(l.Type, k.Type, behindPointer, depth+1)
	case *btf.Struct:
		return behindPointer || membersMatch(l.Members, kernel.(*btf.Struct).Members, depth)
	case *btf.Union:
		return behindPointer || membersMatch(l.Members, kernel.(*btf.Union).Members, depth)
	case *btf.FuncProto:
		k := kernel.(*btf.FuncProto)
		if len(l.Params) != len(k.Params) || !coreMatches(l.Return, k.Return, behindPointer, depth+1) {
			return false
		}
		for i := range l.Params {
			if !coreMatches(l.Params[i].Type, k.Params[i].Type, behindPointer, depth+1) {
				return false
			}
		}
	}
	return true
}

func forwardMatches(f *btf.Fwd, t btf.Type) bool {
	switch t := t.(type) {
	case *btf.Fwd:
		return t.Kind == f.Kind
	case *btf.Struct:
		return f.Kind == btf.FwdStruct
	case *btf.Union:
		return f.Kind == btf.FwdUnion
	}
	return false
}

// enumMatches says whether the kernel has each value by its name.
func enumMatches(local, kernel *btf.Enum) bool {
	for _, l := range local.Values {
		found := false
		for _, k := range kernel.Values {
			found = found || essential(l.Name) == essential(k.Name)
		}
		if !found {
			return false
		}
	}
	return true
}

// membersMatch says whether the kernel has each member by its name and type.
func membersMatch(local, kernel []btf.Member, depth int) bool {
	for _, l := range local {
		found := false
		for _, k := range kernel {
			if l.Name == k.Name && coreMatches(l.Type, k.Type, false, depth+1) {
				found = true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}
