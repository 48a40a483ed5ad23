package vmlinux

import (
	"fmt"
	"strconv"
	"strings"
)

// declare returns the declaration of name, which may be "", with the type id. What it
// mentions has been written before. C writes a declaration from the name outwards:
// pointers before it, arrays and parameters behind.
func (w *writer) declare(id typeID, name string, indent int) string {
	if !w.enter() {
		return ""
	}
	defer w.leave()
	t := w.b.typ(id)
	switch t.kind() {
	case kindVoid:
		return join("void", name)
	case kindInt:
		return join(intName(w.b.name(t), t), name)
	case kindFloat:
		return join(floatName(t), name)
	case kindPtr:
		switch w.b.typ(w.b.unqualify(t.ref())).kind() {
		case kindArray, kindFuncProto:
			return w.declare(t.ref(), "(*"+name+")", indent)
		}
		return w.declare(t.ref(), "*"+name, indent)
	case kindArray:
		return w.declare(typeID(t.word(0)), name+"["+strconv.FormatUint(uint64(t.word(2)), 10)+"]", indent)
	case kindFuncProto:
		return w.declare(t.ref(), name+"("+w.parameters(t)+")", indent)
	case kindConst:
		return w.qualified("const", t.ref(), name, indent)
	case kindVolatile:
		return w.qualified("volatile", t.ref(), name, indent)
	case kindRestrict:
		return w.qualified("restrict", t.ref(), name, indent)
	case kindTypeTag:
		return w.declare(t.ref(), name, indent)
	case kindTypedef:
		return join(w.cname(id, t), name)
	case kindStruct, kindUnion:
		if t.nameOff == 0 {
			return join(w.aggregate(id, t, indent), name)
		}
		return join(keyword(t)+" "+w.cname(id, t), name)
	case kindFwd:
		return join(keyword(t)+" "+w.cname(id, t), name)
	case kindEnum, kindEnum64:
		switch {
		case t.nameOff != 0:
			return join("enum "+w.cname(id, t), name)
		case w.state[id] == 0:
			text := w.enumeration(id, t, indent)
			w.state[id] = defined
			return join(text, name)
		}
		// Its enumerators are written already, and cannot be twice.
		return join(plainInt(int(t.size), t.kindFlag()), name)
	}
	return join("void", name) // no type that an object can have
}

// join puts a name behind a type. A "*" that the name begins with stays with it.
func join(typ, name string) string {
	if name == "" {
		return typ
	}
	return typ + " " + name
}

// qualified returns a declaration with a qualifier: before the name of a pointer, and
// before the whole of others. Functions have none.
func (w *writer) qualified(word string, id typeID, name string, indent int) string {
	switch w.b.typ(w.b.unqualify(id)).kind() {
	case kindPtr:
		return w.declare(id, strings.TrimSuffix(word+" "+name, " "), indent)
	case kindFuncProto:
		return w.declare(id, name, indent)
	}
	if word == "restrict" {
		return w.declare(id, name, indent)
	}
	// An array of constants may be constant itself.
	return word + " " + strings.TrimPrefix(w.declare(id, name, indent), word+" ")
}

// parameters returns what stands between the parentheses of a function.
func (w *writer) parameters(t rawType) string {
	if t.vlen() == 0 {
		return "void"
	}
	var list []string
	for i := range t.vlen() {
		typ := typeID(t.word(2*i + 1))
		if typ == 0 && i == t.vlen()-1 {
			if i == 0 {
				break // C has no "..." alone
			}
			list = append(list, "...")
			continue
		}
		list = append(list, w.declare(typ, "", 0))
	}
	return strings.Join(list, ", ")
}

