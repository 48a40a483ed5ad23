package vmlinux

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Bounds for BTF that is no kernel's. The whole of a kernel has 3 MB of text.
const (
	maxText  = 32 << 20
	maxSteps = 2_000_000
)

var errTooMuch = errors.New("write vmlinux.h: the types are nested without end, or too many")

// always are the identifiers that the headers of bpfside/include take from vmlinux.h.
var always = []string{
	"__u8", "__u16", "__u32", "__u64", "__s8", "__s16", "__s32", "__s64", "__be16", "__be32", "__be64", "__wsum",
	"bpf_map_type", "pt_regs", "user_pt_regs", "user_regs_struct", "psw",
}

// Generate returns the text of vmlinux.h for a program in which the identifiers
// occur. raw is the BTF of the kernel, what /sys/kernel/btf/vmlinux has. The text
// depends on nothing but these two.
func Generate(raw []byte, names map[string]bool) (string, error) {
	b, err := parse(raw)
	if err != nil {
		return "", err
	}
	w := &writer{
		b:        b,
		wanted:   names,
		state:    make(map[typeID]state),
		shapes:   make(map[typeID]shape),
		forwards: make(map[string]bool),
		ordinary: make(map[string]bool),
	}
	roots, kfuncs := w.index()
	w.text.WriteString("#ifndef __VMLINUX_H__\n#define __VMLINUX_H__\n\n" +
		"#ifndef BPF_NO_PRESERVE_ACCESS_INDEX\n" +
		"#pragma clang attribute push (__attribute__((preserve_access_index)), apply_to = record)\n" +
		"#endif\n\n")
	for len(roots) > 0 {
		w.queue = nil
		for _, id := range roots {
			w.define(id)
		}
		roots = w.queue
	}
	for _, id := range kfuncs {
		w.function(id)
	}
	w.text.WriteString("#ifndef BPF_NO_PRESERVE_ACCESS_INDEX\n#pragma clang attribute pop\n#endif\n\n" +
		"#endif /* __VMLINUX_H__ */\n")
	if w.err != nil {
		return "", w.err
	}
	return w.text.String(), nil
}

// state says how far the definition of a type has come.
type state uint8

const (
	_ state = iota
	started
	defined
)

type writer struct {
	b      *blob
	wanted map[string]bool
	text   bytes.Buffer
	state  map[typeID]state
	shapes map[typeID]shape
	// ranks has the place of each type among those of its name, if it is not the
	// first: kernels have several of some names, each private to a file.
	ranks    map[typeID]int
	forwards map[string]bool // tags that are declared
	ordinary map[string]bool // typedefs and enumerators that are defined
	queue    []typeID        // to be defined later: what named members point to
	depth    int
	steps    int
	err      error
}

// enter bounds the work and how deep it goes: false if it shall end.
func (w *writer) enter() bool {
	w.depth++
	w.steps++
	if w.depth > maxDepth || w.steps > maxSteps || w.text.Len() > maxText {
		w.err = errTooMuch
	}
	if w.err != nil {
		w.depth--
		return false
	}
	return true
}

func (w *writer) leave() { w.depth-- }

// isWanted reports whether the program has an identifier of this name.
func (w *writer) isWanted(name string) bool { return w.wanted[name] }

