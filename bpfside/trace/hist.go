package trace

import "math"

// bucket returns the bounds of the bucket that a program has numbered n: see
// counting.bucket. Signed tells of which type the values are.
func (c *clause) bucket(n uint32, signed bool) Bucket {
	if c.Aggregate == Log2Hist {
		return log2Bounds(n)
	}
	l := c.Linear
	last := l.buckets()
	switch i := uint64(n); {
	case i == 0 && !signed:
		return Bucket{Min: 0, Max: l.Min - 1}
	case i == 0:
		return Bucket{Min: math.MinInt64, Max: l.Min - 1}
	case i > last && !signed:
		return Bucket{Min: l.Max, Max: -1, Unsigned: true}
	case i > last:
		return Bucket{Min: l.Max, Max: math.MaxInt64}
	default:
		// Modulo 2^64, as the program counts.
		b := Bucket{Min: int64(uint64(l.Min) + (i-1)*uint64(l.Step))}
		if b.Max = b.Min + l.Step - 1; i == last {
			b.Max = l.Max - 1
		}
		return b
	}
}

// log2Bounds returns the bounds of bucket n of a histogram of powers of two.
func log2Bounds(n uint32) Bucket {
	switch n {
	case 0:
		return Bucket{Min: math.MinInt64, Max: -1}
	case 1:
		return Bucket{}
	case 65: // of unsigned values
		return Bucket{Min: math.MinInt64, Max: -1, Unsigned: true}
	}
	return Bucket{Min: 1 << (n - 2), Max: 1<<(n-1) - 1}
}
