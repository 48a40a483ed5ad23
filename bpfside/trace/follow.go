package trace

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cilium/ebpf/link"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// restTime is how long a file that nobody maps stays attached to, if it has a name
// by which it may be mapped again: a program that is run again and again is traced
// from its first instruction, and not a few milliseconds later.
const restTime = 5 * time.Second

// A following is what a session has for its follower. A nil one is that of a
// session that does not follow.
type following struct {
	follower *usdt.Follower
	done     chan struct{} // closed when no Change is applied any more
	restTime time.Duration
	closers  sync.WaitGroup

	mu      sync.Mutex
	resting map[fileKey]*rest
	closing map[fileKey]chan struct{} // closed with the links
}

// A rest is the links of a file that nobody maps.
type rest struct {
	links []link.Link
	timer *time.Timer
}

func newFollowing(f *usdt.Follower) *following {
	return &following{
		follower: f, done: make(chan struct{}), restTime: restTime,
		resting: make(map[fileKey]*rest), closing: make(map[fileKey]chan struct{}),
	}
}

// apply detaches and attaches what a Change says, and returns the problems.
func (s *Session) apply(c usdt.Change) []error {
	s.attaching.Lock()
	defer s.attaching.Unlock()
	for _, t := range c.Removed {
		key := fileOf("", t)
		if links := s.links[key]; len(links) > 0 && !s.urdt.keeps(key) {
			delete(s.links, key)
			// Without a name a file can only be reached through a process.
			named := !strings.HasPrefix(t.Open, "/proc/")
			if !named {
				s.urdt.forget(key)
			}
			s.follow.remove(key, links, named)
		}
	}
	var fresh []*usdt.Target
	for _, t := range c.Added {
		key := fileOf("", t)
		if links := s.follow.takeBack(key); links != nil {
			s.links[key] = append(s.links[key], links...)
		}
		if len(s.links[key]) == 0 {
			fresh = append(fresh, t)
		}
	}
	return withoutGone(append(c.Problems, s.attach("", fresh)...))
}

// withoutGone drops problems of processes that have ended before they were looked at,
// or attached to, which is no fault.
func withoutGone(problems []error) []error {
	return slices.DeleteFunc(problems, func(err error) bool {
		var ae *usdt.AttachError
		return errors.Is(err, syscall.ESRCH) || errors.As(err, &ae) && errors.Is(err, os.ErrNotExist)
	})
}

// remove closes the links of a file that nobody maps, at once or after a rest.
func (f *following) remove(key fileKey, links []link.Link, mayReturn bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !mayReturn {
		f.close(key, links)
		return
	}
	r := &rest{links: links}
	r.timer = time.AfterFunc(f.restTime, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.resting[key] == r {
			delete(f.resting, key)
			f.close(key, links)
		}
	})
	f.resting[key] = r
}

// close closes the links of a file in the background: it takes the time of RCU,
// about 50 ms, which others need not wait for. The caller holds f.mu.
func (f *following) close(key fileKey, links []link.Link) {
	closed := make(chan struct{})
	f.closing[key] = closed
	f.closers.Go(func() {
		closeLinks(links)
		close(closed)
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.closing[key] == closed {
			delete(f.closing, key)
		}
	})
}

// takeBack returns the links of a file that is mapped again; nil if it has none any
// more. Then it waits until they are closed: a new link beside an old one would
// double the events.
func (f *following) takeBack(key fileKey) []link.Link {
	f.mu.Lock()
	r, closing := f.resting[key], f.closing[key]
	delete(f.resting, key)
	f.mu.Unlock()
	if r != nil {
		r.timer.Stop()
		return r.links
	}
	if closing != nil {
		<-closing
	}
	return nil
}

// stop ends the following, and returns the links that rest.
func (f *following) stop() []link.Link {
	if f == nil {
		return nil
	}
	f.follower.Close()
	<-f.done
	f.mu.Lock()
	var links []link.Link
	for _, r := range f.resting {
		r.timer.Stop()
		links = append(links, r.links...)
	}
	clear(f.resting)
	f.mu.Unlock()
	f.closers.Wait()
	return links
}
