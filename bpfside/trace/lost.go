package trace

import (
	"encoding/binary"
	"fmt"
	"time"
)

// A LostError stands in the sequence of events where hits did not become what they
// should have. The session goes on after it.
type LostError struct {
	// Count is the number of hits lost since the last LostError of this Reason.
	Count  uint64
	Reason LostReason
}

// A LostReason is why hits were lost.
type LostReason uint8

// The reasons.
const (
	// BufferFull: the ring buffer was full, since the consumer is too slow.
	BufferFull LostReason = iota
	// TooManyKeys: a hit was not counted since there are as many keys as
	// Options.MaxKeys allows.
	TooManyKeys
	// Unreadable: an argument that the condition or the value of a histogram
	// needs could not be read.
	Unreadable

	numLostReasons = 3
)

// Error says how many hits were lost, and why.
func (e *LostError) Error() string {
	what, plural := "event", "s"
	if e.Reason != BufferFull {
		what = "hit"
	}
	if e.Count == 1 {
		plural = ""
	}
	what = fmt.Sprintf("%d %s%s ", e.Count, what, plural)
	switch e.Reason {
	case BufferFull:
		return what + "lost: ring buffer full"
	case TooManyKeys:
		return what + "not counted: too many different keys"
	}
	return what + "left out: an argument of the condition or the value cannot be read"
}

// losses are how many hits were lost for each reason.
type losses [numLostReasons]uint64

// mmapable lets the counters be read without a system call: BPF_F_MMAPABLE,
// include/uapi/linux/bpf.h, Linux 5.5.
const mmapable = 1 << 10

// losses returns how many hits were lost so far.
func (s *Session) losses() (l losses) {
	var buf [8 * numLostReasons]byte
	if s.lostMem == nil {
		return l
	}
	if _, err := s.lostMem.ReadAt(buf[:], 0); err == nil {
		for i := range l {
			l[i] = binary.NativeEndian.Uint64(buf[8*i:])
		}
	}
	return l
}

// Lost returns the number of hits lost so far, for whatever reason.
func (s *Session) Lost() uint64 {
	sum := uint64(0)
	for _, n := range s.losses() {
		sum += n
	}
	return sum
}

// yieldLost hands out a LostError for each reason for which hits were lost since the
// last one.
func (s *Session) yieldLost(yield func(Event, error) bool) bool {
	lost := s.losses()
	for i, n := range lost {
		if n == s.reported[i] {
			continue
		}
		err := &LostError{Count: n - s.reported[i], Reason: LostReason(i)}
		s.reported[i] = n
		if !yield(Event{}, err) {
			return false
		}
	}
	return true
}

// lossInterval is how often losses are looked for that no event may follow: those of
// counts and conditions.
const lossInterval = time.Second

// watchLosses wakes the consumer when hits were lost, until the session is finished.
func (s *Session) watchLosses() {
	var known losses
	for {
		select {
		case <-s.finished:
			return
		case <-time.After(lossInterval):
		}
		if now := s.losses(); now != known {
			known = now
			s.reader.Flush()
		}
	}
}
