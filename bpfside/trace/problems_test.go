package trace

import (
	"errors"
	"fmt"
	"testing"
)

// Problems wait for the consumer, a bounded number of them, and the number of the
// others is told.
func TestProblemsAreBounded(t *testing.T) {
	var q problemQueue
	for i := range 3 * maxPending {
		q.add([]error{fmt.Errorf("problem %d", i)})
	}
	n := 0
	var last error
	q.yield(func(_ Event, err error) bool {
		var pe *ProblemError
		if !errors.As(err, &pe) {
			t.Errorf("error %v is no ProblemError", err)
		}
		n++
		last = err
		return true
	})
	if n != maxPending || last.Error() != "problem 99 (and 200 more problems)" {
		t.Errorf("%d problems, the last %v", n, last)
	}
	if q.pending() {
		t.Error("told, and still pending")
	}
	// A consumer that leaves in the middle gets the others later.
	q.add([]error{errors.New("a"), errors.New("b")})
	q.yield(func(Event, error) bool { return false })
	if len(q.list) != 1 || q.list[0].Error() != "b" {
		t.Errorf("left are %v", q.list)
	}
}
