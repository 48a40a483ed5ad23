package elfgen

import (
	"errors"
	"fmt"

	"github.com/nopfire/nopfire/elfgen/internal/elfimage"
	"github.com/nopfire/nopfire/elfgen/internal/site"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/urdt/abi"
)

// The layout of an object. Offsets are those of addresses too, except that every
// segment has pages of its own in memory, while the file is packed:
//
//	r--  headers, .note.gnu.build-id, .note.nopfire, .gnu.hash, .hash, .dynsym, .dynstr
//	r-x  .text: a site of 16 bytes for each probe; .stapsdt.base        (4 KiB page)
//	rw-  .probes: a semaphore for each probe that wants one             (largest page)
//	rw-  .dynamic
//	     .note.stapsdt, .BTF, .symtab, .strtab, .shstrtab               (not loaded)
//
// A process that fires maps .text and .probes only; the rest is for loaders,
// tracers and debuggers.

// sitesPerProbe is the number of sites of each probe of an object that Build
// makes, as its marker says.
const sitesPerProbe = 1

// ErrUnsupported is wrapped by the error of Build for a machine, or a nop form
// of a machine, for which no sites can be made.
var ErrUnsupported = errors.New("unsupported")

// target describes a machine to the ELF writer.
func target(m stapsdt.Machine) (t elfimage.Target, ok bool) {
	t = elfimage.Target{Machine: m.ELFMachine(), Order: m.ByteOrder(), PageSize: 4 << 10}
	switch m {
	case stapsdt.X86_64, stapsdt.S390X:
	case stapsdt.ARM64:
		t.PageSize = 64 << 10
	case stapsdt.RISCV64:
		// EF_RISCV_FLOAT_ABI_DOUBLE: loaders refuse objects of another
		// float ABI, and lp64d is the one that distributions use.
		t.Flags = 4
	case stapsdt.PPC64LE:
		t.PageSize = 64 << 10
		t.Flags = 2 // EF_PPC64_ABI: ELFv2
	default:
		return t, false
	}
	return t, true
}

// Build makes a shared object with the probes of spec, for machine m with
// sites of the given form. The same input gives the same bytes, on every host
// and in every process.
//
// The error joins a *SpecError for each fault of the spec, or wraps
// ErrUnsupported if the machine has no such sites.
func Build(spec *ProviderSpec, m stapsdt.Machine, form NopForm) (*Object, error) {
	code := site.Lookup(m, site.Form(form))
	t, ok := target(m)
	if code == nil || !ok {
		return nil, fmt.Errorf("build provider %q: %w: nop form %d on machine %s", spec.Name, ErrUnsupported, form, m)
	}
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	if len(spec.Probes) == 0 {
		return nil, &SpecError{Provider: spec.Name, ProbeIndex: -1, ArgumentIndex: -1, Reason: "no probes"}
	}
	b := builder{spec: spec, machine: m, form: form, code: code, target: t}
	b.plan()
	b.layout()
	if err := b.write(); err != nil {
		return nil, fmt.Errorf("build provider %q: %w", spec.Name, err)
	}
	return b.object, nil
}

// builder carries one Build through its steps.
type builder struct {
	spec    *ProviderSpec
	machine stapsdt.Machine
	form    NopForm
	code    *site.Code
	target  elfimage.Target

	// What plan finds out: everything that needs no addresses.
	probes    []probePlan
	args      string // the argument strings of all probes
	notesSize int
	types     *typeWriter
	sems      int // semaphores

	linking
	text, base, probesSec      *elfimage.Section
	notes, btf, symtab, strtab *elfimage.Section
	object                     *Object
}

// probePlan is what is known of a probe before the layout.
type probePlan struct {
	argsFrom, argsTo int // in args
	semaphore        int // index + 1, 0 for none
}

// plan names the symbols, spells the arguments and translates the types.
func (b *builder) plan() {
	n := len(b.spec.Probes)
	names := 0 // bytes of all symbols if none needs an escape
	for i := range b.spec.Probes {
		names += len(b.spec.Name) + len("__") + len(b.spec.Probes[i].Name) + 1
	}
	b.probes = make([]probePlan, n)
	b.types = newTypeWriter(b.machine, n, 2*names+len(tagProbe)*n)
	b.text = &elfimage.Section{
		Name: ".text", Type: elfimage.ShtProgbits, Flags: elfimage.ShfAlloc | elfimage.ShfExecinstr,
		Align: site.Stride, FileAlign: filePage, Size: n * site.Stride,
	}
	b.symbols = elfimage.NewSymbols(b.target, n, names+len(b.spec.Name)+len(sonameSuffix)+1)
	b.soname = b.symbols.AddString(identifier(b.spec.Name) + sonameSuffix)

	args := make([]byte, 0, n*16)
	var symbol []byte
	for i := range b.spec.Probes {
		p, plan := &b.spec.Probes[i], &b.probes[i]

		symbol = appendSymbol(symbol[:0], b.spec.Name, p.Name)
		b.symbols.Add(symbol, elfimage.Symbol{
			Section: b.text, Off: i*site.Stride + b.code.Entry, Size: b.code.End - b.code.Entry,
		})
		b.types.probe(b.spec.Name, p, symbol)

		plan.argsFrom = len(args)
		args = b.appendArgs(args, p)
		plan.argsTo = len(args)
		if p.Semaphore {
			b.sems++
			plan.semaphore = b.sems
		}
	}
	b.args = string(args)
	for i := range b.probes {
		note := b.note(i)
		b.notesSize += stapsdt.NoteSize(b.machine, &note)
	}
	b.symbols.Sort()
}

