package vmlinux

// BTF has the size of a type and the offset of each member, and says nothing of
// alignment. These functions find the alignment that C gives to a type as it is
// written here, and whether it has to be packed to come out as the kernel has it.

// An alignment in bytes, and whether the type is packed.
type shape struct {
	align  int
	packed bool
}

// size returns the size of a type in bytes, 0 if it has none.
func (w *writer) size(id typeID) int {
	n := 1
	for range maxDepth {
		t := w.b.typ(id)
		switch t.kind() {
		case kindTypedef, kindVolatile, kindConst, kindRestrict, kindTypeTag:
			id = t.ref()
		case kindArray:
			n = mulCapped(n, int(min(t.word(2), maxSize)))
			id = typeID(t.word(0))
		case kindPtr:
			return mulCapped(n, 8)
		case kindInt, kindFloat, kindEnum, kindEnum64, kindStruct, kindUnion:
			return mulCapped(n, int(min(t.size, maxSize)))
		default:
			return 0
		}
	}
	return 0
}

// mulCapped is x * y, but no more than maxSize.
func mulCapped(x, y int) int {
	if x != 0 && y > maxSize/x {
		return maxSize
	}
	return x * y
}

// align returns the alignment of a type in bytes, at least 1.
func (w *writer) align(id typeID) int { return w.shape(id).align }

func (w *writer) shape(id typeID) shape {
	for range maxDepth {
		t := w.b.typ(id)
		switch t.kind() {
		case kindTypedef, kindVolatile, kindConst, kindRestrict, kindTypeTag:
			id = t.ref()
		case kindArray:
			id = typeID(t.word(0))
		case kindPtr:
			return shape{align: 8}
		case kindInt, kindFloat, kindEnum, kindEnum64:
			switch t.size {
			case 2, 4, 8, 16:
				return shape{align: int(t.size)}
			}
			return shape{align: 1}
		case kindStruct, kindUnion:
			return w.aggregateShape(id, t)
		default:
			return shape{align: 1}
		}
	}
	return shape{align: 1}
}

func (w *writer) aggregateShape(id typeID, t rawType) shape {
	if s, ok := w.shapes[id]; ok {
		return s
	}
	w.shapes[id] = shape{align: 1} // until it is known, for types that contain themselves
	if !w.enter() {
		return shape{align: 1}
	}
	defer w.leave()
	s := shape{align: 1}
	for _, m := range w.b.members(t) {
		a := w.align(m.typ)
		s.align = max(s.align, a)
		switch {
		case m.bitfield == 0:
			s.packed = s.packed || m.offset%(8*a) != 0
		case w.straddles(m, m.offset):
			s.packed = true
		}
	}
	if s.packed = s.packed || int(t.size)%s.align != 0; s.packed {
		s.align = 1
	}
	w.shapes[id] = s
	return s
}

// straddles reports whether a bit-field at the offset would cross the end of the
// integer that holds it, as none does unless it is packed.
func (w *writer) straddles(m member, offset int) bool {
	unit := 8 * w.size(m.typ)
	return unit == 0 || offset/unit != (offset+m.bitfield-1)/unit
}

// pads returns the widths of the unnamed bit-fields, none wider than limit bits, that
// lead from bit "from" to bit "to". Each ends where its own integer does at the latest,
// so that all stand one behind the other. None is wider than a long, the widest for
// which C has bit-fields, though there are 128-bit integers.
func pads(from, to, limit int) []int {
	var widths []int
	for from < to {
		width := min(limit, 64)
		for from%width != 0 || from+width > to {
			if width == 8 {
				width = min(8-from%8, to-from) // to the end of the byte
				break
			}
			width /= 2
		}
		widths = append(widths, width)
		from += width
	}
	return widths
}
