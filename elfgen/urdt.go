package elfgen

import (
	"fmt"

	"github.com/nopfire/nopfire/elfgen/internal/elfimage"
	"github.com/nopfire/nopfire/elfgen/internal/urdtcode"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/urdt/abi"
)

// BuildURDT makes liburdt.so.1 for machine m: the shared object with the sites
// of runtime-defined tracing and the functions that C calls to fire them, as
// docs/urdt-spec.md describes it. Its bytes are the same from every release.
//
// Sites holds abi.Shards sites of each arity, arity 0 first; the site of a
// hash is Sites[nargs*abi.Shards + abi.Shard(hash, abi.Shards)]. There are no
// semaphores. Text covers the functions too.
//
// The error wraps ErrUnsupported for machines other than x86-64 and arm64.
func BuildURDT(m stapsdt.Machine) (*Object, error) {
	t, ok := target(m)
	b := urdtBuilder{machine: m, target: t}
	switch {
	case ok && m == stapsdt.X86_64:
		b.code, b.registers, b.property = urdtcode.X86_64(), &abi.RegistersX86_64, propertyX86
	case ok && m == stapsdt.ARM64:
		b.code, b.registers, b.property = urdtcode.ARM64(), &abi.RegistersARM64, propertyARM64
	default:
		return nil, fmt.Errorf("build %s: %w: machine %s", abi.Library, ErrUnsupported, m)
	}
	b.plan()
	b.layout()
	o, err := b.write()
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", abi.Library, err)
	}
	return o, nil
}

// A property is a GNU property of one word: its type and bits. It promises
// that control arrives at landing pads only, and on x86-64 that no return
// address is tampered with (psABI, "Program Property"; AArch64 ELF ABI, 6.2).
type property struct{ typ, bits uint32 }

var (
	propertyX86   = property{0xc0000002, 1 | 2} // FEATURE_1_AND: IBT, SHSTK
	propertyARM64 = property{0xc0000000, 1}     // FEATURE_1_AND: BTI
)

// urdtBuilder carries one BuildURDT through its steps.
type urdtBuilder struct {
	machine   stapsdt.Machine
	target    elfimage.Target
	code      *urdtcode.Code
	registers *[abi.MaxArgs + 1]string
	property  property

	args      [abi.MaxArgs + 1]string // argument strings by arity
	all       *elfimage.Symbols       // the exported ones and the sites
	notesSize int

	linking
	ehHeader, eh, text, base *elfimage.Section
	notes, symtab, strtab    *elfimage.Section
}

// plan spells the arguments and names the symbols.
func (b *urdtBuilder) plan() {
	for n := range b.args {
		var s []byte
		for i := 1; i <= n; i++ {
			s = append(append(s, "-8@"...), b.registers[i]...)
			s = append(s, ' ')
		}
		b.args[n] = string(append(append(s, "8@"...), b.registers[0]...))
		note := stapsdt.Note{Provider: abi.Provider, Name: abi.SiteName(n), Args: b.args[n]}
		b.notesSize += abi.Shards * stapsdt.NoteSize(b.machine, &note)
	}
	b.text = &elfimage.Section{
		Name: ".text", Type: elfimage.ShtProgbits, Flags: elfimage.ShfAlloc | elfimage.ShfExecinstr,
		Align: urdtcode.Stride, FileAlign: filePage, Data: b.code.Bytes,
	}
	n := len(b.code.Functions)
	b.symbols = elfimage.NewSymbols(b.target, n, 0)
	b.all = elfimage.NewSymbols(b.target, n+len(b.args), 0)
	b.soname = b.symbols.AddString(abi.Library)
	for _, f := range b.code.Functions {
		sym := elfimage.Symbol{Section: b.text, Off: f.Off, Size: f.Size}
		b.symbols.Add([]byte(f.Name), sym)
		b.all.Add([]byte(f.Name), sym)
	}
	// The sites of an arity have one symbol, for debuggers alone: a call by
	// that name would fire in the first shard whatever the hash.
	for n := range b.args {
		b.all.Add(appendSymbol(nil, abi.Provider, abi.SiteName(n)), elfimage.Symbol{
			Section: b.text, Off: urdtcode.Site(n, 0), Size: abi.Shards * urdtcode.Stride,
		})
	}
	b.symbols.Sort()
	b.all.Sort()
}

