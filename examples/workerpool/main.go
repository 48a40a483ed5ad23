// Command workerpool factors the numbers it reads, one a line, with several
// workers. Each worker says through probes what it is doing, so that a running
// pool can be watched:
//
//	seq 1000000000000 1000000000100 | workerpool
//	sudo nopfire trace -p $(pidof workerpool) 'workerpool:job__*'
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nopfire/nopfire/emit"
)

func main() {
	workers := flag.Int("workers", 4, "number of workers")
	flag.Parse()
	if *workers < 1 {
		log.Fatal("workerpool: at least one worker is needed")
	}
	if err := run(os.Stdin, os.Stdout, *workers); err != nil {
		log.Fatal(err)
	}
}

// A job is one line of the input.
type job struct {
	ID   uint64
	Line string
}

// run factors the numbers of in with n workers and writes the results to out,
// in the order in which they are ready.
func run(in io.Reader, out io.Writer, n int) error {
	p, err := newProbes()
	if err != nil {
		log.Printf("no probes: %v", err)
	}
	defer p.provider.Close()

	jobs := make(chan *job, n)
	results := make(chan string)
	var wg sync.WaitGroup
	for w := range n {
		wg.Go(func() {
			for j := range jobs {
				results <- p.work(w, j)
			}
		})
	}
	printed := make(chan struct{})
	go func() {
		defer close(printed)
		for r := range results {
			fmt.Fprintln(out, r)
		}
	}()

	lines := bufio.NewScanner(in)
	for id := uint64(1); lines.Scan(); id++ {
		jobs <- &job{ID: id, Line: lines.Text()}
		p.queued.Fire(id, len(jobs))
	}
	close(jobs)
	wg.Wait()
	close(results)
	<-printed
	return lines.Err()
}

// probes are the probes of the pool.
type probes struct {
	provider *emit.Provider
	queued   *emit.Probe2[uint64, int]                               // id, jobs waiting
	start    *emit.Probe2[int, *job]                                 // worker, job
	done     *emit.Probe5[int, uint64, string, time.Duration, error] // worker, id, result, took, error
}

// newProbes defines and loads the probes. They can be used even if there is an
// error: then they never fire.
func newProbes() (*probes, error) {
	var p probes
	var errs [5]error
	p.provider, errs[0] = emit.NewProvider("workerpool", nil)
	p.queued, errs[1] = emit.NewProbe2[uint64, int](p.provider, "job__queued",
		&emit.ProbeOptions{Args: []string{"id", "waiting"}})
	p.start, errs[2] = emit.NewProbe2[int, *job](p.provider, "job__start",
		&emit.ProbeOptions{Args: []string{"worker", "job"}})
	p.done, errs[3] = emit.NewProbe5[int, uint64, string, time.Duration, error](p.provider, "job__done",
		&emit.ProbeOptions{Args: []string{"worker", "id", "result", "took", "err"}})
	errs[4] = p.provider.Load()
	return &p, errors.Join(errs[:]...)
}

// work does one job and returns the line to print.
func (p *probes) work(worker int, j *job) string {
	p.start.Fire(worker, j)
	begin := time.Now()
	result, err := factor(j.Line)
	// The arguments cost something: they are made only if somebody looks.
	p.done.FireFunc(func() (int, uint64, string, time.Duration, error) {
		return worker, j.ID, strings.Join(result, " "), time.Since(begin), err
	})
	if err != nil {
		return fmt.Sprintf("%s: %v", j.Line, err)
	}
	return fmt.Sprintf("%s: %s", j.Line, strings.Join(result, " "))
}

// factor returns the prime factors of a number, smallest first.
func factor(line string) ([]string, error) {
	n, err := strconv.ParseUint(line, 10, 64)
	if err != nil {
		return nil, errors.New("not a number")
	}
	var factors []string
	for d := uint64(2); d <= n/d; d++ {
		for n%d == 0 {
			factors = append(factors, strconv.FormatUint(d, 10))
			n /= d
		}
	}
	if n > 1 || len(factors) == 0 {
		factors = append(factors, strconv.FormatUint(n, 10))
	}
	return factors, nil
}
