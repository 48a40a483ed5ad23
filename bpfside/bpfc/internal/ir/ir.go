// Package ir is what the stages of bpfc hand to each other: a translation unit
// of C as functions in static single assignment form, close enough to eBPF that
// lower needs no knowledge of C, and far enough that the passes need none of
// eBPF.
//
// A [Module] holds [Func]s and [Global]s. A function is a list of [Block]s, the
// first of which is its entry; a block has parameters instead of phi nodes,
// [Value]s in order, and one [Term] that ends it. Each edge carries a value for
// each parameter of the block that it enters, so that removing an edge removes
// what it brought.
//
// # Types
//
// A value is [I32], [I64] or [Ptr]; smaller integers live in memory alone and
// are extended when they are loaded. An I32 in a register has its upper half
// zero, always: extending one without sign is free, and the verifier's 32-bit
// and 64-bit bounds of it agree. Ptr is apart from I64 because the verifier
// follows pointers by the instruction that made them: passes may not rewrite
// pointer arithmetic into integer arithmetic.
//
// # Memory
//
// [OpAlloca] is an object of the stack frame. It is found in the entry block
// alone, whatever its scope in C; [OpLife] says where its scope begins, which is
// where its old content stops to matter. Loads and stores have a constant
// offset, as the instructions do, and front folds what is constant into it: the
// verifier takes nothing else on a context.
//
// Front imports the C front end and nothing below it does.
package ir

import "github.com/cilium/ebpf/btf"

// Type of a value. [Void] is of one that has no result.
type Type uint8

const (
	Void Type = iota
	I32
	I64
	Ptr
)

// Size is the width in bytes of a value in a register.
func (t Type) Size() int {
	switch t {
	case I32:
		return 4
	case I64, Ptr:
		return 8
	}
	return 0
}

// A Module is one translation unit.
type Module struct {
	Name    string // of the source file
	Funcs   []*Func
	Globals []*Global // in the order in which they are laid out in each section
	// Types are those that BTF has to carry beside the ones that functions and
	// globals name, such as events that a program sends.
	Types []btf.Type
	// Poisoned are the names of what the kernel lacks although the program asks
	// for it: [Poison] plus an index of it.
	Poisoned []string
}

// Poison is the number of a helper that no kernel has, and the first of as many
// as there are in [Module.Poisoned]: what cannot be translated for the kernel at
// hand becomes a call of one, which the verifier refuses if the program gets
// there. libbpf uses the number as well, and readers of logs know it:
// 0xbad2310 reads "bad relo".
const Poison = 0xbad2310

// A File is a source file, for positions.
type File struct {
	Name  string
	Lines []string // its text, without the line feeds
}

// Line returns the text of line n, counted from 1, or "".
func (f *File) Line(n int) string {
	if f == nil || n < 1 || n > len(f.Lines) {
		return ""
	}
	return f.Lines[n-1]
}

// A Pos is a place in the source. The zero Pos is none. Line and Col count from
// 1, and Col counts bytes.
type Pos struct {
	File *File
	Line int
	Col  int
}

// A Symbol is what code can name: a *Func or a *Global.
type Symbol interface {
	SymbolName() string
}

// Linkage says who else can see a symbol.
type Linkage uint8

const (
	Static Linkage = iota
	External
	Weak
)

// InlineHint is what the source asks of the inliner.
type InlineHint uint8

const (
	InlineAuto InlineHint = iota
	InlineAlways
	InlineNever
)

// A Func is a program, or a function that programs call.
type Func struct {
	Name    string
	Section string // of a program, such as "usdt/libc:setjmp"; "" of other functions
	Linkage Linkage
	Used    bool // __attribute__((used)): kept though nothing here names it
	Hidden  bool // __hidden: verified with its callers although it is external
	Inline  InlineHint
	// AddrTaken functions are callbacks of helpers: the kernel calls them, and
	// gives no promise about the upper half of an I32 argument.
	AddrTaken bool
	Result    Type
	Blocks    []*Block // the entry is first, and has the function's parameters
	BTF       *btf.Func
	Pos       Pos
	End       Pos // of its closing brace

	lastID int
}

// SymbolName implements [Symbol].
func (f *Func) SymbolName() string { return f.Name }

// Entry returns the block where f starts; nil of a declaration.
func (f *Func) Entry() *Block {
	if len(f.Blocks) == 0 {
		return nil
	}
	return f.Blocks[0]
}

// Params returns the parameters of f, which are those of its entry.
func (f *Func) Params() []*Value {
	if e := f.Entry(); e != nil {
		return e.Params
	}
	return nil
}

