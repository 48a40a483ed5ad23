package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/usdt"
)

// listText prints the probes as columns; with the processes that have mapped them,
// if all were searched.
func listText(out io.Writer, items []listed, all bool) error {
	if len(items) == 0 {
		return nil
	}
	heads := []string{"PROBE", "ARGUMENTS", "LOCATIONS", "SEM", "COST", "FILE"}
	if all {
		heads = []string{"PROBE", "ARGUMENTS", "LOCATIONS", "SEM", "COST", "PIDS", "FILE"}
	}
	tab := newTable(len(heads), len(items)+1)
	for _, head := range heads {
		tab.add(head)
	}
	for i := range items {
		it := &items[i]
		tab.add(printable(it.String()))
		tab.add(signature(it.Target))
		tab.add(strconv.Itoa(len(it.Locations)))
		if hasSemaphore(it.Target) {
			tab.add("yes")
		} else {
			tab.add("-")
		}
		tab.add(it.cost())
		if all {
			tab.add(someProcesses(it.PIDs))
		}
		tab.add(printable(it.Path))
	}
	return tab.write(out, paletteFor(out))
}

// signature returns the arguments of a probe as "name type, name type".
func signature(t *usdt.Target) string {
	params := trace.Params(&t.Probe)
	return joinTypes(len(params), func(i int) (name, typ string) { return params[i].Name, params[i].Type })
}

func hasSemaphore(t *usdt.Target) bool {
	for _, l := range t.Locations {
		if l.Semaphore != 0 {
			return true
		}
	}
	return false
}

// costWords are the words for costs, in the table and in JSON, by how good they are.
var costWords = []struct {
	cost usdt.Cost
	word string
}{
	{usdt.Optimized, "optimized"}, {usdt.Trap, "breakpoint"}, {usdt.SingleStep, "single-stepped"},
	{usdt.Refused, "refused"}, {usdt.CostUnknown, "-"},
}

// siteCost returns the cost of a location: one that cannot be attached to for
// whatever reason is refused.
func siteCost(s *usdt.Site) usdt.Cost {
	if s.Err != nil {
		return usdt.Refused
	}
	return s.Cost
}

func costWord(c usdt.Cost) string {
	for _, w := range costWords {
		if w.cost == c {
			return w.word
		}
	}
	return "-"
}

