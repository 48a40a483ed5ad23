package difftest

import "fmt"

// mapStatement looks up, updates or deletes an entry of a map.
func (f *fn) mapStatement() *Node {
	if len(f.maps) == 0 || f.pure || f.work > 16 {
		return nil
	}
	m := choose(f.gen, f.maps...)
	key := f.name("k")
	// One key more than there are entries.
	declKey := fmt.Sprintf("%s = (u32)$0 %% %d;", m.key.decl(key), m.entries+1)
	if m.hash {
		declKey = fmt.Sprintf("%s = (u32)$0 & 7;", m.key.decl(key))
	}
	k := f.expr(2)
	switch f.r.IntN(6) {
	case 0, 1, 2:
		v := variable{name: f.name("v"), typ: m.value, deref: true}
		visible := len(f.vars)
		f.vars = append(f.vars, v)
		place, _ := f.place(v, 1)
		body := list(stmt("$0 += $1;", place, f.expr(2)))
		body.Kids = append(body.Kids, f.block().Kids...)
		f.vars = f.vars[:visible]
		decl := "typeof(*" + m.name + ".value) *" + v.name
		if m.value.kind != cArray {
			decl = m.value.name + " *" + v.name
		}
		text := "{\n" + declKey + "\n" + decl + " = bpf_map_lookup_elem(&" + m.name + ", &" + key + ");\n"
		if f.oneIn(2) {
			return stmt(text+"if ("+v.name+") {\n$1\n}\n}", k, body)
		}
		miss := f.name("miss")
		return stmt(text+"if (!"+v.name+")\ngoto "+miss+";\n$1\n"+miss+":;\n}", k, body)
	case 3, 4:
		if m.perCPU {
			return nil
		}
		value := f.name("v")
		assign := ""
		if to := f.localInt(); to != "" {
			assign = to + " = "
		}
		flags := choose(f.gen, 0, 0, 1, 2) // BPF_ANY, BPF_NOEXIST, BPF_EXIST
		return stmt(fmt.Sprintf("{\n%s\n%s = $1;\n%sbpf_map_update_elem(&%s, &%s, &%s, %d);\n}", declKey, m.value.decl(value), assign, m.name, key, value, flags),
			k, f.init(m.value, 2))
	}
	if to := f.localInt(); m.hash && to != "" {
		return stmt(fmt.Sprintf("{\n%s\n%s = bpf_map_delete_elem(&%s, &%s);\n}", declKey, to, m.name, key), k)
	}
	return nil
}

// callback has a helper of the kernel call a function.
func (f *fn) callback() *Node {
	if f.NoCalls || f.pure || f.loops > 0 {
		return nil
	}
	t := choose(f.gen, f.structs...)
	c := variable{name: f.name("c"), typ: t, deref: true}
	cb := &fn{gen: f.gen, result: u32, budget: 1 + f.r.IntN(4), loops: 1, work: 8}
	cb.vars = append(cb.vars, f.gen.vars...)
	name, state := f.name("cb"), f.name("b")
	var params, call string
	var arg *Node
	if m := f.arrayMap(); m != nil && f.oneIn(3) {
		v := variable{name: f.name("v"), typ: m.value, deref: true}
		params = "void *map, u32 *key, typeof(*" + m.name + ".value) *" + v.name + ", void *arg"
		call = "bpf_for_each_map_elem(&" + m.name + ", " + name + ", &" + state + ", 0);"
		cb.vars = append(cb.vars, c, v, variable{name: "key", typ: u32, deref: true, readOnly: true})
		arg = fixedf("")
	} else {
		i := variable{name: f.name("i"), typ: u32, readOnly: true, local: true}
		params = "u32 " + i.name + ", void *arg"
		call = "bpf_loop($1 & 7, " + name + ", &" + state + ", 0);"
		cb.vars = append(cb.vars, c, i)
		arg = f.expr(1)
	}
	body := cb.body()
	stop := cb.expr(2)
	f.funcs = append(f.funcs, named(name, "static long "+name+"("+params+")\n{\n"+t.name+" *"+c.name+" = arg;\n$0\nreturn ($1 & 15) == 15;\n}", body, stop))
	place, _ := f.anyPlace(true, 0)
	read, _ := f.walk(node(state), t, true, 0)
	return stmt("{\n"+t.decl(state)+" = $0;\n"+call+"\n$2\n}", f.init(t, 2), arg, stmt("$0 ^= $1;", place, read))
}

// arrayMap returns an array, whose elements have an order, or nil.
func (f *fn) arrayMap() *bpfMap {
	for i := range f.maps {
		if m := &f.maps[i]; !m.hash && !m.perCPU {
			return m
		}
	}
	return nil
}
