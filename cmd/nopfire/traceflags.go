package main

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// The values of trace's flags that pflag has no types for.

// An eventCount is a number of events. It tells users of bcc, where -n is the name of
// a process, how that is said here.
type eventCount int

func (n *eventCount) String() string { return strconv.Itoa(int(*n)) }

func (n *eventCount) Set(s string) error {
	x, err := strconv.Atoi(s)
	if err != nil {
		return errors.New("not a number; --name TEXT selects by the name of the thread")
	}
	*n = eventCount(x)
	return nil
}

func (n *eventCount) Type() string { return "N" }

// A rateLimit is the largest number of events a second that are printed; 0 is
// no limit.
type rateLimit int

func (r *rateLimit) String() string {
	if *r == 0 {
		return ""
	}
	return strconv.Itoa(int(*r)) + "/s"
}

// Set reads N or N/s.
func (r *rateLimit) Set(s string) error {
	n, err := strconv.Atoi(strings.TrimSuffix(s, "/s"))
	if err != nil || n < 1 {
		return fmt.Errorf("want N or N/s, a number of events a second")
	}
	*r = rateLimit(n)
	return nil
}

func (r *rateLimit) Type() string { return "N[/s]" }

// A byteSize is a number of bytes; 0 is the default.
type byteSize int

func (b *byteSize) String() string {
	if *b == 0 {
		return ""
	}
	return strconv.Itoa(int(*b))
}

// Set reads a number of bytes, or with K, M or G behind it of units of 1024, 1024²
// and 1024³.
func (b *byteSize) Set(s string) error {
	digits := strings.TrimRight(s, "KMG")
	shift := 0
	switch s[len(digits):] {
	case "":
	case "K":
		shift = 10
	case "M":
		shift = 20
	case "G":
		shift = 30
	default:
		return errors.New("want a number of bytes, such as 65536 or 64M")
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || bits.Len(uint(n))+shift >= bits.UintSize {
		return errors.New("want a number of bytes, such as 65536 or 64M")
	}
	*b = byteSize(n << shift)
	return nil
}

func (b *byteSize) Type() string { return "SIZE" }
