package lower

import "math/bits"

// bitset is a set of small numbers.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b bitset) add(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bitset) remove(i int)   { b[i/64] &^= 1 << (i % 64) }

// union adds what o has and tells whether that was news.
func (b bitset) union(o bitset) bool {
	news := false
	for i, w := range o {
		if w&^b[i] != 0 {
			b[i] |= w
			news = true
		}
	}
	return news
}

// each calls f with each number of the set, in order.
func (b bitset) each(f func(i int)) {
	for i, w := range b {
		for w != 0 {
			f(64*i + bits.TrailingZeros64(w))
			w &= w - 1
		}
	}
}
