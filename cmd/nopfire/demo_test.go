package main

import (
	"fmt"
	"testing"

	"github.com/nopfire/nopfire/bpfside/trace"
)

// The demo fails if one value differs.
func TestDemoNoticesADifference(t *testing.T) {
	c := &demoChild{pid: 7}
	ev := &trace.Event{PID: 7, Provider: demoProvider, Probe: "order", Args: []trace.Value{
		{Name: "id", Type: "int64", Value: int64(1)},
		{Name: "item", Type: "string", Value: "tea"},
	}}
	if diffs := c.differences(ev, report("order", 1, "tea")); diffs != nil {
		t.Errorf("equal: %v", diffs)
	}
	for _, tt := range []struct {
		r    demoReport
		want string
	}{
		{report("order", 2, "tea"), "shop:order: id is 1, fired was 2"},
		{report("order", 1, "tee"), `shop:order: item is "tea", fired was "tee"`},
		{report("payment", 1, "tea"), "shop:order: probe is shop:order, fired was shop:payment"},
		{report("order", 1), "shop:order: number of arguments is 2, fired was 1"},
	} {
		if got := fmt.Sprint(c.differences(ev, tt.r)); got != "["+tt.want+"]" {
			t.Errorf("got  %s\nwant [%s]", got, tt.want)
		}
	}
	ev.PID = 8
	if got := fmt.Sprint(c.differences(ev, report("order", 1, "tea"))); got != "[shop:order: pid is 8, fired was 7]" {
		t.Errorf("other process: %s", got)
	}
}
