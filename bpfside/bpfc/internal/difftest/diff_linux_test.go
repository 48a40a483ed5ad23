package difftest

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nopfire/nopfire/internal/testutils"
)

var (
	diffN      = flag.Int("diff.n", 200, "programs to compare")
	diffSeed   = flag.Uint64("diff.seed", 1, "seed of the first program")
	diffDir    = flag.String("diff.dir", "", "directory for the programs on which compilers differ")
	diffMax    = flag.Int("diff.max", 10, "findings after which to stop")
	diffReduce = flag.Int("diff.reduce", 400, "tries to make a finding smaller")
	diffClang  = flag.Bool("diff.clang", false, "compare clang with itself at other levels, which tests the generator")
	diffSort   = flag.String("diff.kind", "", "report findings of this kind alone")
)

// batch is how many programs share a file: to start clang takes longer than to
// compile one.
const batch = 20

// TestDiff compares what programs of clang and of bpfc do.
func TestDiff(t *testing.T) {
	testutils.Root(t)
	testutils.NeedBPF(t)
	s := newSession(t)
	start := time.Now()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		tick := time.NewTicker(time.Minute)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(os.Stderr, "%s %s\n", time.Since(start).Round(time.Second), s)
			case <-stop:
				return
			}
		}
	}()
	var next atomic.Uint64
	var wg sync.WaitGroup
	for worker := range min(2, runtime.NumCPU()) {
		wg.Go(func() {
			// One CPU, so that per-CPU values are of one.
			runtime.LockOSThread()
			var set unix.CPUSet
			set.Set(worker)
			if err := unix.SchedSetaffinity(0, &set); err != nil {
				t.Errorf("bind to CPU %d: %v", worker, err)
			}
			for {
				n := next.Add(1) - 1
				if n*batch >= uint64(*diffN) || s.full() {
					return
				}
				s.batch(*diffSeed + n*batch)
			}
		})
	}
	wg.Wait()
	t.Logf("%s in %s", s, time.Since(start).Round(time.Second))
	for _, f := range s.findings {
		t.Errorf("%s: %s, seed %d\n%s\n%s", f.kind, f.with, f.seed, f.text, f.program.Root)
	}
	if s.equal.Load() < int64(*diffN)/4 && len(s.findings) == 0 {
		t.Errorf("only %d of %d programs were compared", s.equal.Load(), *diffN)
	}
}

// A session is one run of TestDiff.
type session struct {
	t         testing.TB
	reference compiler
	levels    []compiler // one of them for each batch, beside usual
	usual     compiler

	compared, equal, unfit, noProgram atomic.Int64

	mu       sync.Mutex
	findings []*finding
	kinds    map[string]int
	reasons  map[string]int
}

func newSession(t testing.TB) *session {
	s := &session{t: t, kinds: make(map[string]int), reasons: make(map[string]int)}
	s.reference = newClang(t, "-O2", "-mcpu=v3")
	s.usual = &ours{cpu: 3}
	s.levels = []compiler{&ours{cpu: 1}, &ours{cpu: 2}, &ours{cpu: 4}, &ours{cpu: 3, old: true}}
	if *diffClang {
		s.usual = newClang(t, "-O1", "-mcpu=v3")
		s.levels = []compiler{newClang(t, "-O2", "-mcpu=v1"), newClang(t, "-O2", "-mcpu=v2"), newClang(t, "-Os", "-mcpu=v3"), newClang(t, "-O2", "-mcpu=v3", "-fno-unroll-loops", "-fno-inline")}
	}
	return s
}

func (s *session) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("compared %d programs: %d equal at every level, findings %v; clang's not loaded: %d; not compiled by clang: %d",
		s.compared.Load(), s.equal.Load(), s.kinds, s.unfit.Load(), s.noProgram.Load())
}

func (s *session) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.findings) >= *diffMax
}

// level returns the second compiler for the batch of a seed.
func (s *session) level(seed uint64) compiler { return s.levels[seed/batch%uint64(len(s.levels))] }

// configOf returns the configuration that goes with a seed.
func configOf(seed uint64) Config {
	which := seed / batch % 4
	return Config{NoFetch: which < 2, NoCalls: seed/batch%16 == 5}
}

// batch makes the programs from seed on and compares them.
func (s *session) batch(seed uint64) {
	var progs []*Program
	for i := range uint64(batch) {
		progs = append(progs, Generate(seed+i, fmt.Sprintf("p%d", i), configOf(seed)))
	}
	want := make([]outcome, batch)
	cs, err := s.reference.compile(Source(progs...))
	for i, p := range progs {
		one, oneErr := cs, err
		if err != nil {
			one, oneErr = s.reference.compile(Source(p))
		}
		if oneErr != nil {
			s.skip(&s.noProgram, seed+uint64(i), oneErr)
			continue
		}
		if want[i], oneErr = runOne(one, p, seed+uint64(i)); oneErr != nil {
			s.skip(&s.unfit, seed+uint64(i), oneErr)
		}
	}
	bad := make([]bool, batch)
	for _, c := range []compiler{s.usual, s.level(seed)} {
		cs, err := c.compile(Source(progs...))
		for i, p := range progs {
			if want[i] == nil || bad[i] {
				continue
			}
			var f *finding
			if err != nil {
				f = check(p, seed+uint64(i), want[i], c)
			} else {
				f = checkObject(cs, p, seed+uint64(i), want[i], c)
			}
			if f != nil {
				bad[i] = true
				s.add(f)
			}
		}
	}
	for i := range progs {
		if want[i] != nil {
			s.compared.Add(1)
			if !bad[i] {
				s.equal.Add(1)
			}
		}
	}
}

// skip counts a program that clang or, once clang is done, the verifier does not
// take.
func (s *session) skip(counter *atomic.Int64, seed uint64, err error) {
	counter.Add(1)
	if *diffDir == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.reasons); n < 50 {
		s.reasons[fmt.Sprintf("%d: %v", seed, err)]++
		os.WriteFile(fmt.Sprintf("%s/skip-%d.txt", *diffDir, seed), []byte(err.Error()+"\n"+Source(Generate(seed, "p", configOf(seed)))), 0o644)
	}
}

// add makes the program of a finding smaller and keeps it.
func (s *session) add(f *finding) {
	s.mu.Lock()
	s.kinds[f.kind]++
	s.mu.Unlock()
	if *diffSort != "" && !strings.HasPrefix(f.kind, *diffSort) || s.full() {
		return
	}
	last := f
	Reduce(f.program, *diffReduce, func(p *Program) bool {
		g, err := compare(p, f.seed, s.reference, f.with)
		if err != nil || g == nil || g.kind != f.kind || f.kind == rejected && message(g.text) != message(f.text) {
			return false
		}
		last = g
		return true
	})
	if *diffDir != "" {
		if path, err := last.write(*diffDir); err != nil {
			s.t.Errorf("keep a finding: %v", err)
		} else {
			fmt.Fprintln(os.Stderr, "finding:", path)
		}
	}
	s.mu.Lock()
	s.findings = append(s.findings, last)
	s.mu.Unlock()
}

// message is a diagnostic without its place and the names in it.
func message(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	_, text, _ = strings.Cut(text, ": ")
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, text)
}
