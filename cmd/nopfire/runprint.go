package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/nopfire/nopfire/bpfside/btfvalue"
	"github.com/nopfire/nopfire/bpfside/run"
)

// A runPrinter prints what a BPF program sends and leaves behind, as text or JSON.
// It may be used concurrently: each call writes whole lines.
type runPrinter struct {
	mu    sync.Mutex
	w     io.Writer
	color palette
	json  bool
	buf   bytes.Buffer
}

// flush writes what was gathered by a call.
func (p *runPrinter) flush() error {
	_, err := p.w.Write(p.buf.Bytes())
	p.buf.Reset()
	return err
}

// event prints one event.
func (p *runPrinter) event(ev *run.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, isText := ev.Value.(btfvalue.Text)
	printk := ev.Map == "" && isText
	switch {
	case p.json && printk:
		p.object("kind", "printk", "pid", ev.PID, "comm", btfvalue.Text(ev.Comm), "cpu", ev.CPU, "boot_time", ev.Time, "text", text)
	case p.json:
		p.object("kind", "event", "map", ev.Map, "type", ev.Type, "value", ev.Value)
	case printk:
		fmt.Fprintf(&p.buf, "%s %s\n", p.color.dim(printable(fmt.Sprintf("%s %s-%d", ev.Time, ev.Comm, ev.PID))), printable(string(text)))
	default:
		name := ev.Map
		if ev.Type != "" {
			name = ev.Type
		}
		fmt.Fprintf(&p.buf, "%s %s\n", p.color.cyan(printable(name)), printable(btfvalue.String(ev.Value, true)))
	}
	return p.flush()
}

// snapshot prints variables and maps as they are at a time. With a heading it is one
// of several.
func (p *runPrinter) snapshot(tables []run.Table, at time.Time, heading bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if heading && !p.json {
		fmt.Fprintf(&p.buf, "%s\n", p.color.dim("== "+clock(at)))
	}
	for _, t := range tables {
		switch {
		case p.json && t.Globals:
			p.jsonGlobals(&t, at)
		case p.json:
			p.jsonMap(&t, at)
		case t.Globals:
			for _, e := range t.Entries {
				p.variable(e)
			}
		default:
			p.table(&t)
		}
	}
	return p.flush()
}

// variable prints a global variable.
func (p *runPrinter) variable(e run.Entry) {
	name, _ := e.Key.(btfvalue.Text)
	if slots, ok := histogram(string(name), e.Value); ok {
		fmt.Fprintf(&p.buf, "%s\n", p.color.bold(printable(string(name))))
		btfvalue.WriteLog2(&p.buf, slots, "value")
		return
	}
	fmt.Fprintf(&p.buf, "%s = %s\n", p.color.bold(printable(string(name))), printable(btfvalue.String(e.Value, false)))
}

// table prints the elements of a map.
func (p *runPrinter) table(t *run.Table) {
	head := fmt.Sprintf("%s: %d entries", printable(t.Name), len(t.Entries)+t.Left)
	if len(t.Entries) == 1 && t.Left == 0 {
		head = printable(t.Name) + ": 1 entry"
	}
	fmt.Fprintf(&p.buf, "%s\n", p.color.bold(head))
	for _, e := range t.Entries {
		key := printable(btfvalue.String(e.Key, false))
		rest, slots, found := takeSlots(t.Name, e.Value)
		if !found {
			fmt.Fprintf(&p.buf, "  [%s] = %s\n", p.color.cyan(key), printable(btfvalue.String(e.Value, false)))
			continue
		}
		fmt.Fprintf(&p.buf, "  [%s]", p.color.cyan(key))
		if len(rest) > 0 {
			fmt.Fprintf(&p.buf, " %s", printable(btfvalue.String(rest, true)))
		}
		p.buf.WriteByte('\n')
		btfvalue.WriteLog2(&p.buf, slots, "value")
	}
	if t.Left > 0 {
		fmt.Fprintf(&p.buf, "  … %d more\n", t.Left)
	}
	if t.Err != nil {
		fmt.Fprintf(&p.buf, "  %s\n", p.color.red(printable("("+t.Err.Error()+")")))
	}
}

// histogram returns the slots of a value, if its name says that it is a histogram
// of powers of two.
func histogram(name string, v btfvalue.Value) ([]uint64, bool) {
	if name != "slots" && name != "hist" && !strings.HasSuffix(name, "_hist") && !strings.HasSuffix(name, "_slots") {
		return nil, false
	}
	return btfvalue.Slots(v)
}

// takeSlots finds the histogram in the value of a map: the value itself, or a
// member of it. It returns the other members.
func takeSlots(name string, v btfvalue.Value) (rest btfvalue.Struct, slots []uint64, found bool) {
	if slots, ok := histogram(name, v); ok {
		return nil, slots, true
	}
	st, ok := v.(btfvalue.Struct)
	if !ok {
		return nil, nil, false
	}
	for _, f := range st {
		if s, ok := histogram(f.Name, f.Value); ok && !found {
			slots, found = s, true
			continue
		}
		rest = append(rest, f)
	}
	return rest, slots, found
}

func (p *runPrinter) jsonGlobals(t *run.Table, at time.Time) {
	values := make(btfvalue.Struct, len(t.Entries))
	for i, e := range t.Entries {
		name, _ := e.Key.(btfvalue.Text)
		values[i] = btfvalue.Field{Name: string(name), Value: e.Value}
	}
	p.object("kind", "globals", "time", at.Format(timeFormat), "section", t.Name, "values", values)
}

func (p *runPrinter) jsonMap(t *run.Table, at time.Time) {
	entries := make(btfvalue.Array, len(t.Entries))
	for i, e := range t.Entries {
		entries[i] = btfvalue.Struct{{Name: "key", Value: e.Key}, {Name: "value", Value: e.Value}}
	}
	fields := []any{"kind", "map", "time", at.Format(timeFormat), "name", t.Name, "entries", entries}
	if t.Left > 0 {
		fields = append(fields, "left", t.Left)
	}
	if t.Err != nil {
		fields = append(fields, "error", t.Err.Error())
	}
	p.object(fields...)
}

// object writes one line of JSON: names and values in turn.
func (p *runPrinter) object(fields ...any) {
	p.buf.WriteByte('{')
	for i := 0; i < len(fields); i += 2 {
		if i > 0 {
			p.buf.WriteByte(',')
		}
		fmt.Fprintf(&p.buf, "%q:", fields[i])
		v, err := json.Marshal(fields[i+1])
		if err != nil {
			v, _ = json.Marshal("(" + err.Error() + ")")
		}
		p.buf.Write(v)
	}
	p.buf.WriteString("}\n")
}