// layout adds the sections in file order and gives them their places.
func (b *urdtBuilder) layout() {
	const alloc = elfimage.ShfAlloc
	im := elfimage.New(b.target)
	b.image = im

	order := b.target.Order
	prop := make([]byte, 16)
	order.PutUint32(prop[0:], b.property.typ)
	order.PutUint32(prop[4:], 4) // bytes of data
	order.PutUint32(prop[8:], b.property.bits)
	im.Add(&elfimage.Section{
		Name: ".note.gnu.property", Type: elfimage.ShtNote, Flags: alloc, Align: 8,
		Data: elfimage.AppendNote(nil, order, "GNU", 5, prop), // NT_GNU_PROPERTY_TYPE_0
	})
	b.addTables(order, abi.KindURDT, abi.Shards)
	// The sizes first, the content when the addresses are known.
	frames, _ := b.code.EhFrame(0, 0, 0)
	b.ehHeader = im.Add(&elfimage.Section{Name: ".eh_frame_hdr", Type: elfimage.ShtProgbits, Flags: alloc, Align: 4, Size: b.code.EhFrameHeaderSize()})
	b.eh = im.Add(&elfimage.Section{Name: ".eh_frame", Type: elfimage.ShtProgbits, Flags: alloc, Align: 8, Size: len(frames)})
	im.Add(b.text)
	// For perf, see Build.
	b.base = im.Add(&elfimage.Section{Name: stapsdt.BaseSection, Type: elfimage.ShtProgbits, Flags: alloc, Align: 1, Size: 1})
	b.addDynamic()
	b.notes = im.Add(&elfimage.Section{Name: stapsdt.Section, Type: elfimage.ShtNote, Align: 4, Size: b.notesSize})
	b.symtab = im.Add(&elfimage.Section{
		Name: ".symtab", Type: elfimage.ShtSymtab, Align: 8,
		EntSize: elfimage.SymSize, Info: 1, Size: b.all.TableSize(),
	})
	b.strtab = im.Add(&elfimage.Section{Name: ".strtab", Type: elfimage.ShtStrtab, Align: 1, Data: b.all.Strings()})

	b.symtab.LinkTo = b.strtab
	im.Layout()
}

// write fills the sections and makes the object.
func (b *urdtBuilder) write() (*Object, error) {
	im := b.image
	b.writeTables()
	b.all.WriteTable(im.Bytes(b.symtab))
	frames, header := b.code.EhFrame(b.text.Addr, b.eh.Addr, b.ehHeader.Addr)
	copy(im.Bytes(b.eh), frames)
	copy(im.Bytes(b.ehHeader), header)

	o := &Object{
		Machine: b.machine,
		Form:    FormShared,
		Text:    Extent{b.text.Off, b.text.Size},
		Sites:   make([]Site, 0, len(b.args)*abi.Shards),
	}
	notes := im.Bytes(b.notes)[:0]
	for n, args := range b.args {
		for shard := range abi.Shards {
			off := urdtcode.Site(n, shard)
			o.Sites = append(o.Sites, Site{
				Entry: b.text.Off + off, Location: b.text.Off + off,
				Word: b.text.Off + off, Pristine: b.code.Pristine,
			})
			note := stapsdt.Note{
				Provider: abi.Provider, Name: abi.SiteName(n), Args: args,
				Location: b.text.Address(off), Base: b.base.Addr,
			}
			var err error
			if notes, err = stapsdt.AppendNote(notes, b.machine, &note); err != nil {
				return nil, fmt.Errorf("note of arity %d: %w", n, err)
			}
		}
	}
	o.Image, o.BuildID = b.finish()
	return o, nil
}
