package trace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/urdt/abi"
)

// Start traces what a query says: a hit after it has returned is seen. Processes
// and objects that appear later are traced as they come, those that go are
// forgotten.
//
// A probe that cannot be traced, or that a clause's expressions do not fit, costs
// itself only, and is one of Problems, or of those that Events yields if it
// appears later; that an expression does not fit is told of the first few probes.
// It is no fault if there is no probe yet, unless the clause names a file; then,
// and where a pattern without wildcards finds nothing in the one process of the query
// (unless Later), it is a problem that wraps usdt.ErrNoProbe, and the error of Start
// if no other clause has found or waits for anything. An expression that is wrong for
// every probe is an *ExprError.
//
// The caller closes the session.
func Start(q Query) (*Session, error) {
	s, err := start(q, 0)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	return s, nil
}

// mistakes returns what is wrong with the expressions of clauses whatever the probe:
// what a person who has made a mistake wants to hear before anything else.
func mistakes(clauses []*clause) error {
	var errs []error
	for _, c := range clauses {
		errs = append(errs, c.mistake())
	}
	return errors.Join(errs...)
}

// start is Start with the interval of the follower, for tests.
func start(q Query, interval time.Duration) (*Session, error) {
	opts, err := q.Options.withDefaults()
	if err != nil {
		return nil, err
	}
	clauses, err := parseClauses(q.Clauses)
	if err != nil {
		return nil, err
	}
	s, err := startClauses(&q, opts, clauses, interval)
	if err != nil {
		return nil, cmp.Or(mistakes(clauses), err)
	}
	return s, nil
}

func startClauses(q *Query, opts Options, clauses []*clause, interval time.Duration) (*Session, error) {
	if _, err := usdt.DefaultMethod(); err != nil {
		return nil, err
	}
	if q.PID != 0 && !exists(fmt.Sprintf("/proc/%d", q.PID)) {
		return nil, noProcessError(q.PID)
	}
	s, err := newSession(opts, clauses)
	if err != nil {
		return nil, err
	}
	s.pid = q.PID
	if err := s.begin(q, interval); err != nil {
		s.abandon()
		if q.PID != 0 && !exists(fmt.Sprintf("/proc/%d", q.PID)) {
			err = noProcessError(q.PID) // whatever else there was
		}
		return nil, err
	}
	s.run()
	return s, nil
}

// A noProcessError is the number of a process that does not exist.
type noProcessError int

func (e noProcessError) Error() string { return fmt.Sprintf("no process %d", int(e)) }

// Unwrap returns os.ErrNotExist.
func (e noProcessError) Unwrap() error { return os.ErrNotExist }

// begin attaches to what is there.
func (s *Session) begin(q *Query, interval time.Duration) error {
	missing := s.attachPaths()
	patterns := s.followed()
	if len(patterns) > 0 {
		f, err := usdt.NewFollower(&usdt.FollowOptions{PID: s.pid, Interval: interval}, patterns...)
		if errors.Is(err, os.ErrNotExist) && s.pid != 0 {
			return noProcessError(s.pid) // it has ended meanwhile
		}
		if err != nil {
			return err
		}
		s.follow = newFollowing(f)
		if s.urdt != nil {
			s.problems = append(s.problems, s.attachKnown(s.pid)...)
		}
		s.problems = append(s.problems, s.attachFiles(q.Files, patterns)...)
		for c := range f.Changes(context.Background()) {
			s.problems = append(s.problems, s.apply(c)...)
			break
		}
		missing = append(missing, s.unmatched(q))
	}
	if err := errors.Join(missing...); err != nil {
		// It costs the other clauses nothing.
		if !slices.ContainsFunc(s.clauses, func(c *clause) bool { return c.hopes(q) }) {
			return err
		}
		s.problems = append(s.problems, slices.DeleteFunc(missing, func(err error) bool { return err == nil })...)
	}
	if err := s.misfits(); err != nil {
		return err
	}
	return s.hopeless(q)
}