// note returns the note of probe i, but for its addresses.
func (b *builder) note(i int) stapsdt.Note {
	p := &b.probes[i]
	return stapsdt.Note{
		Provider: b.spec.Name,
		Name:     b.spec.Probes[i].Name,
		Args:     b.args[p.argsFrom:p.argsTo],
	}
}

// sonameSuffix ends the SONAME of an object.
const sonameSuffix = ".so"

// appendArgs appends the argument string of a probe.
func (b *builder) appendArgs(dst []byte, p *ProbeSpec) []byte {
	place := 0
	for i := range p.Args {
		t := p.Args[i].Type
		for range t.places() {
			if place > 0 {
				dst = append(dst, ' ')
			}
			size, signed := t.registerSize()
			dst = site.AppendArg(dst, b.machine, place, size, signed)
			place++
		}
	}
	return dst
}

// registerSize returns the size in bytes of an argument in its register, and
// whether it is a signed integer. Floats travel as their bits: bpftrace, bcc
// and libbpf refuse the size "8f".
func (t *Type) registerSize() (size int, signed bool) {
	switch t.Kind {
	case Int:
		return t.Size, true
	case Uint, Float:
		return t.Size, false
	case Bool:
		return 1, false
	}
	return 8, false
}

// filePage aligns .text in the file: a page of its own on most systems, so
// that mapping the sites maps nothing else.
const filePage = 4 << 10

// semaphoreSize is the size of a semaphore: an unsigned short (sys/sdt.h).
const semaphoreSize = 2

// layout adds the sections in file order and gives them their places.
func (b *builder) layout() {
	const alloc = elfimage.ShfAlloc
	im := elfimage.New(b.target)
	b.image = im

	b.addTables(b.target.Order, abi.KindProvider, sitesPerProbe)
	im.Add(b.text)
	// perf takes the difference between address and offset of this section
	// for that of the sites (tools/perf/util/symbol-elf.c,
	// populate_sdt_note): it must lie in their segment. Its content, one
	// byte, means nothing.
	b.base = im.Add(&elfimage.Section{Name: stapsdt.BaseSection, Type: elfimage.ShtProgbits, Flags: alloc, Align: 1, Size: 1})
	if b.sems > 0 {
		b.probesSec = im.Add(&elfimage.Section{
			Name: stapsdt.ProbesSection, Type: elfimage.ShtProgbits, Flags: alloc | elfimage.ShfWrite,
			Align: semaphoreSize, FileAlign: b.target.PageSize, Size: b.sems * semaphoreSize,
		})
	}
	b.addDynamic()
	b.notes = im.Add(&elfimage.Section{Name: stapsdt.Section, Type: elfimage.ShtNote, Align: 4, Size: b.notesSize})
	b.btf = im.Add(&elfimage.Section{Name: ".BTF", Type: elfimage.ShtProgbits, Align: 8, Size: b.types.b.Size()})
	b.symtab = im.Add(&elfimage.Section{
		Name: ".symtab", Type: elfimage.ShtSymtab, Align: 8,
		EntSize: elfimage.SymSize, Info: 1, Size: b.symbols.TableSize(),
	})
	b.strtab = im.Add(&elfimage.Section{Name: ".strtab", Type: elfimage.ShtStrtab, Align: 1, Data: b.symbols.Strings()})

	b.symtab.LinkTo = b.strtab
	im.Layout()
}

// write fills the sections and makes the object.
func (b *builder) write() error {
	im := b.image
	b.writeTables()
	copy(im.Bytes(b.symtab), im.Bytes(b.dynsym))
	b.types.b.Put(im.Bytes(b.btf))

	obj := &Object{
		Machine: b.machine,
		Form:    b.form,
		Text:    Extent{b.text.Off, b.text.Size},
		Sites:   make([]Site, len(b.probes)),
	}
	if b.probesSec != nil {
		obj.Semaphores = Extent{b.probesSec.Off, b.probesSec.Size}
	}
	b.object = obj
	text, notes := im.Bytes(b.text), im.Bytes(b.notes)[:0]
	pristine := b.code.Pristine(b.target.Order)
	for i := range b.probes {
		start := i * site.Stride
		copy(text[start:], b.code.Bytes)
		note := b.note(i)
		note.Location = b.text.Address(start + b.code.Location)
		note.Base = b.base.Addr
		s := &obj.Sites[i]
		*s = Site{
			Entry:    b.text.Off + start + b.code.Entry,
			Location: b.text.Off + start + b.code.Location,
			Word:     b.text.Off + start + b.code.Word,
			Pristine: pristine,
		}
		if n := b.probes[i].semaphore; n > 0 {
			off := (n - 1) * semaphoreSize
			s.Semaphore = b.probesSec.Off + off
			note.Semaphore = b.probesSec.Address(off)
		}
		var err error
		if notes, err = stapsdt.AppendNote(notes, b.machine, &note); err != nil {
			return err
		}
	}
	obj.Image, obj.BuildID = b.finish()
	return nil
}
