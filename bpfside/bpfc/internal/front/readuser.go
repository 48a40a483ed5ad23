package front

import (
	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// __builtin_read_user(e) is e, where memory that is reached through the value of a
// pointer, by ->, * or [], is that of the traced process: each load of it is a call
// of bpf_probe_read_user. What has a name in the program, and the members and
// elements of it, is loaded as ever. It is an extension of this compiler, made for
// expressions that somebody else wrote: what e would be for the process itself.
//
// What cannot be read is zero, as the helper leaves it.

// helperProbeReadUser is the number of bpf_probe_read_user in the kernel's enum
// bpf_func_id.
const helperProbeReadUser = 112

// fetchUser returns a temporary object with the size bytes at p.
func (g *body) fetchUser(p place, size int) place {
	v := g.alloca(size, min(8, size&-size), "")
	g.life(v)
	from := g.pointerTo(p)
	call := g.value(ir.OpHelper, ir.I64, v, g.number(ir.I64, int64(size)), from)
	call.Imm = helperProbeReadUser
	return place{base: v, t: p.t, align: v.Align}
}

// notUser refuses a use of an object other than to load it, if it is one of the
// traced process. It reports whether it has.
func (g *body) notUser(at cc.Node, p place) bool {
	if p.user {
		g.errorf(at, "memory of the traced process can only be read, by ->, * and []")
	}
	return p.user
}
