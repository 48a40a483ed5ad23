package main

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/trace/probespec"
)

// An eventPrinter writes events in one of the forms that trace has.
type eventPrinter interface {
	// header returns what stands above the events, "" if nothing does.
	header() string
	// append appends the line of an event.
	append(b []byte, ev *trace.Event) []byte
}

// printer returns the printer that the flags and the specifications ask for.
func (t *tracer) printer(start time.Time, probes []trace.SessionProbe) eventPrinter {
	f := t.flags
	if f.json {
		return &jsonEvents{specs: t.specs}
	}
	style := timeMicros
	formatted := false
	for _, p := range t.specs {
		formatted = formatted || p.BCC || p.Format != nil
	}
	switch {
	case f.offset && f.unix:
		style = timeUnix
	case f.offset:
		style = timeOffset
	case f.seconds || formatted:
		style = timeSeconds
	}
	at := timeColumn{style: style, start: start}
	color := paletteFor(t.out)
	if formatted {
		return &bccColumns{color: color, specs: t.specs, time: at, cpu: f.cpu}
	}
	names := make([]string, len(probes))
	for i, p := range probes {
		names[i] = p.Provider + ":" + p.Name
	}
	cols := newEventColumns(color, names)
	cols.time, cols.cpu = at, f.cpu
	return cols
}

// bccColumns prints events as the trace of bcc 0.26 does with -T:
//
//	TIME     PID     TID     COMM            FUNC             -
//	12:00:00 4711    4712    myapp           loop_iter        i=3 msg=hello
//
// A specification without a format has the arguments as name=value for its message,
// where bcc has none.
type bccColumns struct {
	color palette
	specs []*probespec.Probe
	time  timeColumn
	cpu   bool
}

// funcWidth is the width of bcc's column FUNC.
const funcWidth = 16

func (c *bccColumns) header() string {
	return c.color.dim(leadHeader(&c.time, c.cpu)+pad("FUNC", funcWidth)+" -") + "\n"
}

func (c *bccColumns) append(b []byte, ev *trace.Event) []byte {
	b = appendLead(b, ev, &c.time, c.cpu, c.color)
	b = c.color.begin(b, sgrCyan)
	from := len(b)
	spec := c.specs[ev.Clause]
	// A provider stands there if the specification has one.
	if !strings.HasPrefix(spec.Clause.Pattern, ":") {
		b = append(appendPrintable(b, ev.Provider), ':')
	}
	b = appendPrintable(b, ev.Probe)
	if spec.Format == nil && len(ev.Args) == 0 { // no blanks at the end of a line
		return append(c.color.end(b), '\n')
	}
	b = padFrom(b, from, funcWidth)
	b = c.color.end(b)
	b = append(b, ' ')
	if spec.Format != nil {
		// A newline of the format at its end is the one of the line.
		b = bytes.TrimSuffix(spec.Format.AppendPrintable(b, ev.Args), []byte{'\n'})
	} else {
		b = appendArgs(b, ev.Args, c.color)
	}
	return append(b, '\n')
}

// jsonEvents prints events as docs/json.md describes.
type jsonEvents struct {
	specs []*probespec.Probe
	event eventJSON
	text  []byte
}

func (*jsonEvents) header() string { return "" }

func (j *jsonEvents) append(b []byte, ev *trace.Event) []byte {
	b = j.event.append(b, ev)
	b = b[:len(b)-1] // the brace
	if len(j.specs) > 1 {
		b = append(b, `,"clause":`...)
		b = strconv.AppendInt(b, int64(ev.Clause), 10)
	}
	if format := j.specs[ev.Clause].Format; format != nil {
		j.text = format.Append(j.text[:0], ev.Args)
		b = append(b, `,"text":`...)
		b = appendText(b, string(j.text))
	}
	return append(b, "}\n"...)
}
