package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/nopfire/nopfire/bpfside/trace"
)

// rowDiffer makes of each snapshot what was counted since the one before. Counting never
// stops and nothing is set back, so the differences lose no hit.
type rowDiffer struct {
	before map[string]trace.Row
	key    []byte
}

// since returns the rows that have counted something since the last call, with how much
// that was.
func (d *rowDiffer) since(rows []trace.Row) []trace.Row {
	var grown []trace.Row
	now := make(map[string]trace.Row, len(rows))
	for _, r := range rows {
		d.key = appendRowKey(d.key[:0], &r)
		now[string(d.key)] = r
		before := d.before[string(d.key)]
		if r.Count == before.Count {
			continue
		}
		r.Count -= before.Count
		r.Buckets = bucketsSince(r.Buckets, before.Buckets)
		grown = append(grown, r)
	}
	d.before = now
	return grown
}

// bucketsSince returns what has been added to buckets.
func bucketsSince(now, before []trace.Bucket) []trace.Bucket {
	var grown []trace.Bucket
	for _, b := range now {
		i := slices.IndexFunc(before, func(o trace.Bucket) bool { return o.Min == b.Min && o.Unsigned == b.Unsigned })
		if i >= 0 {
			b.Count -= before[i].Count
		}
		if b.Count > 0 {
			grown = append(grown, b)
		}
	}
	return grown
}

// appendRowKey appends what tells a row from others. The parts are quoted, so that none
// can be taken for another.
func appendRowKey(b []byte, r *trace.Row) []byte {
	b = strconv.AppendInt(b, int64(r.Clause), 10)
	b = strconv.AppendQuote(b, r.Provider)
	b = strconv.AppendQuote(b, r.Probe)
	b = strconv.AppendInt(b, int64(r.PID), 10)
	for i := range r.Key {
		v := &r.Key[i]
		b = strconv.AppendQuote(b, v.Type)
		b = fmt.Appendf(b, "%q", fmt.Sprint(v.Value))
		if v.Truncated {
			b = append(b, '+')
		}
		if v.Err != nil {
			b = strconv.AppendQuote(b, v.Err.Error())
		}
	}
	return b
}

// rowsOf returns the rows of a clause.
func rowsOf(rows []trace.Row, clause int) []trace.Row {
	var own []trace.Row
	for _, r := range rows {
		if r.Clause == clause {
			own = append(own, r)
		}
	}
	return own
}
