package usdt

import (
	"debug/elf"
	"fmt"
	"strings"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// Arguments can name variables: "-4@NBuffers(%rip)". An address that is known
// relative to the file is not known in a process, which may have loaded the file
// anywhere; but the distance between the variable and the probed instruction is
// the same everywhere. So such an operand is turned into one that is relative to
// the program counter, which at the probe holds the address of the probed
// instruction.

// programCounter names the register with the address of the probed instruction,
// in the spelling of regOffset.
var programCounter = map[stapsdt.Machine]string{
	stapsdt.X86_64:  "rip",
	stapsdt.I386:    "eip",
	stapsdt.ARM64:   "pc",
	stapsdt.RISCV64: "pc",
	stapsdt.S390X:   "pc",
	stapsdt.PPC64:   "pc",
	stapsdt.PPC64LE: "pc",
}

// mayNameSymbol reports whether an argument string can name a symbol. It spares
// the parsing of the many that cannot.
func mayNameSymbol(m stapsdt.Machine, args string) bool {
	switch m {
	case stapsdt.X86_64, stapsdt.I386:
		// A letter that begins an operand or follows a sign: registers have
		// a '%' in front.
		start := true
		for i := range len(args) {
			c := args[i]
			if start && (c == '_' || c == '.' || c|0x20 >= 'a' && c|0x20 <= 'z') {
				return true
			}
			start = c == '@' || c == '$' || c == '+' || c == '-' || c == ' '
		}
		return false
	}
	return strings.Contains(args, ":lo12:")
}

// readSymbols looks up the symbols that the arguments of all probes name.
func (img *image) readSymbols(ef *elfFile) {
	wanted := make(map[string][]*Location)
	for _, p := range img.file.Probes {
		for i := range p.Locations {
			loc := &p.Locations[i]
			if !mayNameSymbol(loc.Machine, loc.ArgString) {
				continue
			}
			for _, a := range loc.Args() {
				if a.Err == nil && a.Operand.Symbol != "" {
					wanted[a.Operand.Symbol] = append(wanted[a.Operand.Symbol], loc)
				}
			}
		}
	}
	if len(wanted) == 0 {
		return
	}
	got := globalOffsetTable(ef)
	found := make(map[string]symbolValue, len(wanted))
	for _, typ := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		table, err := eachSymbol(img.r, img.size, ef, typ, func(sym symbol) {
			if _, ok := wanted[sym.name]; !ok {
				return
			}
			switch sym.typ() {
			case elf.STT_TLS, elf.STT_SECTION, elf.STT_FILE:
				return
			}
			if sym.shndx == elf.SHN_UNDEF || sym.shndx == elf.SHN_ABS {
				return
			}
			// A copy, that the string table may go.
			name := strings.Clone(sym.name)
			found[name] = found[name].merge(sym.value, elf.ST_BIND(sym.info) != elf.STB_LOCAL)
		})
		if err != nil {
			img.file.problem(table.Name, int64(table.Offset), "", err)
		}
	}
	for name, locs := range wanted {
		v := found[name]
		if !v.ok {
			continue
		}
		for _, loc := range locs {
			if loc.Symbols == nil {
				loc.Symbols = make(map[string]uint64)
			}
			loc.Symbols[name] = v.addr
			if got != 0 && loc.Machine == stapsdt.I386 {
				loc.Symbols[gotSymbol] = got
			}
		}
	}
}

// gotSymbol is the name of the address that GOTOFF counts from (System V ABI,
// Intel386 supplement, "Global Offset Table").
const gotSymbol = "_GLOBAL_OFFSET_TABLE_"

// globalOffsetTable returns that address for a file of i386, 0 if it has none:
// linkers put it at the start of .got.plt, or of .got if there is no other, which
// is what they write into DT_PLTGOT too.
func globalOffsetTable(ef *elfFile) uint64 {
	for _, name := range []string{".got.plt", ".got"} {
		if s := ef.Section(name); s != nil && ef.Machine == elf.EM_386 {
			return s.Addr
		}
	}
	return 0
}

// A symbolValue is what the tables say about a name. Static variables of one
// name can stand in several source files; then none of them is meant for sure.
type symbolValue struct {
	addr   uint64
	global bool
	ok     bool // there is one, and one only
	seen   bool
}

// merge adds one more symbol of the same name.
func (v symbolValue) merge(addr uint64, global bool) symbolValue {
	switch {
	case !v.seen, global && !v.global:
		return symbolValue{addr, global, true, true}
	case addr == v.addr, v.global && !global:
		return v
	}
	v.ok = false
	return v
}

// resolve turns an operand that names a symbol into one relative to the probed
// instruction, and says so in the text of the argument. What cannot be resolved
// stays as it is.
func (l *Location) resolve(a *stapsdt.Arg) {
	op := &a.Operand
	if a.Err != nil || op.Symbol == "" {
		return
	}
	addr, ok := l.Symbols[op.Symbol]
	if !ok {
		return
	}
	if op.SymbolBase == stapsdt.Lo12 {
		// The base register holds the page, which the file keeps wherever
		// it is loaded.
		op.Value = int64((addr + uint64(op.Value)) & 0xfff)
		op.Symbol, op.SymbolBase = "", stapsdt.Absolute
		a.Text += fmt.Sprintf(" (%+#x)", op.Value)
		return
	}
	if op.SymbolBase == stapsdt.GOTOFF {
		// The base register holds the address of the table.
		if got, ok := l.Symbols[gotSymbol]; ok {
			distance := int64(addr - got)
			op.Value += distance
			op.Symbol, op.SymbolBase = "", stapsdt.Absolute
			a.Text += fmt.Sprintf(" (got%+#x)", distance)
		}
		return
	}
	pc, ok := programCounter[l.Machine]
	if !ok {
		return
	}
	if op.Base != "" {
		// A register beside the address of a table, as x86 without PIE
		// has it: make room for the program counter.
		if op.Index != "" {
			return
		}
		op.Index, op.Scale = op.Base, 1
	}
	op.Value += int64(addr - l.Address)
	op.Base, op.Symbol, op.SymbolBase = pc, "", stapsdt.Absolute
	a.Text += fmt.Sprintf(" (probe%+#x)", op.Value)
}