// cost returns the costs of all locations: the one that they have, or how many
// have which.
func (it *listed) cost() string {
	n := make(map[usdt.Cost]int)
	for i := range it.sites {
		n[siteCost(&it.sites[i])]++
	}
	var parts []string
	for _, w := range costWords {
		switch n[w.cost] {
		case 0:
		case len(it.sites):
			return w.word
		default:
			parts = append(parts, fmt.Sprintf("%s %d", w.word, n[w.cost]))
		}
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

// worst returns the highest cost that a location has, as far as costs are known.
func (it *listed) worst() usdt.Cost {
	worst := usdt.CostUnknown
	for i := range it.sites {
		worst = max(worst, siteCost(&it.sites[i]))
	}
	return worst
}

// listVerbose prints each probe with its locations.
func listVerbose(out io.Writer, items []listed, all bool) error {
	color := paletteFor(out)
	w := bufio.NewWriterSize(out, 64<<10)
	for i := range items {
		it := &items[i]
		if i > 0 {
			w.WriteByte('\n')
		}
		fmt.Fprintf(w, "%s\n", color.cyan(printable(it.String())))
		fmt.Fprintf(w, "  arguments  %s\n", signature(it.Target))
		fmt.Fprintf(w, "  file       %s\n", printable(it.Path))
		if all {
			fmt.Fprintf(w, "  processes  %s\n", someProcesses(it.PIDs))
		}
		if err := it.locationTable().write(w, color); err != nil {
			return err
		}
	}
	return w.Flush()
}

// locationTable lays out the locations of a probe.
func (it *listed) locationTable() *table {
	tab := newTable(6, len(it.Locations)+1)
	for _, head := range []string{"  OFFSET", "ADDRESS", "INSTRUCTION", "COST", "SEMAPHORE", "ARGUMENT STRING"} {
		tab.add(head)
	}
	for i := range it.Locations {
		loc := &it.Locations[i]
		text, cost := "-", "-"
		if it.sites != nil {
			s := &it.sites[i]
			if s.Text != "" {
				text = printable(s.Text)
			}
			if s.Shift != 0 {
				text += fmt.Sprintf(" (%d bytes on)", s.Shift)
			}
			cost = costWord(siteCost(s))
			if s.Err != nil {
				cost += ": " + printable(s.Err.Error())
			}
		}
		semaphore := "-"
		if loc.Semaphore != 0 {
			semaphore = fmt.Sprintf("%#x", loc.Semaphore)
		}
		tab.add(fmt.Sprintf("  %#x", loc.Offset))
		tab.add(fmt.Sprintf("%#x", loc.Address))
		tab.add(text)
		tab.add(cost)
		tab.add(semaphore)
		tab.add(printable(loc.ArgString))
	}
	return tab
}

// listJSON prints one object a probe, as docs/json.md describes.
func listJSON(out io.Writer, items []listed, all bool) error {
	w := bufio.NewWriterSize(out, 64<<10)
	var b []byte
	for i := range items {
		b = append(items[i].appendJSON(b[:0], all), '\n')
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return w.Flush()
}

func (it *listed) appendJSON(b []byte, all bool) []byte {
	b = append(b, `{"provider":`...)
	b = appendText(b, it.Provider)
	b = append(b, `,"probe":`...)
	b = appendText(b, it.Name)
	b = append(b, `,"path":`...)
	b = appendText(b, it.Path)
	if it.PID != 0 {
		b = append(b, `,"pid":`...)
		b = strconv.AppendInt(b, int64(it.PID), 10)
	}
	if all {
		b = appendPIDs(b, it.PIDs)
	}
	b = append(b, `,"args":[`...)
	for i, p := range trace.Params(&it.Probe) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"name":`...)
		b = appendText(b, p.Name)
		b = append(b, `,"type":`...)
		b = appendText(b, p.Type)
		b = append(b, '}')
	}
	b = append(b, `],"semaphore":`...)
	b = strconv.AppendBool(b, hasSemaphore(it.Target))
	b = appendCost(b, it.worst())
	b = append(b, `,"locations":[`...)
	for i := range it.Locations {
		if i > 0 {
			b = append(b, ',')
		}
		var s usdt.Site
		if it.sites != nil {
			s = it.sites[i]
		}
		b = appendLocation(b, &it.Locations[i], &s)
	}
	return append(b, "]}"...)
}

// appendCost adds the cost of a probe or location, if it is known.
func appendCost(b []byte, c usdt.Cost) []byte {
	if c == usdt.CostUnknown {
		return b
	}
	b = append(b, `,"cost":`...)
	return appendText(b, costWord(c))
}

func appendLocation(b []byte, l *usdt.Location, s *usdt.Site) []byte {
	b = append(b, `{"offset":`...)
	b = strconv.AppendUint(b, l.Offset, 10)
	b = append(b, `,"address":`...)
	b = strconv.AppendUint(b, l.Address, 10)
	if l.RefCtrOffset != 0 {
		b = append(b, `,"semaphore":`...)
		b = strconv.AppendUint(b, l.RefCtrOffset, 10)
	}
	b = append(b, `,"args":`...)
	b = appendText(b, l.ArgString)
	if s.Text != "" {
		b = append(b, `,"instruction":`...)
		b = appendText(b, s.Text)
	}
	b = appendCost(b, siteCost(s))
	err := l.Err
	if err == nil {
		err = s.Err
	}
	if err != nil {
		b = append(b, `,"error":`...)
		b = appendText(b, err.Error())
	}
	return append(b, '}')
}