// hopes reports whether a clause has found a probe, or may find one later.
func (c *clause) hopes(q *Query) bool {
	return c.selected || c.waits(q)
}

// waits reports whether it is no fault of a clause that there is no probe for it yet.
// Of one process a name without wildcards is more likely mistyped.
func (c *clause) waits(q *Query) bool {
	return c.Path == "" && (c.name != nil || q.PID == 0 || q.Later || c.isGlob())
}

// run starts what goes on beside the consumer.
func (s *Session) run() {
	if slices.ContainsFunc(s.clauses, func(c *clause) bool { return c.counts() || c.Where != "" }) {
		s.watchers.Go(s.watchLosses)
	}
	if s.pid == 0 && len(s.paths) > 0 {
		s.watchers.Go(s.watchPaths)
	}
	if s.follow == nil {
		if s.pid != 0 {
			s.watch(s.pid)
		}
		return
	}
	if s.urdt != nil {
		s.watchers.Go(func() { s.followTypes(s.pid) })
	}
	go func() {
		for c := range s.follow.follower.Changes(context.Background()) {
			s.tell(s.apply(c))
		}
		close(s.follow.done)
		s.finish()
	}()
}

// abandon closes a session that does not run yet.
func (s *Session) abandon() {
	if s.follow != nil {
		close(s.follow.done)
	}
	s.Close()
}

// followed returns the patterns of the clauses without a path, for a follower.
func (s *Session) followed() []string {
	var patterns []string
	for _, c := range s.clauses {
		p := c.Pattern
		switch {
		case c.Path != "":
			continue
		case c.name != nil:
			p = urdtPattern
		}
		if !slices.Contains(patterns, p) {
			patterns = append(patterns, p)
		}
	}
	return patterns
}

// unmatched returns an error for the patterns of which the one process has no probe,
// and should have one.
func (s *Session) unmatched(q *Query) error {
	var patterns []string
	for _, c := range s.clauses {
		if c.Path == "" && !c.selected && !c.waits(q) && !slices.Contains(patterns, c.Pattern) {
			patterns = append(patterns, c.Pattern)
		}
	}
	if len(patterns) == 0 {
		return nil
	}
	// Once more: the follower does not say what else there is.
	_, err := usdt.ProcessTargets(s.pid, patterns...)
	return err
}

// misfits returns what is wrong with the expressions of clauses that fit no probe.
func (s *Session) misfits() error {
	var errs []error
	for _, c := range s.clauses {
		switch {
		case c.fits:
		case c.name != nil:
			errs = append(errs, s.misfitName(c))
		case c.misfit != nil:
			errs = append(errs, c.misfit)
		default:
			errs = append(errs, c.mistake())
		}
	}
	return errors.Join(errs...)
}

// misfitName is misfits for a clause with a name. That its expressions fit no number of
// integers is a problem, and no error: a process may register other types later.
func (s *Session) misfitName(c *clause) error {
	nargs := c.name.NArgs
	if nargs == EveryNumber {
		nargs = abi.MaxArgs
	}
	err, other := c.check(nargs)
	var m *misfit
	if errors.As(err, &m) && other {
		if c.told == nil { // of no object
			s.problems = append(s.problems, m.of(c.name.String()))
		}
		return nil
	}
	return err
}

// hopeless returns the problems of a session that is attached to nothing, if it never
// will be: this process may not trace, or nothing of what was asked for can be traced.
func (s *Session) hopeless(q *Query) error {
	if len(s.links) > 0 || len(s.problems) == 0 {
		return nil
	}
	denied := slices.ContainsFunc(s.problems, func(err error) bool {
		var ae *usdt.AttachError
		return errors.As(err, &ae) && errors.Is(err, os.ErrPermission)
	})
	waits := slices.ContainsFunc(s.clauses, func(c *clause) bool { return c.waits(q) })
	if denied || s.follow == nil || !waits {
		return errors.Join(s.problems...)
	}
	return nil
}
