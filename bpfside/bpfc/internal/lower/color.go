package lower

import (
	"cmp"
	"math"
	"slices"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// Registers are allocated by colouring the interference graph with iterated
// coalescing: L. George and A. W. Appel, "Iterated Register Coalescing", TOPLAS
// 18(3), 1996, whose names this file uses. A call clobbers r0-r5, so that what
// lives across one has edges to all of them, and r6-r9 are left.

// maxRounds bounds how often spilling may make the graph anew. Each round
// shortens live ranges, down to single instructions.
const maxRounds = 40

// allocate gives each virtual register of f one of the machine's.
func allocate(f *fn) error {
	sp := newSpiller(f)
	for range maxRounds {
		g := buildGraph(f, sp)
		g.run()
		if len(g.spilled) == 0 {
			g.rewrite()
			return nil
		}
		sp.spill(g)
		for removeDead(f) {
		}
	}
	return ir.Errorf(f.src.Pos, "function %s needs more registers than eBPF has", f.src.Name)
}

// nodeState says in which of the algorithm's sets a node is.
type nodeState uint8

const (
	nUnused      nodeState = iota // no such register in the code
	nPrecolored                   // a register of the machine
	nSimplify                     // of low degree and not part of a move
	nFreeze                       // of low degree and part of a move
	nSpill                        // of high degree
	nStack                        // removed from the graph
	nCoalesced                    // the same as another one
	nColored                      // has a register
	nUncolorable                  // has none
)

type moveState uint8

const (
	mReady moveState = iota // may be tried
	mActive
	mDone // coalesced, constrained or frozen
)

// A copyMove is a copy in the code.
type copyMove struct {
	dst, src int32
	weight   float64
	state    moveState
}

type graph struct {
	f      *fn
	n      int
	matrix bitset // of pairs, see edge
	adj    [][]int32
	degree []int32
	state  []nodeState
	alias  []int32
	color  []int8
	cost   []float64 // of spilling it
	moves  []copyMove
	of     [][]int32 // the moves of a node
	copies []int32   // of moves in the state mReady, to be tried: a stack

	simplify, freeze, spillable []int32
	stack                       []int32
	spilled                     []int32
}

func buildGraph(f *fn, sp *spiller) *graph {
	n := f.nregs
	g := &graph{
		f:      f,
		n:      n,
		matrix: newBitset(n * (n + 1) / 2),
		adj:    make([][]int32, n),
		degree: make([]int32, n),
		state:  make([]nodeState, n),
		alias:  make([]int32, n),
		color:  make([]int8, n),
		cost:   make([]float64, n),
		of:     make([][]int32, n),
	}
	for i := range numAlloc {
		g.state[i] = nPrecolored
		g.degree[i] = math.MaxInt32 / 2
		g.color[i] = int8(i)
	}
	out := liveOut(f)
	var uses []reg
	for _, b := range f.blocks {
		live := out[b.id]
		weight := math.Pow(10, float64(min(b.depth, 6)))
		backward(b, live, func(_ int, i *inst) {
			isCopy := i.isCopy()
			if isCopy {
				// A copy does not keep its two ends apart.
				live.remove(int(i.src))
				m := int32(len(g.moves))
				g.moves = append(g.moves, copyMove{dst: int32(i.dst), src: int32(i.src), weight: weight})
				g.of[i.dst] = append(g.of[i.dst], m)
				g.of[i.src] = append(g.of[i.src], m)
			}
			clobbers(i, func(d reg) {
				live.each(func(l int) { g.addEdge(int32(d), int32(l)) })
				if i.kind == kCall {
					for r := r0; r <= r5; r++ {
						g.addEdge(int32(d), int32(r))
					}
				}
			})
			if isCopy {
				live.add(int(i.src))
			}
			if d := i.def(); d.virtual() {
				g.touch(d)
				g.cost[d] += weight
			}
			uses = i.uses(uses[:0])
			for _, r := range uses {
				g.touch(r)
				g.cost[r] += weight
			}
		})
	}
	for r := firstVirtual; int(r) < n; r++ {
		g.cost[r] = sp.cost(r, g.cost[r])
	}
	return g
}

// touch makes r a node.
func (g *graph) touch(r reg) {
	if g.state[r] == nUnused {
		g.state[r] = nSpill
	}
}

// pair is the place of an edge in the matrix.
func pair(u, v int32) int {
	if u < v {
		u, v = v, u
	}
	return int(u)*(int(u)+1)/2 + int(v)
}

func (g *graph) interferes(u, v int32) bool { return g.matrix.has(pair(u, v)) }

func (g *graph) addEdge(u, v int32) {
	if u == v || g.interferes(u, v) {
		return
	}
	g.matrix.add(pair(u, v))
	if u >= int32(firstVirtual) {
		g.adj[u] = append(g.adj[u], v)
		g.degree[u]++
	}
	if v >= int32(firstVirtual) {
		g.adj[v] = append(g.adj[v], u)
		g.degree[v]++
	}
}

// adjacent calls f with the neighbours of u that are still in the graph.
func (g *graph) adjacent(u int32, f func(v int32) bool) bool {
	for _, v := range g.adj[u] {
		if s := g.state[v]; s != nStack && s != nCoalesced && !f(v) {
			return false
		}
	}
	return true
}

func (g *graph) moveRelated(u int32) bool {
	for _, m := range g.of[u] {
		if g.moves[m].state != mDone {
			return true
		}
	}
	return false
}

func (g *graph) run() {
	for i := range g.moves {
		g.copies = append(g.copies, int32(i))
	}
	// The stack is popped from its end: the heaviest last.
	slices.SortStableFunc(g.copies, func(a, b int32) int { return cmp.Compare(g.moves[a].weight, g.moves[b].weight) })
	for u := int32(firstVirtual); int(u) < g.n; u++ {
		if g.state[u] != nUnused {
			g.sortIn(u)
		}
	}
	for {
		switch {
		case g.popSimplify():
		case g.popCoalesce():
		case g.popFreeze():
		case g.popSpill():
		default:
			g.assign()
			return
		}
	}
}

// sortIn puts u in the set that its degree and its moves ask for.
func (g *graph) sortIn(u int32) {
	switch {
	case g.degree[u] >= numAlloc:
		g.state[u] = nSpill
		g.spillable = append(g.spillable, u)
	case g.moveRelated(u):
		g.state[u] = nFreeze
		g.freeze = append(g.freeze, u)
	default:
		g.state[u] = nSimplify
		g.simplify = append(g.simplify, u)
	}
}

// pop removes and returns the last of list that is in the state.
func (g *graph) pop(list *[]int32, state nodeState) (int32, bool) {
	for len(*list) > 0 {
		u := (*list)[len(*list)-1]
		*list = (*list)[:len(*list)-1]
		if g.state[u] == state {
			return u, true
		}
	}
	return 0, false
}

func (g *graph) popSimplify() bool {
	u, ok := g.pop(&g.simplify, nSimplify)
	if ok {
		g.remove(u)
	}
	return ok
}

// remove takes u out of the graph, to be coloured after what is left.
func (g *graph) remove(u int32) {
	g.state[u] = nStack
	g.stack = append(g.stack, u)
	g.adjacent(u, func(v int32) bool { g.decrement(v); return true })
}

func (g *graph) decrement(v int32) {
	if g.state[v] == nPrecolored {
		return
	}
	g.degree[v]--
	if g.degree[v] == numAlloc-1 && g.state[v] == nSpill {
		g.enable(v)
		g.adjacent(v, func(w int32) bool { g.enable(w); return true })
		g.sortIn(v)
	}
}

// enable has the moves of u tried again.
func (g *graph) enable(u int32) {
	for _, m := range g.of[u] {
		if g.moves[m].state == mActive {
			g.moves[m].state = mReady
			g.copies = append(g.copies, m)
		}
	}
}

// find returns what u has been coalesced with, and shortens the way there.
func (g *graph) find(u int32) int32 {
	for g.state[u] == nCoalesced {
		if a := g.alias[u]; g.state[a] == nCoalesced {
			g.alias[u] = g.alias[a]
		}
		u = g.alias[u]
	}
	return u
}

func (g *graph) popCoalesce() bool {
	for len(g.copies) > 0 {
		m := &g.moves[g.copies[len(g.copies)-1]]
		g.copies = g.copies[:len(g.copies)-1]
		if m.state != mReady {
			continue
		}
		u, v := g.find(m.dst), g.find(m.src)
		if g.state[v] == nPrecolored {
			u, v = v, u
		}
		switch {
		case u == v:
			m.state = mDone
			g.relax(u)
		case g.state[v] == nPrecolored || g.interferes(u, v):
			m.state = mDone
			g.relax(u)
			g.relax(v)
		case g.conservative(u, v):
			m.state = mDone
			g.combine(u, v)
			g.relax(u)
		default:
			m.state = mActive
		}
		return true
	}
	return false
}

// relax lets u be simplified if no move asks for it any more.
func (g *graph) relax(u int32) {
	if g.state[u] == nFreeze && !g.moveRelated(u) && g.degree[u] < numAlloc {
		g.state[u] = nSimplify
		g.simplify = append(g.simplify, u)
	}
}

// conservative tells whether u and v can be one without making a graph that can
// be coloured one that cannot: by the test of George, or that of Briggs.
func (g *graph) conservative(u, v int32) bool {
	george := func(u, v int32) bool {
		return g.adjacent(v, func(t int32) bool {
			return g.state[t] == nPrecolored || g.degree[t] < numAlloc || g.interferes(t, u)
		})
	}
	if george(u, v) {
		return true
	}
	if g.state[u] == nPrecolored {
		return false
	}
	if george(v, u) {
		return true
	}
	high := 0
	count := func(t int32) bool {
		if g.state[t] == nPrecolored || g.degree[t] >= numAlloc {
			high++
		}
		return high < numAlloc
	}
	return g.adjacent(u, count) && g.adjacent(v, func(t int32) bool {
		if g.interferes(t, u) {
			// Counted already, and of a degree that falls by one.
			if g.state[t] != nPrecolored && g.degree[t] == numAlloc {
				high--
			}
			return true
		}
		return count(t)
	})
}

// combine makes v the same as u.
func (g *graph) combine(u, v int32) {
	g.state[v] = nCoalesced
	g.alias[v] = u
	g.of[u] = append(g.of[u], g.of[v]...)
	g.enable(v)
	g.cost[u] += g.cost[v]
	g.adjacent(v, func(t int32) bool {
		g.addEdge(t, u)
		g.decrement(t)
		return true
	})
	if g.degree[u] >= numAlloc && g.state[u] == nFreeze {
		g.state[u] = nSpill
		g.spillable = append(g.spillable, u)
	}
}

func (g *graph) popFreeze() bool {
	u, ok := g.pop(&g.freeze, nFreeze)
	if ok {
		g.state[u] = nSimplify
		g.simplify = append(g.simplify, u)
		g.freezeMoves(u)
	}
	return ok
}

// freezeMoves gives up on the moves of u.
func (g *graph) freezeMoves(u int32) {
	for _, i := range g.of[u] {
		m := &g.moves[i]
		if m.state == mDone {
			continue
		}
		m.state = mDone
		other := g.find(m.dst)
		if other == g.find(u) {
			other = g.find(m.src)
		}
		g.relax(other)
	}
}

// popSpill removes the node that is cheapest to spill for the edges that it has.
// It may get a register all the same.
func (g *graph) popSpill() bool {
	best, at := math.Inf(1), -1
	kept := g.spillable[:0]
	for _, u := range g.spillable {
		if g.state[u] != nSpill {
			continue
		}
		kept = append(kept, u)
		if c := g.cost[u] / float64(g.degree[u]); c < best || at < 0 {
			best, at = c, len(kept)-1
		}
	}
	g.spillable = kept
	if at < 0 {
		return false
	}
	u := kept[at]
	g.spillable = slices.Delete(kept, at, at+1)
	g.state[u] = nSimplify
	g.simplify = append(g.simplify, u)
	g.freezeMoves(u)
	return true
}

// colorOrder prefers what calls clobber, to leave r6-r9 to those that need them.
var colorOrder = [numAlloc]int8{1, 2, 3, 4, 5, 0, 6, 7, 8, 9}

// assign gives registers to the nodes of the stack.
func (g *graph) assign() {
	for len(g.stack) > 0 {
		u := g.stack[len(g.stack)-1]
		g.stack = g.stack[:len(g.stack)-1]
		var taken [numAlloc]bool
		for _, v := range g.adj[u] {
			v = g.find(v)
			if g.state[v] == nColored || g.state[v] == nPrecolored {
				taken[g.color[v]] = true
			}
		}
		best, weight := int8(-1), -1.0
		var wish [numAlloc]float64
		for _, i := range g.of[u] {
			m := &g.moves[i]
			other := g.find(m.dst)
			if other == u {
				other = g.find(m.src)
			}
			if g.state[other] == nColored || g.state[other] == nPrecolored {
				wish[g.color[other]] += m.weight
			}
		}
		for _, c := range colorOrder {
			if !taken[c] && wish[c] > weight {
				best, weight = c, wish[c]
			}
		}
		if best < 0 {
			g.state[u] = nUncolorable
			g.spilled = append(g.spilled, u)
			continue
		}
		g.state[u], g.color[u] = nColored, best
	}
}

// rewrite puts the machine's registers into the code.
func (g *graph) rewrite() {
	name := func(r reg) reg {
		if !r.virtual() {
			return r
		}
		return reg(g.color[g.find(int32(r))])
	}
	for _, b := range g.f.blocks {
		for k := range b.insts {
			i := &b.insts[k]
			i.dst, i.src = name(i.dst), name(i.src)
			if i.isCopy() && i.dst == i.src {
				*i = inst{}
			}
		}
		b.insts = slices.DeleteFunc(b.insts, func(i inst) bool { return i.kind == kNop })
	}
}