// aggregate returns the definition of a structure or union, without the semicolon.
func (w *writer) aggregate(id typeID, t rawType, indent int) string {
	s := w.shape(id)
	tabs := strings.Repeat("\t", indent+1)
	var out strings.Builder
	out.WriteString(keyword(t))
	if name := w.cname(id, t); name != "" {
		out.WriteString(" " + name)
	}
	out.WriteString(" {\n")
	at := 0 // bits that are laid out
	pad := func(to int) {
		if to-at > 8*512 {
			// So much that unnamed bit-fields would be too many.
			fmt.Fprintf(&out, "%sunsigned char __pad_%d[%d];\n", tabs, (at+7)/8, to/8-(at+7)/8)
			at = to &^ 7
		}
		for _, width := range pads(at, to, 8*s.align) {
			fmt.Fprintf(&out, "%s%s : %d;\n", tabs, plainInt(padUnit(width), true), width)
		}
		at = to
	}
	for i, m := range w.b.members(t) {
		if !w.enter() {
			return ""
		}
		if t.kind() == kindStruct {
			if next := w.place(m, at, s.packed); next != m.offset {
				if m.offset < at {
					w.err = fmt.Errorf("write vmlinux.h: %s %q: member %q lies over the one before it", keyword(t), w.b.name(t), m.name)
				}
				pad(m.offset)
			}
		}
		out.WriteString(tabs + w.member(m, i, indent+1) + ";\n")
		if m.bitfield != 0 {
			at = m.offset + m.bitfield
		} else {
			at = m.offset + 8*w.size(m.typ)
		}
		w.leave()
	}
	switch end := 8 * int(t.size); {
	case t.kind() == kindStruct && roundUp(at, 8*s.align) < end:
		pad(end)
	case t.kind() == kindUnion && !w.fills(id, t):
		fmt.Fprintf(&out, "%sunsigned char __pad_%d[%d];\n", tabs, id, t.size)
	}
	out.WriteString(strings.Repeat("\t", indent) + "}")
	if s.packed {
		out.WriteString(" __attribute__((packed))")
	}
	return out.String()
}

// place returns the bit at which C puts a member behind the first "at" bits.
func (w *writer) place(m member, at int, packed bool) int {
	switch {
	case packed && m.bitfield != 0:
		return at
	case packed:
		return roundUp(at, 8)
	case m.bitfield == 0:
		return roundUp(at, 8*w.align(m.typ))
	case w.straddles(m, at):
		return roundUp(at, 8*w.size(m.typ))
	}
	return at
}

// fills reports whether the members of a union give it its size.
func (w *writer) fills(id typeID, t rawType) bool {
	size := 0
	for _, m := range w.b.members(t) {
		if m.bitfield != 0 {
			size = max(size, (m.bitfield+7)/8)
		} else {
			size = max(size, w.size(m.typ))
		}
	}
	return roundUp(size, w.align(id)) >= int(t.size)
}

func roundUp(n, to int) int {
	if to == 0 {
		return n
	}
	return (n + to - 1) / to * to
}

// padUnit is the size of the integer for an unnamed bit-field.
func padUnit(width int) int {
	size := 1
	for 8*size < width {
		size *= 2
	}
	return size
}

// member returns the declaration of member i, without the semicolon.
func (w *writer) member(m member, i, indent int) string {
	name := identifier(m.name)
	var text string
	if m.name == "" || w.isWanted(m.name) {
		text = w.declare(m.typ, name, indent)
	} else {
		text = w.opaque(m.typ, name)
	}
	if m.bitfield != 0 {
		text = fmt.Sprintf("%s : %d", text, m.bitfield)
	}
	return text
}

// opaque returns the declaration of an object that the program does not name, as one
// of the same size and alignment.
func (w *writer) opaque(id typeID, name string) string {
	for range maxDepth {
		t := w.b.typ(id)
		switch t.kind() {
		case kindVolatile, kindConst, kindRestrict, kindTypeTag, kindTypedef:
			id = t.ref()
		case kindPtr:
			return "void *" + name
		case kindArray:
			name += "[" + strconv.FormatUint(uint64(t.word(2)), 10) + "]"
			id = typeID(t.word(0))
			if w.b.typ(w.b.strip(id)).kind() == kindPtr {
				return "void *" + name
			}
		case kindInt:
			return join(intName(w.b.name(t), t), name)
		case kindEnum, kindEnum64:
			return join(plainInt(int(t.size), t.kindFlag()), name)
		case kindFloat:
			return join(floatName(t), name)
		case kindStruct, kindUnion:
			unit := w.align(id)
			return fmt.Sprintf("%s %s[%d]", plainInt(unit, false), name, int(t.size)/unit)
		default:
			return "char " + name + "[0]"
		}
	}
	return "char " + name + "[0]"
}

