package call

import (
	"testing"
	"unsafe"
)

// The assembly counts in bytes.
func TestFrameOffsets(t *testing.T) {
	var f Frame
	word := unsafe.Sizeof(uintptr(0))
	for _, tt := range []struct {
		field     string
		got, want uintptr
	}{
		{"Words", unsafe.Offsetof(f.Words), 0},
		{"Words[11]", unsafe.Offsetof(f.Words) + 11*unsafe.Sizeof(f.Words[0]), 88},
		{"Ptrs", unsafe.Offsetof(f.Ptrs), 96},
		{"Ptrs[11]", unsafe.Offsetof(f.Ptrs) + 11*unsafe.Sizeof(f.Ptrs[0]), 96 + 11*word},
	} {
		if tt.got != tt.want {
			t.Errorf("offset of Frame.%s = %d, the assembly says %d", tt.field, tt.got, tt.want)
		}
	}
}

func TestSiteZero(t *testing.T) {
	Site(0, &Frame{}) // returns, without entering anything
}
