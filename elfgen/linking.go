package elfgen

import (
	"encoding/binary"

	"github.com/nopfire/nopfire/elfgen/internal/elfimage"
	"github.com/nopfire/nopfire/urdt/abi"
)

// A linking is what a dynamic loader and a tracer want to find in every object,
// whatever its sites are for: build-id, marker, the exported symbols with both
// hash tables, and the dynamic section.
type linking struct {
	image   *elfimage.Image
	symbols *elfimage.Symbols // the exported ones
	soname  int               // in the string table of symbols

	buildID, marker, gnu, sysv, dynsym, dynstr, dynamic *elfimage.Section
}

// addTables adds the sections of the first, read-only segment.
func (l *linking) addTables(order binary.ByteOrder, kind, sites uint32) {
	const alloc = elfimage.ShfAlloc
	im := l.image
	l.buildID = im.Add(&elfimage.Section{
		Name: ".note.gnu.build-id", Type: elfimage.ShtNote, Flags: alloc, Align: 4,
		Data: elfimage.AppendNote(nil, order, "GNU", 3, make([]byte, elfimage.BuildIDSize)),
	})
	l.marker = im.Add(&elfimage.Section{
		Name: abi.MarkerSection, Type: elfimage.ShtNote, Flags: alloc, Align: 4,
		Data: markerNote(order, kind, sites),
	})
	l.gnu = im.Add(&elfimage.Section{Name: ".gnu.hash", Type: elfimage.ShtGNUHash, Flags: alloc, Align: 8, Size: l.symbols.GNUHashSize()})
	l.sysv = im.Add(&elfimage.Section{
		Name: ".hash", Type: elfimage.ShtHash, Flags: alloc, Align: 8,
		EntSize: l.symbols.SysvHashWord(), Size: l.symbols.SysvHashSize(),
	})
	l.dynsym = im.Add(&elfimage.Section{
		Name: ".dynsym", Type: elfimage.ShtDynsym, Flags: alloc, Align: 8,
		EntSize: elfimage.SymSize, Info: 1, Size: l.symbols.TableSize(),
	})
	l.dynstr = im.Add(&elfimage.Section{Name: ".dynstr", Type: elfimage.ShtStrtab, Flags: alloc, Align: 1, Data: l.symbols.Strings()})
}

// addDynamic adds the dynamic section, in a writable segment: glibc before 2.35
// writes to it.
func (l *linking) addDynamic() {
	l.dynamic = l.image.Add(&elfimage.Section{
		Name: ".dynamic", Type: elfimage.ShtDynamic, Flags: elfimage.ShfAlloc | elfimage.ShfWrite, Align: 8,
		EntSize: elfimage.DynSize, Size: elfimage.DynamicSize,
	})
	l.gnu.LinkTo, l.sysv.LinkTo = l.dynsym, l.dynsym
	l.dynsym.LinkTo, l.dynamic.LinkTo = l.dynstr, l.dynstr
}

// writeTables fills the sections, which have their addresses now.
func (l *linking) writeTables() {
	im := l.image
	l.symbols.WriteGNUHash(im.Bytes(l.gnu))
	l.symbols.WriteSysvHash(im.Bytes(l.sysv))
	l.symbols.WriteTable(im.Bytes(l.dynsym))
	im.PutDynamic(l.dynamic, l.sysv, l.gnu, l.dynstr, l.dynsym, l.soname)
}

// finish returns the bytes of the image and its build-id.
func (l *linking) finish() (image []byte, id [elfimage.BuildIDSize]byte) {
	image = l.image.Finish(l.buildID)
	copy(id[:], l.image.Bytes(l.buildID)[l.buildID.Size-elfimage.BuildIDSize:])
	return image, id
}

// markerNote returns the note that tells our objects from those of others, with
// the kind of the object and the number of sites of each probe.
func markerNote(order binary.ByteOrder, kind, sites uint32) []byte {
	var desc [12]byte
	order.PutUint32(desc[0:], abi.MarkerVersion)
	order.PutUint32(desc[4:], kind)
	order.PutUint32(desc[8:], sites)
	return elfimage.AppendNote(nil, order, abi.MarkerOwner, abi.MarkerType, desc[:])
}
