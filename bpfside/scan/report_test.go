package scan

import (
	"context"
	"testing"
)

// Progress is told while a scan goes on, and not any more when it has ended.
func TestReport(t *testing.T) {
	w := newWalker(context.Background(), nil)
	w.stats.dirs.Add(7)
	told := make(chan Stats)
	stop := w.report(func(s Stats) {
		select {
		case told <- s:
		default:
		}
	})
	if s := <-told; s.Dirs != 7 {
		t.Errorf("%+v", s)
	}
	stop() // has waited for the last call
	select {
	case s := <-told:
		t.Errorf("told %+v after the end", s)
	default:
	}
	newWalker(context.Background(), nil).report(nil)()
}
