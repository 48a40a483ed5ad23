package body

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/bpfside/bpfc"
	"github.com/nopfire/nopfire/bpfside/usdt"
)

// Compile compiles expressions. What is wrong with one of them is an *Error; of
// several there is one for each, joined. Other errors are of ctx, or of this
// package.
//
// It takes a few milliseconds, unless there is no condition and each value is an
// argument or the name of the thread alone: then nothing is compiled.
func Compile(ctx context.Context, in *Input) (*Function, error) {
	if len(in.Args) > MaxArgs {
		return nil, fmt.Errorf("compile expressions: %d arguments are more than %d", len(in.Args), MaxArgs)
	}
	if len(in.Values) > MaxValues {
		return nil, fmt.Errorf("compile expressions: %d values are more than %d", len(in.Values), MaxValues)
	}
	u := &unit{in: in, p: newPrinter(in)}
	u.parse()
	if u.err() != nil {
		return nil, u.err()
	}
	if in.Where == "" && !slices.ContainsFunc(u.exprs, func(e *expression) bool { return e.computed() }) {
		return u.function(asm.Instructions{asm.Mov.Imm(asm.R0, 1).WithSymbol(Symbol), asm.Return()}, nil)
	}
	src := u.write()
	if u.err() != nil {
		return nil, u.err()
	}
	spec, err := bpfc.Compile(ctx, source(src), file, nil)
	if err != nil {
		u.diagnose(err)
		if u.err() != nil {
			return nil, u.err()
		}
		return nil, fmt.Errorf("compile expressions: %w", err)
	}
	insns, err := instructions(spec)
	if err != nil {
		return nil, fmt.Errorf("compile expressions: %w", err)
	}
	return u.function(insns, spec)
}

// file is the name of what is printed, for bpfc.
const file = "expression.bpf.c"

// A unit is the compilation of one Input.
type unit struct {
	in    *Input
	p     *printer
	exprs []*expression // the condition, if there is one, is the first
	// src is what was printed.
	src string
}

// An expression is one of an Input.
type expression struct {
	index int // as Error.Expr has it
	text  string
	tree  *node
	c     string // printed
	args  uint16
	value Value
	err   *Error
}

// computed tells whether the function has something to compute for e.
func (e *expression) computed() bool { return e.index < 0 || e.value.Arg < 0 && !e.value.Comm }

