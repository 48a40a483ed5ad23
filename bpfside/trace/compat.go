package trace

import (
	"errors"
	"fmt"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// NewSession attaches to the targets. Use Start.
func NewSession(targets []*usdt.Target, o *Options) (*Session, error) {
	s, err := oldSession(o)
	if err != nil {
		return nil, err
	}
	if len(targets) == 0 {
		s.Close()
		return nil, errors.New("trace: no targets")
	}
	s.problems = s.attach("", targets)
	if len(s.links) == 0 {
		s.Close()
		if len(s.problems) == 0 {
			return nil, errors.New("trace: no location can be attached to")
		}
		return nil, fmt.Errorf("trace: %w", errors.Join(s.problems...))
	}
	var pids []int
	for _, t := range targets {
		if t.PID == 0 {
			return s, nil
		}
		pids = append(pids, t.PID)
	}
	s.watch(pids...)
	return s, nil
}

// oldSession returns a session with the clauses that the options say.
func oldSession(o *Options) (*Session, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	list := []Clause{{Pattern: "*:*"}}
	for _, n := range opts.URDT {
		list = append(list, Clause{Pattern: n.String()})
	}
	clauses, err := parseClauses(list)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	clauses[0].notURDT = len(opts.URDT) > 0
	s, err := newSession(opts, clauses)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	return s, nil
}

// NewFollowingSession attaches to what a follower finds. Use Start.
func NewFollowingSession(f *usdt.Follower, o *Options) (*Session, error) {
	s, err := oldSession(o)
	if err != nil {
		f.Close()
		return nil, err
	}
	if _, err = usdt.DefaultMethod(); err == nil {
		s.pid = f.PID()
		s.beginFollowing(f)
		err = s.hopeless()
	}
	if err != nil {
		f.Close()
		s.abandon()
		return nil, fmt.Errorf("trace: %w", err)
	}
	s.run()
	return s, nil
}
