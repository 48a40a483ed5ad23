package main

import (
	"io"
	"math"
	"strconv"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/trace/probespec"
)

// countJSON prints rows as docs/json.md describes.
type countJSON struct {
	w          io.Writer
	dists      []*probespec.Dist
	cumulative bool
	differ     rowDiffer
	from       string // when counting began
	line       []byte
}

func (v *countJSON) show(c *counted) error {
	rows := c.rows
	from := c.from.Format(timeFormat)
	if v.cumulative {
		if v.from == "" {
			v.from = from
		}
		from = v.from
	} else {
		rows = v.differ.since(rows)
	}
	v.line = v.line[:0]
	for i := range rows {
		v.line = v.append(v.line, &rows[i], from, c.to.Format(timeFormat))
	}
	if len(v.line) == 0 {
		return nil
	}
	_, err := v.w.Write(v.line)
	return err
}

func (v *countJSON) append(b []byte, r *trace.Row, from, to string) []byte {
	d := v.dists[r.Clause]
	kind := "count"
	if d.Clause.Aggregate != trace.Count {
		kind = "histogram"
	}
	b = append(b, `{"kind":"`...)
	b = append(b, kind...)
	b = append(b, `","from":"`...)
	b = append(b, from...)
	b = append(b, `","time":"`...)
	b = append(b, to...)
	b = append(b, `","clause":`...)
	b = strconv.AppendInt(b, int64(r.Clause), 10)
	if d.Label != "" {
		b = append(b, `,"label":`...)
		b = appendText(b, d.Label)
	}
	b = append(b, `,"provider":`...)
	b = appendText(b, r.Provider)
	b = append(b, `,"probe":`...)
	b = appendText(b, r.Probe)
	if d.Clause.ByProcess {
		b = append(b, `,"pid":`...)
		b = strconv.AppendInt(b, int64(r.PID), 10)
		b = append(b, `,"comm":`...)
		b = appendText(b, r.Comm)
	}
	b = append(b, `,"key":[`...)
	for i := range r.Key {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendArg(b, &r.Key[i])
	}
	b = append(b, ']')
	if kind == "histogram" {
		b = append(b, `,"value":`...)
		b = appendText(b, d.ValueName)
		if r.ValueType != "" {
			b = append(b, `,"type":`...)
			b = appendText(b, r.ValueType)
		}
	}
	b = append(b, `,"count":`...)
	b = strconv.AppendUint(b, r.Count, 10)
	if kind == "histogram" {
		b = append(b, `,"buckets":[`...)
		for i, bucket := range r.Buckets {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendBucket(b, &bucket, d.Clause.Aggregate == trace.LinearHist)
		}
		b = append(b, ']')
	}
	return append(b, "}\n"...)
}

// appendBucket appends a bucket. A bound beyond which there is nothing is null: that of
// negative values, and both ends of a linear histogram.
func appendBucket(b []byte, bucket *trace.Bucket, linear bool) []byte {
	b = append(b, `{"min":`...)
	b = append(b, boundText(bucket.Min, bucket.Unsigned, bucket.Min == math.MinInt64, "null")...)
	b = append(b, `,"max":`...)
	b = append(b, boundText(bucket.Max, bucket.Unsigned, linear && (bucket.Max == math.MaxInt64 || bucket.Unsigned), "null")...)
	b = append(b, `,"count":`...)
	b = strconv.AppendUint(b, bucket.Count, 10)
	return append(b, '}')
}

// boundText writes a bound, or what stands for one that is open.
func boundText(bound int64, unsigned, open bool, none string) string {
	switch {
	case unsigned:
		if bound == -1 && open {
			return none
		}
		return strconv.FormatUint(uint64(bound), 10)
	case open:
		return none
	}
	return strconv.FormatInt(bound, 10)
}