// index goes through all types once. It returns those that the identifiers name, and
// the functions for programs (kfuncs), each in the order of their numbers, and notes
// which names there are more than once.
func (w *writer) index() (roots, kfuncs []typeID) {
	// Most names are not wanted. A bit for each pair of first bytes tells so without
	// a look into the map.
	wanted := make(map[string]bool, len(w.wanted)+len(always))
	var hints [1 << 16 / 64]uint64
	note := func(name string) {
		if len(name) > 0 && !wanted[name] {
			wanted[name] = true
			h := hint(append([]byte(name), 0))
			hints[h/64] |= 1 << (h % 64)
		}
	}
	for name, ok := range w.wanted {
		if ok {
			note(name)
		}
	}
	for _, name := range always {
		note(name)
	}
	w.wanted = wanted
	isWanted := func(off uint32) bool {
		if off == 0 || uint64(off) >= uint64(len(w.b.strings)) {
			return false
		}
		s := w.b.strings[off:]
		h := hint(s)
		return hints[h/64]&(1<<(h%64)) != 0 && wanted[string(s[:bytes.IndexByte(s, 0)])]
	}

	w.ranks = make(map[typeID]int)
	tags, typedefs := newNames(len(w.b.strings)), newNames(len(w.b.strings))
	for id := typeID(1); uint64(id) < uint64(len(w.b.offsets)); id++ {
		var t rawType
		names := tags
		switch w.b.kind(id) {
		case kindTypedef:
			t, names = w.b.typ(id), typedefs
		case kindStruct, kindUnion:
			t = w.b.typ(id)
		case kindEnum, kindEnum64:
			t = w.b.typ(id)
			step := words(t.kind(), 1)
			for i := range t.vlen() {
				if isWanted(t.word(step * i)) {
					roots = append(roots, id)
					break
				}
			}
		case kindDeclTag:
			// pahole marks them so since 1.26 (Linux 6.10).
			t = w.b.typ(id)
			if f := w.b.typ(t.ref()); f.kind() == kindFunc && isWanted(f.nameOff) && w.b.name(t) == "bpf_kfunc" {
				kfuncs = append(kfuncs, t.ref())
			}
			continue
		default:
			continue
		}
		if t.nameOff == 0 {
			continue
		}
		if rank := names.add(t.nameOff); rank > 1 {
			w.ranks[id] = rank
		}
		if isWanted(t.nameOff) && (len(roots) == 0 || roots[len(roots)-1] != id) {
			roots = append(roots, id)
		}
	}
	slices.Sort(kfuncs)
	return roots, slices.Compact(kfuncs)
}

// hint is of the first two bytes of a terminated string.
func hint(s []byte) uint {
	if s[0] == 0 {
		return 0
	}
	return uint(s[0]) | uint(s[1])<<8
}

// names counts strings by their offsets: a bit for one that was seen, and a number
// for the few that are seen again.
type names struct {
	seen  []uint64
	again map[uint32]int
}

func newNames(size int) *names {
	return &names{seen: make([]uint64, size/64+1), again: make(map[uint32]int)}
}

// add returns how often off was added, this time included.
func (n *names) add(off uint32) int {
	if uint64(off) >= uint64(len(n.seen))*64 {
		return 1
	}
	if bit := uint64(1) << (off % 64); n.seen[off/64]&bit == 0 {
		n.seen[off/64] |= bit
		return 1
	}
	n.again[off]++
	return n.again[off] + 1
}

// cname returns the name that a type has in C, "" if it has none: that of the kernel,
// with a number behind the first of its name as bpftool has it.
func (w *writer) cname(id typeID, t rawType) string {
	if t.nameOff == 0 {
		return ""
	}
	name := identifier(w.b.name(t))
	if rank := w.ranks[id]; rank > 1 {
		name += "___" + strconv.Itoa(rank)
	}
	return name
}

// identifier makes a C identifier of a name: names of other languages have more
// characters.
func identifier(name string) string {
	bad := func(i int, c byte) bool {
		return !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9')
	}
	for i := range len(name) {
		if !bad(i, name[i]) {
			continue
		}
		out := []byte(name)
		for j := range out {
			if bad(j, out[j]) {
				out[j] = '_'
			}
		}
		return string(out)
	}
	return name
}

// keyword returns "struct", "union" or "enum".
func keyword(t rawType) string {
	switch t.kind() {
	case kindUnion:
		return "union"
	case kindEnum, kindEnum64:
		return "enum"
	case kindFwd:
		if t.kindFlag() {
			return "union"
		}
	}
	return "struct"
}

