//go:build linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A load is how the probe is fired.
type load struct {
	processes int
	rate      int // a second, by each process; 0 is as fast as it goes
}

func (l load) String() string {
	if l.rate == 0 {
		return fmt.Sprintf("%d × flat out", l.processes)
	}
	return fmt.Sprintf("%d × %d/s", l.processes, l.rate)
}

// A loadResult is what became of the hits of one run.
type loadResult struct {
	fired, delivered, said int64 // said: how many the tool says that it has lost
	peakKB                 int64
	busy                   time.Duration // processor time of the tracer
}

// measureThroughput prints how many events reach a file.
func (c *config) measureThroughput() error {
	tracers := installed(nopfire, bpftrace)
	rows := [][]string{{"load", "tracer", "n", "fired/s", "in the file/s", "lost", "lost, unsaid", "µs of the tracer an event", "peak RSS"}}
	var errs []error
	for _, l := range []load{{1, 50_000}, {1, 100_000}, {1, 200_000}, {1, 400_000}, {1, 0}, {2, 50_000}, {2, 200_000}, {2, 0}} {
		results := make(map[string][]loadResult)
		for range c.runs {
			for _, t := range tracers {
				r, err := c.measureLoad(t, l)
				if err == nil && t.own && r.fired-r.delivered != r.said {
					err = fmt.Errorf("fired %d, delivered %d, and says that %d are lost", r.fired, r.delivered, r.said)
				}
				if err != nil {
					errs = append(errs, t.failed(fmt.Errorf("%v: %w", l, err)))
					continue
				}
				results[t.name] = append(results[t.name], r)
			}
		}
		for _, t := range tracers {
			rows = append(rows, c.loadRow(l, t, results[t.name]))
		}
	}
	printTable(rows)
	return errors.Join(errs...)
}

// loadRow returns the medians of some runs.
func (c *config) loadRow(l load, t tracer, results []loadResult) []string {
	var fired, delivered, lost, busy []float64
	var unsaid, peak []int64
	for _, r := range results {
		busy = append(busy, float64(r.busy.Microseconds())/float64(max(1, r.delivered)))
		fired = append(fired, float64(r.fired)*1e3/float64(c.millis))
		delivered = append(delivered, float64(r.delivered)*1e3/float64(c.millis))
		lost = append(lost, 100*float64(r.fired-r.delivered)/float64(r.fired))
		unsaid = append(unsaid, r.fired-r.delivered-r.said)
		peak = append(peak, r.peakKB)
	}
	midFired, _, _ := median(fired)
	midDelivered, low, high := median(delivered)
	midLost, _, mostLost := median(lost)
	midUnsaid, _, _ := median(unsaid)
	midBusy, _, _ := median(busy)
	_, _, peakKB := median(peak)
	return []string{l.String(), t.name, fmt.Sprint(len(results)), thousands(midFired),
		fmt.Sprintf("%s (%s…%s)", thousands(midDelivered), thousands(low), thousands(high)),
		fmt.Sprintf("%.2f %% (at most %.2f)", midLost, mostLost), fmt.Sprint(midUnsaid), fmt.Sprintf("%.2f", midBusy), fmt.Sprintf("%.0f MB", float64(peakKB)/1024)}
}

func thousands(n float64) string { return fmt.Sprintf("%.0f k", n/1e3) }

// measureLoad runs a tracer while programs fire, and counts the lines.
func (c *config) measureLoad(t tracer, l load) (r loadResult, err error) {
	var programs []*firing
	for range l.processes {
		f, err := c.startFiring()
		if err != nil {
			return r, err
		}
		defer f.stop()
		programs = append(programs, f)
	}
	pid := 0
	if l.processes == 1 {
		pid = programs[0].cmd.Process.Pid
	}
	out, err := os.Create(filepath.Join(c.dir, "events"))
	if err != nil {
		return r, err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	var stderr bytes.Buffer
	cmd := t.command(c, pid, false)
	cmd.Stdout, cmd.Stderr = out, &stderr
	tool, err := startTool(cmd)
	if err != nil {
		return r, err
	}
	defer tool.interrupt()

	for _, f := range programs {
		if err := f.waitTraced(tool); err != nil {
			tool.interrupt()
			return r, fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
		}
	}
	// The semaphore is up a little before the program is attached.
	time.Sleep(time.Second)
	before, err := processorTime(cmd.Process.Pid)
	if err != nil {
		return r, err
	}
	for _, f := range programs {
		if l.rate == 0 {
			err = f.send("storm %d", c.millis)
		} else {
			err = f.send("pace %d %d", l.rate, c.millis)
		}
		if err != nil {
			return r, err
		}
	}
	for _, f := range programs {
		n, err := f.fired()
		if err != nil {
			return r, err
		}
		r.fired += n
	}
	after, err := waitIdle(cmd.Process.Pid)
	if err != nil {
		return r, err
	}
	r.busy = after - before
	if r.peakKB, err = peakMemory(cmd.Process.Pid); err != nil {
		return r, err
	}
	tool.interrupt()
	if r.delivered, r.said, err = countEvents(out.Name()); err != nil {
		return r, err
	}
	r.said += saidLost(stderr.String())
	return r, nil
}

// countEvents returns how many events a file has, and how many it says are lost.
func countEvents(path string) (events, lost int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if bytes.Contains(lines.Bytes(), []byte("msg=message ")) {
			events++
		} else {
			lost += saidLost(lines.Text())
		}
	}
	return events, lost, lines.Err()
}

// lostPhrases are what tools say of lost events: nopfire, bpftrace.
var lostPhrases = regexp.MustCompile(`(?m)(?:(\d+) events? lost|Lost (\d+) events)`)

// saidLost returns the sum of all losses that a text tells of.
func saidLost(text string) (sum int64) {
	for _, m := range lostPhrases.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.ParseInt(strings.Join(m[1:], ""), 10, 64)
		sum += n
	}
	return sum
}
