package selftest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/nopfire/nopfire/emit"
	"github.com/nopfire/nopfire/urdt"
)

// ChildCommand is the hidden command that calls Child.
const ChildCommand = "selftest-child"

// Child is the traced half of some checks: a process that obeys the lines of its
// input, and answers each with a line. It ends with its input, and so with its
// parent, however that ends.
//
//	define PROBE [shared=DIR] [semaphore]  define selftest:PROBE(i int, msg string)
//	fire N                                 fire it N times: i from 0, "message I"
//	urdt NAME N                            fire selftest:NAME of URDT with I and "message I"
//	enabled NAME                           whether selftest:NAME of URDT/2 is traced
//	scope                                  the object of URDT
func Child(in io.Reader, out io.Writer) error {
	c := child{out: out}
	defer c.close()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if err := c.obey(strings.Fields(lines.Text())); err != nil {
			fmt.Fprintf(out, "error: %s\n", oneLine(err))
			return nil
		}
	}
	return nil
}

type child struct {
	out      io.Writer
	provider *emit.Provider
	probe    *emit.Probe2[int, string]
	fired    int
}

func (c *child) close() {
	if c.provider != nil {
		c.provider.Close()
	}
}

func (c *child) obey(words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("an empty command")
	}
	answer := "done"
	switch args := words[1:]; {
	case words[0] == "define" && len(args) > 0:
		if err := c.define(args[0], args[1:]); err != nil {
			return err
		}
		answer = c.provider.Backing().Path
	case words[0] == "fire" && len(args) == 1:
		n, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		for range n {
			c.probe.Fire(c.next())
		}
	case words[0] == "urdt" && len(args) == 2:
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		for range n {
			i, msg := c.next()
			urdt.Probe2(provider, args[0], i, msg)
		}
	case words[0] == "enabled" && len(args) == 1:
		answer = strconv.FormatBool(urdt.Enabled(provider, args[0], 2))
	case words[0] == "scope":
		s := urdt.Scope()
		answer = s.Reach.String() + " " + s.Path
	default:
		return fmt.Errorf("command %q is not known", words)
	}
	_, err := fmt.Fprintln(c.out, answer)
	return err
}

func (c *child) define(name string, options []string) (err error) {
	var o emit.Options
	po := emit.ProbeOptions{Args: []string{"i", "msg"}}
	for _, option := range options {
		switch key, value, _ := strings.Cut(option, "="); key {
		case "shared":
			o = emit.Options{Backing: emit.BackingShared, Dir: value}
		case "semaphore":
			po.Semaphore = true
		}
	}
	if c.provider, err = emit.NewProvider(provider, &o); err != nil {
		return err
	}
	if c.probe, err = emit.NewProbe2[int, string](c.provider, name, &po); err != nil {
		return err
	}
	if err := c.provider.Load(); err != nil {
		return err
	}
	if got := c.provider.Backing(); got.Reason != nil {
		fmt.Fprintf(os.Stderr, "backing %v: %v\n", got.Backing, got.Reason)
	}
	return nil
}

// next returns the arguments of the next hit.
func (c *child) next() (int, string) {
	i := c.fired
	c.fired++
	return i, fmt.Sprintf("message %d", i)
}
