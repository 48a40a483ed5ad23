package difftest

import (
	"slices"
	"strings"
)

// Reduce makes p smaller, as long as holds says of the smaller program that it
// still has what is looked for. It asks at most tries times, and returns the
// smallest program found.
func Reduce(p *Program, tries int, holds func(*Program) bool) *Program {
	r := &reducer{best: p, tries: tries, holds: holds}
	for {
		size := r.best.Root.Size()
		r.dropFromLists()
		r.dropUnused()
		r.hoist()
		r.shrinkExprs()
		if r.tries <= 0 || r.best.Root.Size() >= size {
			return r.best
		}
	}
}

type reducer struct {
	best  *Program
	tries int
	holds func(*Program) bool
}

// try changes a copy of the best program, and keeps it if the property holds.
// change gets the nodes of the copy in order, the n-th of which is the one to
// change, and reports whether there was anything to do.
func (r *reducer) try(n int, change func(*Node) bool) bool {
	if r.tries <= 0 {
		return false
	}
	p := *r.best
	p.Root = r.best.Root.Clone()
	nodes := p.nodes()
	if n >= len(nodes) || !change(nodes[n]) {
		return false
	}
	r.tries--
	if !r.holds(&p) {
		return false
	}
	r.best = &p
	return true
}

// nodes returns the nodes of the tree, parents first.
func (p *Program) nodes() []*Node {
	var all []*Node
	p.Root.walk(func(n *Node) { all = append(all, n) })
	return all
}

// dropFromLists removes what stands in lists, large parts first.
func (r *reducer) dropFromLists() {
	for n := 0; n < len(r.best.nodes()); n++ {
		list := r.best.nodes()[n]
		if list.Kind != List {
			continue
		}
		for chunk := len(list.Kids); chunk > 0; chunk /= 2 {
			// From the end: later functions use the earlier ones.
			for at := len(r.best.nodes()[n].Kids) - chunk; at >= 0; at -= chunk {
				r.try(n, func(l *Node) bool {
					if at+chunk > len(l.Kids) || !slices.ContainsFunc(l.Kids[at:at+chunk], removable) {
						return false
					}
					kept := slices.DeleteFunc(slices.Clone(l.Kids[at:at+chunk]), removable)
					l.Kids = slices.Concat(l.Kids[:at], kept, l.Kids[at+chunk:])
					return true
				})
			}
		}
	}
}

func removable(n *Node) bool { return n.Kind == Stmt }

// dropUnused removes declarations that nothing names, until there are none.
func (r *reducer) dropUnused() {
	for n := len(r.best.nodes()) - 1; n >= 0; n-- {
		nodes := r.best.nodes()
		if n >= len(nodes) || nodes[n].Kind != List {
			continue
		}
		for i := len(nodes[n].Kids) - 1; i >= 0; i-- {
			d := r.best.nodes()[n].Kids[i]
			if d.Kind != Named || mentions(r.best.Root.String(), d.Name) > mentions(d.String(), d.Name) {
				continue
			}
			r.try(n, func(l *Node) bool {
				l.Kids = slices.Delete(l.Kids, i, i+1)
				return true
			})
		}
	}
}

// mentions counts where name stands in text as a whole word.
func mentions(text, name string) int {
	count := 0
	for {
		i := strings.Index(text, name)
		if i < 0 {
			return count
		}
		text = text[i+len(name):]
		if text == "" || !wordByte(text[0]) {
			count++
		}
	}
}

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// hoist puts the lists of a statement in its place: the body of a loop, a branch.
func (r *reducer) hoist() {
	for n := 0; n < len(r.best.nodes()); n++ {
		s := r.best.nodes()[n]
		if s.Kind != Stmt {
			continue
		}
		for i, k := range s.Kids {
			if k.Kind == List && r.try(n, func(s *Node) bool { *s = *s.Kids[i]; return true }) {
				break
			}
		}
	}
}

// shrinkExprs puts numbers, or what an expression is made of, in its place.
func (r *reducer) shrinkExprs() {
	for n := 0; n < len(r.best.nodes()); n++ {
		for r.shrinkExpr(n) {
		}
	}
}

// shrinkExpr makes one expression smaller, and reports whether it did.
func (r *reducer) shrinkExpr(n int) bool {
	nodes := r.best.nodes()
	if n >= len(nodes) || nodes[n].Kind != Expr {
		return false
	}
	e := nodes[n]
	if len(e.Kids) == 0 && len(e.Text) <= 2 {
		return false // a number that is as small as any
	}
	for _, number := range []string{"0", "1"} {
		if r.try(n, func(e *Node) bool { *e = *expr(number); return true }) {
			return true
		}
	}
	var below []*Node
	for _, k := range e.Kids {
		k.walk(func(d *Node) {
			if d.Kind == Expr {
				below = append(below, d)
			}
		})
	}
	for _, d := range below {
		if r.try(n, func(e *Node) bool { *e = *d.Clone(); return true }) {
			return true
		}
	}
	return false
}
