package trace

import (
	"fmt"
	"sync"
)

// A ProblemError stands in the sequence of events where a target was found and could
// not be attached, or where a file or a process could not be read. The session goes on
// after it.
type ProblemError struct{ Err error }

// Error says what could not be done.
func (e *ProblemError) Error() string { return e.Err.Error() }

// Unwrap returns the fault.
func (e *ProblemError) Unwrap() error { return e.Err }

// Problems returns why some targets could not be attached when the session was
// made, nil if all are.
func (s *Session) Problems() []error { return s.problems }

// tell keeps problems for the consumer, and wakes him.
func (s *Session) tell(problems []error) {
	if len(problems) > 0 {
		s.later.add(problems)
		s.reader.Flush()
	}
}

// maxPending bounds the problems that wait for the consumer.
const maxPending = 100

// A problemQueue has the problems that the consumer was not told.
type problemQueue struct {
	mu      sync.Mutex
	list    []error
	dropped int // beyond maxPending
}

func (q *problemQueue) add(problems []error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	room := min(len(problems), maxPending-len(q.list))
	q.list = append(q.list, problems[:room]...)
	q.dropped += len(problems) - room
}

// pending reports whether there are problems to tell.
func (q *problemQueue) pending() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.list) > 0
}

// next returns the problem to tell next, nil if there is none.
func (q *problemQueue) next() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.list) == 0 {
		return nil
	}
	err := q.list[0]
	q.list = q.list[1:]
	if len(q.list) == 0 && q.dropped > 0 {
		err = fmt.Errorf("%w (and %d more problems)", err, q.dropped)
		q.dropped = 0
	}
	return err
}

// yield hands out the problems.
func (q *problemQueue) yield(yield func(Event, error) bool) bool {
	for err := q.next(); err != nil; err = q.next() {
		if !yield(Event{}, &ProblemError{err}) {
			return false
		}
	}
	return true
}
