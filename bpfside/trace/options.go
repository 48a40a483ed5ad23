package trace

import "fmt"

// Limits of Options.
const (
	// DefaultMaxString is the limit on strings and bytes unless Options say
	// otherwise.
	DefaultMaxString = 256
	// LimitMaxString is the largest MaxString. Package emit carries a byte more,
	// so that what it has cut is Truncated here.
	LimitMaxString = 4096
	// DefaultBufferSize is the size of the ring buffer unless Options say
	// otherwise: room for some 75,000 events with one short string each.
	DefaultBufferSize = 8 << 20

	minBufferSize = 1 << 16
	maxBufferSize = 1 << 30
	limitMaxKeys  = 1 << 24
)

// Options change what a session does. Nil and the zero value mean the
// defaults.
type Options struct {
	// MaxString is the largest number of bytes that is kept of a string or
	// of bytes, up to LimitMaxString; 0 means DefaultMaxString. Each of them
	// takes that much of the ring buffer in every event; but a string that is
	// the only one, and whose limit is no more than some 300, what it needs.
	MaxString int
	// BufferSize is the size of the ring buffer in bytes, rounded up to a
	// power of two; 0 means DefaultBufferSize.
	BufferSize int
	// MaxKeys is the number of different keys that are counted of a clause; 0
	// means DefaultMaxKeys. Each bucket of a histogram that is not empty is one.
	// (Keys of the same clause that differ much in size, as those of different
	// probes may, have that number each.) Hits of further keys are counted as
	// lost.
	MaxKeys int
	// Strings says which arguments are addresses of strings, for probes
	// without metadata: [PROBE.]ARG[/LENGTH]. ARG is a name or "argN", counted
	// from 1. PROBE is a pattern for the name of the probe ("gc__*"); without
	// it the entry is for every probe that has such an argument. LENGTH is the
	// argument that holds the number of bytes, for strings that do not end in
	// a NUL, as those of the Java virtual machine: it is not shown by itself
	// then. Two examples: "arg1", "method__entry.arg2/arg3".
	//
	// An entry says nothing about arguments whose type is known from metadata,
	// unless that type is a pointer or an integer as wide as one.
	Strings []string
	// ReuseArgs lets the Args of an event lie where those of the next will: a
	// consumer that keeps no event costs less then. The values in them are not
	// used again.
	ReuseArgs bool
}

// Check returns why the options make no sense, nil if they do. Start asks it first.
func (o *Options) Check() error {
	_, err := o.withDefaults()
	return err
}

// withDefaults returns the options with every default filled in, or the reason
// why they make no sense.
func (o *Options) withDefaults() (Options, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	switch {
	case opts.MaxString == 0:
		opts.MaxString = DefaultMaxString
	case opts.MaxString < 0 || opts.MaxString > LimitMaxString:
		return opts, fmt.Errorf("MaxString %d is not within 0..%d", opts.MaxString, LimitMaxString)
	}
	switch {
	case opts.BufferSize == 0:
		opts.BufferSize = DefaultBufferSize
	case opts.BufferSize < 0 || opts.BufferSize > maxBufferSize:
		return opts, fmt.Errorf("BufferSize %d is not within 0..%d", opts.BufferSize, maxBufferSize)
	}
	size := minBufferSize // a power of two and a multiple of every page size
	for size < opts.BufferSize {
		size *= 2
	}
	opts.BufferSize = size
	switch {
	case opts.MaxKeys == 0:
		opts.MaxKeys = DefaultMaxKeys
	case opts.MaxKeys < 0 || opts.MaxKeys > limitMaxKeys:
		return opts, fmt.Errorf("MaxKeys %d is not within 0..%d", opts.MaxKeys, limitMaxKeys)
	}
	_, err := parseStringRules(opts.Strings)
	return opts, err
}
