package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/urdt"
)

// newListURDT returns the command that lists what there is of URDT.
func newListURDT() *cobra.Command {
	var (
		pid    int
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "urdt [-p PID]",
		Short: "List who can fire tracepoints defined at run time, and the names they told",
		Long: `List the objects through which tracepoints that are defined at run time fire,
who has mapped them, and how far an attach reaches: the system, the processes of
one user, one process. Then the names that processes have registered, with the
types of the arguments.

KIND is nopfire for a liburdt.so.1, of nopfire urdt install or of a process, and
foreign for any other library that has sites of this kind; both can be traced.

A process need not register what it fires: a name that is not listed can be
traced all the same. nopfire trace urdt:PROVIDER:NAME does.

The JSON is described in docs/json.md.`,
		Example: `  nopfire list urdt
  nopfire list urdt -p 4711 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("pid") && pid <= 0 {
				return usagef("-p %d: not a process id", pid)
			}
			found, err := findURDT(cmd.ErrOrStderr(), pid)
			if err != nil {
				return err
			}
			if asJSON {
				return found.json(cmd.OutOrStdout())
			}
			return found.text(cmd.OutOrStdout())
		},
	}
	cmd.Flags().IntVarP(&pid, "pid", "p", 0, "list what process `PID` has mapped and registered")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object an object or name")
	return cmd
}

// A urdtListing is what there is of URDT.
type urdtListing struct {
	objects []urdtObject
	names   []urdtRegistered
}

// A urdtObject is a file with sites.
type urdtObject struct {
	path, scope string
	marked      bool
	pids        []int
}

// A urdtRegistered is a name with the types of its arguments, and who has
// registered it so.
type urdtRegistered struct {
	provider, name string
	types          []string
	pids           []int
}

// findURDT looks around; in one process unless pid is 0.
func findURDT(errw io.Writer, pid int) (*urdtListing, error) {
	var res *usdt.Result
	var err error
	var known []*usdt.Target
	if pid != 0 {
		res, err = usdt.ProcessTargets(pid)
	} else {
		var problems []error
		known, problems = usdt.KnownURDT()
		note(errw, problems...)
		res, err = usdt.AllTargets()
	}
	if err != nil {
		return nil, err
	}
	l := new(urdtListing)
	seen := make(map[usdt.FileID]bool)
	for _, t := range append(res.Targets, known...) { // those of a search know who maps them
		if _, ok := t.IsURDT(); !ok || seen[t.ID] {
			continue
		}
		seen[t.ID] = true
		o := urdtObject{path: t.Path, scope: scopeOf(t), marked: t.Shards > 0, pids: t.PIDs}
		if t.PID != 0 {
			o.pids = []int{t.PID}
		}
		l.objects = append(l.objects, o)
	}
	registered, problems := usdt.RegisteredNames(pid)
	note(errw, problems...)
	l.addNames(registered)
	return l, nil
}

// addNames puts registrations that are alike together.
func (l *urdtListing) addNames(registered []usdt.Registered) {
	byKey := make(map[string]int)
	for _, r := range registered {
		n := urdtRegistered{provider: r.Provider, name: r.Name, types: []string{}}
		for _, p := range r.Params {
			n.types = append(n.types, trace.TypeName(p))
		}
		key := strings.Join(append([]string{n.provider, n.name}, n.types...), "\x00")
		i, ok := byKey[key]
		if !ok {
			i = len(l.names)
			byKey[key] = i
			l.names = append(l.names, n)
		}
		if at := &l.names[i]; !slices.Contains(at.pids, r.PID) {
			at.pids = append(at.pids, r.PID)
		}
	}
	slices.SortStableFunc(l.names, func(a, b urdtRegistered) int {
		return strings.Compare(a.provider+":"+a.name, b.provider+":"+b.name)
	})
}

// scopeOf returns how far an attach to an object reaches.
func scopeOf(t *usdt.Target) string {
	if strings.HasPrefix(t.Path, "/memfd:") {
		return "process"
	}
	st, err := os.Stat(t.Open)
	if err != nil {
		return "system"
	}
	if !ownedByRoot(st) {
		return "user"
	}
	// Root is a user, too, with a place of its own: nopfire urdt status says user.
	for _, p := range urdt.Places() {
		if p.Name != "user" || p.Path == "" {
			continue
		}
		if own, err := os.Stat(p.Path); err == nil && os.SameFile(own, st) {
			return "user"
		}
	}
	return "system"
}

func (l *urdtListing) text(out io.Writer) error {
	color := paletteFor(out)
	if len(l.objects) > 0 {
		t := newTable(4, len(l.objects)+1)
		for _, cell := range []string{"OBJECT", "SCOPE", "KIND", "PROCESSES"} {
			t.add(cell)
		}
		for _, o := range l.objects {
			kind := "foreign"
			if o.marked {
				kind = "nopfire"
			}
			for _, cell := range []string{printable(o.path), o.scope, kind, someProcesses(o.pids)} {
				t.add(cell)
			}
		}
		if err := t.write(out, color); err != nil {
			return err
		}
	}
	if len(l.names) == 0 {
		return nil
	}
	if len(l.objects) > 0 {
		if _, err := fmt.Fprintln(out); err != nil {
			return err
		}
	}
	t := newTable(3, len(l.names)+1)
	for _, cell := range []string{"NAME", "ARGUMENTS", "PROCESSES"} {
		t.add(cell)
	}
	for _, n := range l.names {
		args := "-"
		if len(n.types) > 0 {
			args = printable(strings.Join(n.types, ", "))
		}
		for _, cell := range []string{printable(n.provider + ":" + n.name), args, someProcesses(n.pids)} {
			t.add(cell)
		}
	}
	return t.write(out, color)
}

// someProcesses names a few processes and counts the others.
func someProcesses(pids []int) string {
	const most = 5
	if len(pids) == 0 {
		return "-"
	}
	var parts []string
	for _, pid := range pids[:min(len(pids), most)] {
		parts = append(parts, strconv.Itoa(pid))
	}
	if n := len(pids) - most; n > 0 {
		parts = append(parts, fmt.Sprintf("+%d", n))
	}
	return strings.Join(parts, " ")
}

// json prints what docs/json.md describes.
func (l *urdtListing) json(out io.Writer) error {
	var b []byte
	for _, o := range l.objects {
		b = append(b, `{"kind":"object","path":`...)
		b = appendText(b, o.path)
		b = append(b, `,"scope":`...)
		b = appendText(b, o.scope)
		b = append(b, `,"marked":`...)
		b = strconv.AppendBool(b, o.marked)
		b = append(appendPIDs(b, o.pids), "}\n"...)
	}
	for _, n := range l.names {
		b = append(b, `{"kind":"name","provider":`...)
		b = appendText(b, n.provider)
		b = append(b, `,"name":`...)
		b = appendText(b, n.name)
		b = append(b, `,"types":[`...)
		for i, t := range n.types {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendText(b, t)
		}
		b = append(b, ']')
		b = append(appendPIDs(b, n.pids), "}\n"...)
	}
	_, err := out.Write(b)
	return err
}

func appendPIDs(b []byte, pids []int) []byte {
	b = append(b, `,"pids":[`...)
	for i, pid := range pids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(pid), 10)
	}
	return append(b, ']')
}