// enumeration returns the definition of an enumeration, without the semicolon.
func (w *writer) enumeration(id typeID, t rawType, indent int) string {
	tabs := strings.Repeat("\t", indent+1)
	var out strings.Builder
	out.WriteString("enum ")
	if name := w.cname(id, t); name != "" {
		out.WriteString(name + " ")
	}
	out.WriteString("{\n")
	wide := false
	step := words(t.kind(), 1)
	for i := range t.vlen() {
		name := identifier(string(w.b.stringAt(t.word(step * i))))
		for n := 2; w.ordinary[name]; n++ {
			name = fmt.Sprintf("%s___%d", identifier(string(w.b.stringAt(t.word(step*i)))), n)
		}
		w.ordinary[name] = true
		value := uint64(t.word(step*i + 1))
		var text string
		if t.kind() == kindEnum64 {
			value |= uint64(t.word(step*i+2)) << 32
			text = strconv.FormatUint(value, 10) + "ULL"
			if t.kindFlag() {
				text = signed64(int64(value))
				wide = wide || int64(value) != int64(int32(value))
			} else {
				wide = wide || value>>32 != 0
			}
		} else if text = strconv.FormatUint(value, 10); t.kindFlag() {
			text = strconv.Itoa(int(int32(value)))
		}
		fmt.Fprintf(&out, "%s%s = %s,\n", tabs, name, text)
	}
	out.WriteString(strings.Repeat("\t", indent) + "}")
	// An enumeration has the size of an int, or that of its values if they need more.
	switch {
	case t.size == 1:
		out.WriteString(" __attribute__((mode(byte)))")
	case t.size == 2:
		out.WriteString(" __attribute__((mode(HI)))")
	case t.size == 8 && !wide:
		out.WriteString(" __attribute__((mode(word)))")
	}
	return out.String()
}

// signed64 writes a number as a C constant. The least of all has no constant.
func signed64(n int64) string {
	if n == -1<<63 {
		return "(-9223372036854775807LL - 1)"
	}
	return strconv.FormatInt(n, 10) + "LL"
}

// cInts are the integers whose names in BTF are C.
var cInts = map[string]bool{
	"char": true, "signed char": true, "unsigned char": true, "_Bool": true,
	"short": true, "short int": true, "unsigned short": true, "short unsigned int": true,
	"int": true, "unsigned int": true, "long": true, "long int": true, "unsigned long": true, "long unsigned int": true,
	"long long": true, "long long int": true, "unsigned long long": true, "long long unsigned int": true,
}

// intName returns an integer type: with its own name, or, for those that a compiler has
// named for itself, a plain one of the same size.
func intName(name string, t rawType) string {
	if cInts[name] {
		return name
	}
	const signed = 1 << 24
	return plainInt(int(t.size), t.word(0)&signed != 0)
}

// plainInt returns an integer of a size in bytes.
func plainInt(size int, signed bool) string {
	var name string
	switch size {
	case 1:
		if signed {
			return "signed char"
		}
		name = "char"
	case 2:
		name = "short"
	case 8:
		name = "long"
	case 16:
		name = "__int128"
	default:
		name = "int"
	}
	if !signed {
		name = "unsigned " + name
	}
	return name
}

// floatName returns a floating type. The long double of some machines is none on BPF:
// an integer of its size stands for it.
func floatName(t rawType) string {
	switch t.size {
	case 4:
		return "float"
	case 8:
		return "double"
	}
	return plainInt(int(t.size), false)
}
