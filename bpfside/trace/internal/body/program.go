package body

import (
	"fmt"
	"strings"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// preamble is what every function may use. It declares the helpers itself: headers
// would take longer to read than all the rest.
var preamble = fmt.Sprintf(`struct hit { long args[%d]; long pid, tid; long values[%d]; };
static long (*bpf_cpu_id)(void) = (void *)8;
static long (*bpf_uid_gid)(void) = (void *)15;
static long (*bpf_comm)(void *, unsigned int) = (void *)16;
static long (*bpf_read)(void *, unsigned int, const void *) = (void *)112;
static long (*bpf_read_str)(void *, unsigned int, const void *) = (void *)114;
static unsigned long (*ts)(void) = (void *)125;
static __attribute__((always_inline)) unsigned int cpu(void) { return bpf_cpu_id(); }
static __attribute__((always_inline)) unsigned int uid(void) { return bpf_uid_gid(); }
static __attribute__((always_inline)) char comm_at(const unsigned long *comm, unsigned long i)
{
	return i < %d ? ((const char *)comm)[i & %d] : 0;
}
extern unsigned int pid, tid;
extern unsigned long comm[2];
`, MaxArgs, MaxValues, commLen, commLen-1)

// A program is what is printed, with the places of expressions in it.
type program struct {
	strings.Builder
	marks []mark
}

func (b *program) printf(format string, args ...any) { fmt.Fprintf(b, format, args...) }

// mark says that what follows stands for a place of an expression.
func (b *program) mark(expr, off int) { b.marks = append(b.marks, mark{b.Len(), expr, off}) }

// put writes an expression that is printed.
func (b *program) put(e *expression) {
	for _, m := range e.marks {
		b.marks = append(b.marks, mark{b.Len() + m.pos, m.expr, m.off})
	}
	b.WriteString(e.c)
}

// print prints the expressions that are computed. It returns the arguments that they
// look at.
func (u *unit) print() (args uint16) {
	for i, e := range u.exprs {
		if e.computed() {
			u.p.expression(i, e)
			args |= e.args
		}
	}
	return args
}

// expression prints one: number i.
func (p *printer) expression(i int, e *expression) {
	p.expr, p.err, p.used, p.out, p.marks = i, nil, 0, nil, nil
	switch t := p.typeOf(e.tree); {
	case e.index >= 0 && isHeader(t):
		p.write("&") // of what is not to be loaded, but to be found
		p.print(e.tree)
	case e.index >= 0 && isFloatMember(t, e.tree):
		p.write("*(unsigned " + integers[t.Size] + " *)&") // its bits
		p.print(e.tree)
	default:
		p.value(e.tree)
	}
	e.c, e.marks, e.args, e.err = string(p.out), p.marks, p.used, p.err
	e.value.Args = p.used
}

// program prints the whole, which has the function and what it needs.
func (u *unit) program(args uint16) *program {
	b := new(program)
	b.WriteString(preamble)
	b.WriteString(u.p.structs.print(u.p.fields, u.p.roots))
	for i := range u.in.Args {
		if d, ok := u.p.argType(i); ok {
			b.printf("extern %s;\n", d)
		}
	}
	for i, c := range u.p.compare {
		b.WriteString(c.function(i))
	}
	u.types(b)
	b.printf("__attribute__((section(\"kprobe\"))) int %s(struct hit *h)\n{\n", Symbol)
	u.locals(b, args)
	// The name of the builtin in parentheses is not that of the macro, in which
	// the compiler would know no places.
	for i, e := range u.exprs {
		switch {
		case e.index < 0:
			b.printf("\tif (!((__builtin_read_user)(), ")
			b.put(e)
			b.printf(")) return 0;\n")
		case e.computed():
			b.mark(i, e.tree.off)
			b.printf("\th->values[%d] = (long)((__builtin_read_user)(), ", e.index)
			b.put(e)
			b.printf(");\n")
		}
	}
	b.printf("\treturn 1;\n}\n")
	return b
}

// types writes variables that are there for their types alone: those that the compiler
// takes the values for, and the operands that have to be text.
func (u *unit) types(b *program) {
	for i, e := range u.exprs {
		if e.index >= 0 && e.computed() {
			b.printf("__typeof__(")
			b.put(e)
			b.printf(") type%d;\n", i)
		}
	}
	for i, t := range u.p.texts {
		b.printf("__typeof__(")
		b.mark(t.expr, t.off)
		b.printf("%s) operand%d;\n", t.c, i)
	}
}

// locals writes the variables of the function, by the names that the expressions have
// for what they stand for.
func (u *unit) locals(b *program, args uint16) {
	for i := range u.in.Args {
		if args&(1<<i) != 0 {
			d, _ := u.p.argType(i)
			b.printf("\t%s = (__typeof__(a%d))h->args[%d];\n", d, i+1, i)
		}
	}
	if u.p.pid {
		b.printf("\tunsigned int pid = h->pid, tid = h->tid;\n")
	}
	if u.p.comm {
		// Linux 6.1 leaves what is behind the end of the name as it was.
		b.printf("\tunsigned long comm[2] = {0, 0};\n\tbpf_comm(comm, %d);\n", commLen)
	}
}

// isFloatMember tells whether an expression, of type t, is a floating point number in
// memory.
func isFloatMember(t *usdt.Type, n *node) bool {
	return t != nil && t.Kind == usdt.Float && (t.Size == 4 || t.Size == 8) && inProcess(n)
}
