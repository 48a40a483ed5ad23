//go:build linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// A startUp is how a tool came up.
type startUp struct {
	millis float64 // from exec to the first event that was printed
	peakKB int64   // of memory, a second later
}

// measureStart prints how long the tracers take to the first event.
func (c *config) measureStart() error {
	f, err := c.startFiring()
	if err != nil {
		return err
	}
	defer f.stop()
	if err := f.send("pace 2000 %d", 24*time.Hour.Milliseconds()); err != nil {
		return err
	}
	tracers := installed(nopfire, nopfireExpr, bpftrace, bpftraceExpr, bcc)
	times, peaks := make(map[string][]float64), make(map[string][]int64)
	var errs []error
	for range c.runs {
		for _, t := range tracers {
			up, err := measureStartOf(t.command(c, f.cmd.Process.Pid, true))
			if err != nil {
				errs = append(errs, t.failed(err))
				continue
			}
			times[t.name] = append(times[t.name], up.millis)
			peaks[t.name] = append(peaks[t.name], up.peakKB)
		}
	}
	rows := [][]string{{"exec to the first event", "n", "median", "least…most", "peak RSS"}}
	for _, t := range tracers {
		mid, low, high := median(times[t.name])
		_, _, peak := median(peaks[t.name])
		rows = append(rows, []string{t.name, fmt.Sprint(len(times[t.name])), fmt.Sprintf("%.0f ms", mid),
			fmt.Sprintf("%.0f…%.0f", low, high), fmt.Sprintf("%.0f MB", float64(peak)/1024)})
	}
	printTable(rows)
	return errors.Join(errs...)
}

// measureStartOf runs a tracer until a second after its first event.
func measureStartOf(cmd *exec.Cmd) (up startUp, err error) {
	out, in, err := os.Pipe()
	if err != nil {
		return up, err
	}
	defer out.Close()
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = in, &stderr
	begin := time.Now()
	tool, err := startTool(cmd)
	in.Close() // the tool has its own
	if err != nil {
		return up, err
	}
	giveUp := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer giveUp.Stop()
	lines := bufio.NewScanner(out)
	for up.millis == 0 && lines.Scan() {
		if strings.Contains(lines.Text(), "msg=message ") {
			up.millis = float64(time.Since(begin).Microseconds()) / 1e3
		}
	}
	go io.Copy(io.Discard, out) // lest the tool waits
	if up.millis == 0 {
		cmd.Process.Kill()
		<-tool.done
		return up, fmt.Errorf("no event: %s", bytes.TrimSpace(stderr.Bytes()))
	}
	time.Sleep(time.Second)
	up.peakKB, err = peakMemory(cmd.Process.Pid)
	tool.interrupt()
	// The kernel lets go of the uprobe a little later than the tool. Until then it
	// refuses one with another idea of the semaphore, and bcc's is another.
	time.Sleep(300 * time.Millisecond)
	return up, err
}
