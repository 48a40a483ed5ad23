package trace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// maxPending bounds the problems that wait for the consumer.
const maxPending = 100

// A ProblemError stands in the sequence of events of a following session where a
// target was found and could not be attached, or where a file or a process could
// not be read. The session goes on after it.
type ProblemError struct{ Err error }

// Error says what could not be done.
func (e *ProblemError) Error() string { return e.Err.Error() }

// Unwrap returns the fault.
func (e *ProblemError) Unwrap() error { return e.Err }

// NewFollowingSession attaches to the targets that a follower finds, as it finds
// them: those that are there when it returns, and later ones while the session
// lasts. They are detached when they are gone. Their events stand in one sequence,
// which ends with the process if the follower follows one.
//
// It is no error if there is no target yet. It is one if this process may not
// trace, or if the kernel cannot. Problems has the faults of the first targets;
// later ones stand in the sequence of events, as a [*ProblemError].
//
// The session takes the follower over and closes it, even when it returns an
// error; nobody else may use its Changes. The caller must Close the session.
func NewFollowingSession(f *usdt.Follower, o *Options) (*Session, error) {
	var s *Session
	opts, err := o.withDefaults()
	if err == nil {
		s, err = newSession(opts)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("trace: %w", err)
	}
	s.follow = &following{follower: f, done: make(chan struct{}), closing: make(map[fileKey]chan struct{})}
	if _, err = usdt.DefaultMethod(); err == nil {
		for c := range f.Changes(context.Background()) {
			s.problems = s.apply(c)
			break
		}
		for _, p := range s.problems {
			// What keeps this process from one keeps it from all.
			var ae *usdt.AttachError
			if errors.As(p, &ae) && errors.Is(p, os.ErrPermission) && len(s.links) == 0 {
				err = errors.Join(s.problems...)
			}
		}
	}
	if err != nil {
		close(s.follow.done)
		s.Close()
		return nil, fmt.Errorf("trace: %w", err)
	}
	go func() {
		for c := range f.Changes(context.Background()) {
			if problems := s.apply(c); len(problems) > 0 {
				s.follow.tell(problems)
				s.reader.Flush()
			}
		}
		close(s.follow.done)
		s.finish()
	}()
	return s, nil
}

// A following is what a session has for its follower. A nil one is that of a
// session that does not follow.
type following struct {
	follower *usdt.Follower
	done     chan struct{} // closed when no Change is applied any more
	closing  map[fileKey]chan struct{}
	closers  sync.WaitGroup

	mu       sync.Mutex
	problems []error // that the consumer was not told
	dropped  int     // beyond maxPending
}

// apply detaches and attaches what a Change says, and returns the problems.
func (s *Session) apply(c usdt.Change) []error {
	for _, t := range c.Removed {
		key := fileOf(t)
		if links := s.links[key]; len(links) > 0 {
			delete(s.links, key)
			s.follow.close(key, func() { closeLinks(links) })
		}
	}
	for _, t := range c.Added {
		s.follow.awaitClosed(fileOf(t))
	}
	_, problems := s.attach(c.Added)
	return append(c.Problems, problems...)
}

// close closes the links of a file. That takes the time of RCU, about 50 ms,
// which others need not wait for.
func (f *following) close(key fileKey, closeLinks func()) {
	closed := make(chan struct{})
	f.closing[key] = closed
	f.closers.Go(func() {
		closeLinks()
		close(closed)
	})
	for key, c := range f.closing { // forget what is done
		select {
		case <-c:
			delete(f.closing, key)
		default:
		}
	}
}

// awaitClosed waits until the links of a file are closed: a second link beside a
// living one would double the events.
func (f *following) awaitClosed(key fileKey) {
	if c := f.closing[key]; c != nil {
		<-c
		delete(f.closing, key)
	}
}

// stop ends the following.
func (f *following) stop() {
	if f == nil {
		return
	}
	f.follower.Close()
	<-f.done
	f.closers.Wait()
}

// tell keeps problems for the consumer.
func (f *following) tell(problems []error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	room := min(len(problems), maxPending-len(f.problems))
	f.problems = append(f.problems, problems[:room]...)
	f.dropped += len(problems) - room
}

// pending reports whether there are problems to tell.
func (f *following) pending() bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.problems) > 0
}

// yieldProblems hands out the problems.
func (f *following) yieldProblems(yield func(Event, error) bool) bool {
	for f.pending() {
		f.mu.Lock()
		err := f.problems[0]
		f.problems = f.problems[1:]
		if len(f.problems) == 0 && f.dropped > 0 {
			err = fmt.Errorf("%w (and %d more problems)", err, f.dropped)
			f.dropped = 0
		}
		f.mu.Unlock()
		if !yield(Event{}, &ProblemError{err}) {
			return false
		}
	}
	return true
}
