package trace

import "fmt"

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
