package difftest

import (
	"bytes"

	"github.com/cilium/ebpf/btf"
)

// Mask returns which bits of an object of type t hold something: all but the
// padding, about whose content C says nothing.
func Mask(t btf.Type) []byte {
	size, err := btf.Sizeof(t)
	if err != nil {
		return nil
	}
	mask := make([]byte, size)
	setMask(mask, 0, t)
	return mask
}

// setMask sets the bits of a t that is offset bytes within the object.
func setMask(mask []byte, offset int, t btf.Type) {
	switch t := btf.UnderlyingType(t).(type) {
	case *btf.Struct:
		setMembers(mask, offset, t.Members)
	case *btf.Union:
		setMembers(mask, offset, t.Members)
	case *btf.Array:
		size, err := btf.Sizeof(t.Type)
		if err != nil {
			return
		}
		for i := range int(t.Nelems) {
			setMask(mask, offset+i*size, t.Type)
		}
	default:
		if size, err := btf.Sizeof(t); err == nil {
			copy(mask[offset:offset+size], bytes.Repeat([]byte{0xff}, size))
		}
	}
}

func setMembers(mask []byte, offset int, members []btf.Member) {
	for _, m := range members {
		if m.BitfieldSize == 0 {
			setMask(mask, offset+int(m.Offset.Bytes()), m.Type)
			continue
		}
		for bit := m.Offset; bit < m.Offset+m.BitfieldSize; bit++ {
			mask[offset+int(bit/8)] |= 1 << (bit % 8)
		}
	}
}