// err returns all that was found wrong, nil if nothing was.
func (u *unit) err() error {
	var errs []error
	for _, e := range u.exprs {
		if e.err != nil {
			e.err.Expr = e.index
			errs = append(errs, e.err)
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// parse reads the expressions.
func (u *unit) parse() {
	if u.in.Where != "" {
		u.exprs = append(u.exprs, &expression{index: -1, text: u.in.Where})
	}
	for i, s := range u.in.Values {
		u.exprs = append(u.exprs, &expression{index: i, text: s})
	}
	names := map[string]bool{}
	for name := range u.p.args {
		names[name] = true
	}
	for _, e := range u.exprs {
		e.value.Arg = -1
		if e.tree, e.err = parse(e.text, names); e.err != nil || e.index < 0 || e.tree.kind != nodeIdent {
			continue
		}
		if isComm(e.tree) {
			e.value.Comm, e.value.Kind, e.value.Size, e.value.Type = true, String, 8, "string"
		} else if i, ok := u.p.argument(e.tree.text); ok {
			e.value = argumentValue(i, &u.in.Args[i])
		}
	}
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

// write prints the program.
func (u *unit) write() string {
	p := u.p
	var all uint16
	type piece struct {
		text  string
		marks []mark
	}
	pieces := make([]piece, len(u.exprs))
	for i, e := range u.exprs {
		if !e.computed() {
			continue
		}
		p.expr, p.err, p.used = i, nil, 0
		p.out.Reset()
		p.marks = nil
		switch t := p.typeOf(e.tree); {
		case e.index >= 0 && isHeader(t):
			p.write("&") // of what is not to be loaded, but to be found
			p.print(e.tree)
		case e.index >= 0 && isFloatMember(t, e.tree):
			fmt.Fprintf(&p.out, "*(unsigned %s *)&", integers[t.Size]) // its bits
			p.print(e.tree)
		default:
			p.value(e.tree)
		}
		pieces[i] = piece{p.out.String(), p.marks}
		e.c, e.args, e.err = pieces[i].text, p.used, p.err
		e.value.Args = p.used
		all |= p.used
	}

	var b strings.Builder
	var marks []mark
	put := func(i int) {
		for _, m := range pieces[i].marks {
			marks = append(marks, mark{b.Len() + m.pos, m.expr, m.off})
		}
		b.WriteString(pieces[i].text)
	}
	b.WriteString(preamble)
	b.WriteString(p.structs.print(p.fields, p.roots))
	for i := range u.in.Args {
		if d, ok := p.argType(i); ok {
			b.WriteString("extern " + d + ";\n")
		}
	}
	for i, c := range p.compare {
		b.WriteString(c.function(i))
	}
	// Variables that are there for their types alone: what the compiler takes
	// the expressions for.
	for i, e := range u.exprs {
		if e.index >= 0 && e.computed() {
			b.WriteString("__typeof__(")
			put(i)
			fmt.Fprintf(&b, ") type%d;\n", i)
		}
	}
	for i, t := range p.texts {
		b.WriteString("__typeof__(")
		marks = append(marks, mark{b.Len(), t.expr, t.off})
		fmt.Fprintf(&b, "%s) operand%d;\n", t.c, i)
	}
	fmt.Fprintf(&b, "__attribute__((section(\"kprobe\"))) int %s(struct hit *h)\n{\n", Symbol)
	for i := range u.in.Args {
		if all&(1<<i) != 0 {
			d, _ := p.argType(i)
			fmt.Fprintf(&b, "\t%s = (__typeof__(a%d))h->args[%d];\n", d, i+1, i)
		}
	}
	if p.pid {
		b.WriteString("\tunsigned int pid = h->pid, tid = h->tid;\n")
	}
	if p.comm {
		b.WriteString("\tunsigned long comm[2];\n\tbpf_comm(comm, 16);\n")
	}
	// The name of the builtin in parentheses is not that of the macro, in which
	// the compiler would know no places.
	for i, e := range u.exprs {
		switch {
		case e.index < 0:
			b.WriteString("\tif (!((__builtin_read_user)(), ")
			put(i)
			b.WriteString(")) return 0;\n")
		case e.computed():
			marks = append(marks, mark{b.Len(), i, e.tree.off})
			fmt.Fprintf(&b, "\th->values[%d] = (long)((__builtin_read_user)(), ", e.index)
			put(i)
			b.WriteString(");\n")
		}
	}
	b.WriteString("\treturn 1;\n}\n")
	slices.SortStableFunc(marks, func(a, b mark) int { return cmp.Compare(a.pos, b.pos) })
	u.src, p.marks = b.String(), marks
	return u.src
}

// isFloatMember tells whether an expression, of type t, is a floating point number in
// memory.
func isFloatMember(t *usdt.Type, n *node) bool {
	return t != nil && t.Kind == usdt.Float && (t.Size == 4 || t.Size == 8) && inProcess(n)
}

// diagnose turns what the compiler says into errors of the expressions.
func (u *unit) diagnose(err error) {
	var list bpfc.Diagnostics
	if !errors.As(err, &list) {
		return
	}
	starts := []int{0}
	for i := range len(u.src) {
		if u.src[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	for _, d := range list {
		if d.Line < 1 || d.Line > len(starts) {
			continue
		}
		pos := starts[d.Line-1] + max(d.Col, 1) - 1
		i, found := slices.BinarySearchFunc(u.p.marks, pos, func(m mark, pos int) int { return cmp.Compare(m.pos, pos) })
		if !found {
			i--
		}
		if line := starts[d.Line-1]; i < 0 || u.p.marks[i].pos < line {
			// before the first mark of its line
			if i++; i == len(u.p.marks) || strings.Contains(u.src[line:u.p.marks[i].pos], "\n") {
				continue
			}
		}
		m := u.p.marks[i]
		e := u.exprs[m.expr]
		// In __typeof__, which is a macro, no place is known: what is said
		// there is said again in the function.
		if vague := strings.HasPrefix(u.src[starts[d.Line-1]:], "__typeof__"); e.err == nil || e.err.Off < 0 {
			e.err = errorf(m.off, "%s", u.message(d.Msg))
			e.err.OtherProbe = e.args != 0
			if vague {
				e.err.Off = -1
			}
		}
	}
}

var ownNames = regexp.MustCompile(`struct s_(\d+)(?: \{[^{}]*\})?|\bf_(\w+)|\ba(\d+)\b`)

// message puts the names of the user for those that the compiler knows.
func (u *unit) message(msg string) string {
	return ownNames.ReplaceAllStringFunc(msg, func(s string) string {
		m := ownNames.FindStringSubmatch(s)
		switch {
		case m[1] != "":
			return printable(u.p.structs.cName("s_" + m[1]))
		case m[2] != "":
			return m[2]
		case m[3] != "":
			n, _ := strconv.Atoi(m[3])
			return u.p.argName(n - 1)
		}
		return s
	})
}

// instructions returns those of the function, without what describes them: a program
// describes all of its functions or none (check_btf_info, kernel/bpf/verifier.c).
func instructions(spec *ebpf.CollectionSpec) (asm.Instructions, error) {
	prog := spec.Programs[Symbol]
	if prog == nil {
		return nil, errors.New("there is no function")
	}
	insns := make(asm.Instructions, len(prog.Instructions))
	depth := int16(0)
	for i := range prog.Instructions {
		ins := prog.Instructions[i]
		if ins.IsLoadFromMap() {
			return nil, errors.New("the function uses a map")
		}
		symbol, reference := ins.Symbol(), ins.Reference()
		ins.Metadata = asm.Metadata{}
		if symbol != "" {
			ins = ins.WithSymbol(symbol)
		}
		if reference != "" {
			ins = ins.WithReference(reference)
		}
		insns[i] = ins
		depth = min(depth, frameOffset(prog.Instructions, i))
	}
	if -depth > StackLeft {
		return nil, &Error{Expr: -1, Off: -1, Msg: fmt.Sprintf("the expressions take %d bytes of stack, and there are %d", -depth, StackLeft)}
	}
	insns[0] = insns[0].WithSymbol(Symbol)
	return insns, nil
}

// frameOffset returns where in the frame instruction i reaches, 0 if nowhere.
func frameOffset(insns asm.Instructions, i int) int16 {
	ins := insns[i]
	switch class := ins.OpCode.Class(); {
	case class == asm.LdXClass && ins.Src == asm.RFP, class.IsStore() && ins.Dst == asm.RFP:
		return ins.Offset
	case ins.OpCode == asm.Add.Op(asm.ImmSource) && i > 0:
		if prev := insns[i-1]; prev.OpCode == asm.Mov.Op(asm.RegSource) && prev.Src == asm.RFP && prev.Dst == ins.Dst {
			return int16(ins.Constant)
		}
	}
	return 0
}

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
			switch known := u.p.typeOf(e.tree); {
			case isHeader(known):
				e.value.Kind, e.value.Size, e.value.Type = Header, 8, headers[known.Name]
			case isFloatMember(known, e.tree):
				e.value.Kind, e.value.Size, e.value.Type = Float, known.Size, goType(known)
			case known != nil && known.Size == 4 && known.Kind == usdt.Pointer:
				e.value.Kind, e.value.Size, e.value.Type = Pointer, 4, goType(known)
			case known != nil && known.Size == 4 && isText(known):
				e.value.Kind, e.value.Size, e.value.Type = String, 4, "string"
			case !u.describe(&e.value, t):
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