// define writes the definition of a structure, a union, an enumeration or a typedef,
// and before it those of what it is made of.
func (w *writer) define(id typeID) {
	if w.state[id] != 0 || !w.enter() {
		return
	}
	defer w.leave()
	t := w.b.typ(id)
	switch t.kind() {
	case kindTypedef:
		w.state[id] = started
		// The tag suffices. What it is the tag of may name the typedef.
		w.mention(t.ref(), false)
		w.later(t.ref())
		name := w.cname(id, t)
		if name == "__builtin_va_list" || w.ordinary[name] {
			break // the compiler's own; or an enumerator has the name
		}
		w.ordinary[name] = true
		fmt.Fprintf(&w.text, "typedef %s;\n\n", w.declare(t.ref(), name, 0))
	case kindStruct, kindUnion:
		w.state[id] = started
		w.mentionMembers(t)
		fmt.Fprintf(&w.text, "%s;\n\n", w.aggregate(id, t, 0))
	case kindEnum, kindEnum64:
		fmt.Fprintf(&w.text, "%s;\n\n", w.enumeration(id, t, 0))
	default:
		return
	}
	w.state[id] = defined
}

// function declares a function of the kernel: weak, as it may not be there where the
// program runs.
func (w *writer) function(id typeID) {
	t := w.b.typ(id)
	name := identifier(w.b.name(t))
	if w.ordinary[name] {
		return
	}
	w.ordinary[name] = true
	w.mention(t.ref(), false)
	fmt.Fprintf(&w.text, "extern %s __attribute__((weak)) __attribute__((section(\".ksyms\")));\n\n", w.declare(t.ref(), name, 0))
}

// mention writes what has to stand before a declaration with the type id. Held is
// whether the declared object holds the type itself: a structure has to be defined
// then, and else its tag declared.
func (w *writer) mention(id typeID, held bool) {
	if !w.enter() {
		return
	}
	defer w.leave()
	t := w.b.typ(id)
	switch t.kind() {
	case kindVolatile, kindConst, kindRestrict, kindTypeTag:
		w.mention(t.ref(), held)
	case kindArray:
		w.mention(typeID(t.word(0)), true)
	case kindPtr:
		w.mention(t.ref(), false)
	case kindTypedef:
		w.define(id)
		if held {
			w.mention(t.ref(), true)
		}
	case kindEnum, kindEnum64:
		if t.nameOff != 0 {
			w.define(id)
		}
	case kindStruct, kindUnion:
		switch {
		case t.nameOff == 0:
			if w.state[id] == 0 {
				w.state[id] = defined // where it is declared, whole
				w.mentionMembers(t)
			}
		case held:
			w.define(id)
		default:
			w.forward(t, w.cname(id, t))
		}
	case kindFwd:
		w.forward(t, w.cname(id, t))
	case kindFuncProto:
		w.mention(t.ref(), false)
		for i := range t.vlen() {
			w.mention(typeID(t.word(2*i+1)), false)
		}
	}
}

// forward declares a tag, for a name in a parameter list would else be of that list
// alone.
func (w *writer) forward(t rawType, name string) {
	if name != "" && !w.forwards[name] {
		w.forwards[name] = true
		fmt.Fprintf(&w.text, "%s %s;\n\n", keyword(t), name)
	}
}

// mentionMembers mentions the types of those members that are written with them.
func (w *writer) mentionMembers(t rawType) {
	for _, m := range w.b.members(t) {
		if m.name != "" && !w.isWanted(m.name) {
			continue
		}
		w.mention(m.typ, true)
		w.later(m.typ)
	}
}

// later queues the structure that a type leads to through pointers and arrays.
func (w *writer) later(id typeID) {
	for range maxDepth {
		t := w.b.typ(id)
		switch t.kind() {
		case kindVolatile, kindConst, kindRestrict, kindTypeTag, kindTypedef, kindPtr:
			id = t.ref()
		case kindArray:
			id = typeID(t.word(0))
		case kindStruct, kindUnion:
			if t.nameOff != 0 && w.state[id] == 0 && !slices.Contains(w.queue, id) {
				w.queue = append(w.queue, id)
			}
			return
		default:
			return
		}
	}
}