// NewBlock appends an empty block to f.
func (f *Func) NewBlock() *Block {
	f.lastID++
	b := &Block{ID: f.lastID, Func: f}
	f.Blocks = append(f.Blocks, b)
	return b
}

// A Global is a variable, a map definition, or a string literal: bytes in a
// section. The sections have the meaning that libbpf gives them: ".maps" holds
// map definitions, all of whose facts are in the type; ".data", ".bss",
// ".rodata" and those with a further name (".data.x") are maps of their own;
// "license" and "version" are text; ".kconfig" and ".ksyms" are of externs.
type Global struct {
	Name    string
	Section string
	Linkage Linkage
	Used    bool // __attribute__((used)), as SEC has it: kept though nothing names it
	Hidden  bool
	Extern  bool   // declared here and given by the loader: no Data
	Data    []byte // Size bytes, or nil for zeros
	Size    int
	Align   int
	// Constant objects never change, neither by a program nor by the loader
	// ("const" without "volatile"): passes may read them.
	Constant bool
	Relocs   []Reloc  // pointers in Data; in ".maps" alone, where loaders resolve them
	BTF      *btf.Var // nil of string literals
	// Events are the types of what the program sends through this map, a ring
	// buffer or a perf buffer, in the order in which they are met. spec writes
	// each as a declaration tag of the map's variable, "event:struct NAME".
	Events []btf.Type
	Pos    Pos
}

// SymbolName implements [Symbol].
func (g *Global) SymbolName() string { return g.Name }

// A Reloc is the address of a symbol within the data of a global.
type Reloc struct {
	Offset int
	Sym    Symbol
}

// A Block is a run of values that has one entry, at its start, and one end.
type Block struct {
	ID     int
	Func   *Func
	Params []*Value // Op is OpParam
	Values []*Value
	Term   Term
	// Unroll is what the source asks for a loop, in the block to which the loop
	// jumps back: 0 nothing, 1 to leave it a loop, n to have it unrolled if it
	// runs at most n times ("#pragma unroll n"), [UnrollFull] to have it unrolled.
	Unroll int
}

// UnrollFull asks for a loop to be unrolled, however often it runs.
const UnrollFull = 1<<31 - 1

// A Value is an operation and its result.
type Value struct {
	ID       int
	Op       Op
	Type     Type
	Cond     Cond     // of OpCmp
	Atomic   AtomicOp // of OpAtomic
	Signed   bool     // of OpLoad: extend by the sign
	Volatile bool     // of loads and stores: neither removed, merged nor moved
	Args     []*Value
	Imm      int64  // constant, offset in bytes or helper number, as Op says
	Size     int    // in bytes: of the access, of the object, of the bytes copied
	Align    int    // in bytes, a power of two that the address is a multiple of
	Sym      Symbol // of OpGlobal, OpFunc, OpCall
	Name     string // of a parameter or a variable, for the printer alone
	Block    *Block
	Pos      Pos
}

// NewParam appends a parameter to b. Whoever adds one gives a value to each edge
// that enters b.
func (b *Block) NewParam(t Type, name string) *Value {
	v := b.Func.NewValue(OpParam, t)
	v.Name, v.Block = name, b
	b.Params = append(b.Params, v)
	return v
}

// NewValue returns a value with a number of its own that is in no block yet.
func (f *Func) NewValue(op Op, t Type, args ...*Value) *Value {
	f.lastID++
	return &Value{ID: f.lastID, Op: op, Type: t, Args: args}
}

// Append puts v at the end of b and returns it.
func (b *Block) Append(v *Value) *Value {
	v.Block = b
	b.Values = append(b.Values, v)
	return v
}

// NumIDs returns a number above every ID of a value or a block of f: the length
// of a slice that is indexed by them.
func (f *Func) NumIDs() int { return f.lastID + 1 }

// TermKind is the way in which a block ends.
type TermKind uint8

const (
	TermNone   TermKind = iota // not ended yet; never in a finished function
	TermJump                   // Succs[0]
	TermIf                     // Args[0] (I32 or I64) is not 0: Succs[0], else Succs[1]
	TermSwitch                 // Args[0] equals Cases[i]: Succs[i+1], else Succs[0]
	TermRet                    // Args[0], if the function has a result
	TermUnreachable
)

// A Term ends a block.
type Term struct {
	Kind  TermKind
	Args  []*Value
	Succs []Edge
	Cases []int64
	// Likely says what __builtin_expect did: 1 that Succs[0] is, -1 that
	// Succs[1] is the usual one.
	Likely int8
	Pos    Pos
}

// An Edge is a way into a block, with a value for each of its parameters.
type Edge struct {
	To   *Block
	Args []*Value
}
