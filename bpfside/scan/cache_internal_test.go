package scan

import (
	"bytes"
	"slices"
	"testing"
	"time"
)

// SetClock makes a cache think that it is another time.
func (c *Cache) SetClock(now func() time.Time) { c.clock = now }

var someIDs = []identity{
	{Device: 1, Inode: 2, Size: 3, MTime: 4, CTime: 5},
	{Device: 1, Inode: 9, Size: 0, MTime: -1, CTime: 1 << 62},
	{Device: 2, Inode: 1, Size: 1 << 40, MTime: 0, CTime: 0},
}

func TestCacheFile(t *testing.T) {
	data := encodeCache(someIDs)
	if got := decodeCache(data); !slices.Equal(got, someIDs) {
		t.Errorf("decoded %v, want %v", got, someIDs)
	}
	if got := decodeCache(encodeCache(nil)); got == nil || len(got) != 0 {
		t.Errorf("empty cache: %v", got)
	}
	// A file with any byte changed, or cut off anywhere, or longer, is none.
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 0x10
		if got := decodeCache(bad); got != nil {
			t.Errorf("byte %d changed: decoded %v", i, got)
		}
		if got := decodeCache(data[:i]); got != nil {
			t.Errorf("cut off at %d: decoded %v", i, got)
		}
	}
	if got := decodeCache(append(bytes.Clone(data), make([]byte, cacheRecord)...)); got != nil {
		t.Errorf("longer: decoded %v", got)
	}
	// Nor is one that is not in order, which has() counts on.
	swapped := slices.Clone(someIDs)
	slices.Reverse(swapped)
	if got := decodeCache(encodeCache(swapped)); got != nil {
		t.Errorf("out of order: decoded %v", got)
	}
}

func FuzzDecodeCache(f *testing.F) {
	f.Add(encodeCache(someIDs))
	f.Add([]byte(cacheMagic))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		ids := decodeCache(data)
		if ids != nil && !slices.IsSortedFunc(ids, identity.compareKey) {
			t.Errorf("out of order: %v", ids)
		}
	})
}

func TestMerge(t *testing.T) {
	id := func(inode uint64, ctime int64) identity { return identity{Device: 1, Inode: inode, CTime: ctime} }
	for _, tc := range []struct {
		name       string
		old, fresh []identity
		most       int
		want       []identity
	}{
		{"into an empty one", nil, []identity{id(3, 1), id(1, 1)}, 9, []identity{id(1, 1), id(3, 1)}},
		{"between", []identity{id(1, 1), id(5, 1)}, []identity{id(3, 1)}, 9, []identity{id(1, 1), id(3, 1), id(5, 1)}},
		{"a changed file", []identity{id(1, 1), id(5, 1)}, []identity{id(5, 2)}, 9, []identity{id(1, 1), id(5, 2)}},
		{"a file of two names", nil, []identity{id(1, 1), id(2, 1), id(1, 1)}, 9, []identity{id(1, 1), id(2, 1)}},
		{"too many: old ones go", []identity{id(1, 1), id(5, 1), id(6, 1)}, []identity{id(3, 1)}, 2, []identity{id(1, 1), id(3, 1)}},
		{"far too many", []identity{id(1, 1)}, []identity{id(3, 1), id(2, 1)}, 1, []identity{id(2, 1)}},
	} {
		if got := merge(tc.old, tc.fresh, tc.most); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
