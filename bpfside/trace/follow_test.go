package trace

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/cilium/ebpf/link"
)

// A fakeLink counts how often it is closed, and takes its time.
type fakeLink struct {
	link.Link
	slow   time.Duration
	closed atomic.Int32
}

func (l *fakeLink) Close() error {
	time.Sleep(l.slow)
	l.closed.Add(1)
	return nil
}

// newTestFollowing returns a following without a follower.
func newTestFollowing(t *testing.T, rest time.Duration) *following {
	t.Helper()
	f := newFollowing(nil)
	f.restTime = rest
	t.Cleanup(f.closers.Wait)
	return f
}

func TestFilesThatNobodyMaps(t *testing.T) {
	key, other := fileKey{pid: 1}, fileKey{pid: 2}

	t.Run("rest and come back", func(t *testing.T) {
		f := newTestFollowing(t, time.Hour)
		l := new(fakeLink)
		f.remove(key, []link.Link{l}, true)
		if f.takeBack(other) != nil {
			t.Error("another file has links")
		}
		if got := f.takeBack(key); len(got) != 1 || got[0] != link.Link(l) || l.closed.Load() != 0 {
			t.Errorf("took back %v, closed %d times", got, l.closed.Load())
		}
		if f.takeBack(key) != nil {
			t.Error("taken back twice")
		}
	})
	t.Run("rest and go", func(t *testing.T) {
		f := newTestFollowing(t, time.Millisecond)
		l := new(fakeLink)
		f.remove(key, []link.Link{l}, true)
		for deadline := time.Now().Add(5 * time.Second); l.closed.Load() == 0 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		if f.takeBack(key) != nil || l.closed.Load() != 1 {
			t.Errorf("closed %d times", l.closed.Load())
		}
	})
	t.Run("go at once, and are waited for", func(t *testing.T) {
		f := newTestFollowing(t, time.Hour)
		l := &fakeLink{slow: 50 * time.Millisecond}
		f.remove(key, []link.Link{l}, false)
		if f.takeBack(key) != nil || l.closed.Load() != 1 {
			t.Errorf("closed %d times when the file is free", l.closed.Load())
		}
	})
	t.Run("come back once, go once", func(t *testing.T) {
		f := newTestFollowing(t, 5*time.Millisecond)
		l := new(fakeLink)
		f.remove(key, []link.Link{l}, true)
		if links := f.takeBack(key); links != nil {
			time.Sleep(20 * time.Millisecond) // the timer that was stopped
			if l.closed.Load() != 0 {
				t.Error("closed while in use")
			}
		}
	})
}
