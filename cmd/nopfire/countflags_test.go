package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/trace"
)

func TestSeconds(t *testing.T) {
	for _, row := range []struct {
		text string
		want time.Duration
		err  string
	}{
		{"5", 5 * time.Second, ""},
		{"0.25", 250 * time.Millisecond, ""},
		{"1m30s", 90 * time.Second, ""},
		{"-1", -time.Second, ""},
		{"soon", 0, "want a time such as 10, 1.5s or 500ms"},
		{"1e300", 0, "too long"},
		{"NaN", 0, "too long"},
		{"-inf", 0, "too long"},
	} {
		var s seconds
		err := s.Set(row.text)
		if time.Duration(s) != row.want || (err == nil) != (row.err == "") || err != nil && err.Error() != row.err {
			t.Errorf("%s: %s, %v, want %s, %s", row.text, &s, err, row.want, row.err)
		}
	}
}

func TestLinearFlag(t *testing.T) {
	for _, row := range []struct {
		text string
		want trace.Linear
		err  string
	}{
		{"0,100,10", trace.Linear{Min: 0, Max: 100, Step: 10}, ""},
		{"-0x10, 16,4", trace.Linear{Min: -16, Max: 16, Step: 4}, ""},
		{"-9223372036854775808,9223372036854775807,18446744073709551615", trace.Linear{}, `"18446744073709551615" is no number`},
		{"0,1000000,1", trace.Linear{}, "1000000 buckets: at most 1000"},
		{"-9223372036854775808,9223372036854775807,1", trace.Linear{}, "18446744073709551615 buckets: at most 1000"},
		{"0,100", trace.Linear{}, "want MIN,MAX,STEP, such as 0,100,10"},
		{"5,5,1", trace.Linear{}, "MIN is not below MAX"},
		{"0,5,0", trace.Linear{}, "STEP is not above 0"},
		{"0,5,2", trace.Linear{Min: 0, Max: 5, Step: 2}, ""},
		{"0,a,2", trace.Linear{}, `"a" is no number`},
	} {
		var l linearFlag
		err := l.Set(row.text)
		if row.err == "" && (err != nil || trace.Linear(l) != row.want) || row.err != "" && (err == nil || err.Error() != row.err) {
			t.Errorf("%s: %s, %v, want %v, %s", row.text, &l, err, row.want, row.err)
		}
	}
}

// The ranges lie side by side, and the last ends with MAX.
func TestLinearRanges(t *testing.T) {
	for _, row := range []struct {
		linear trace.Linear
		want   string
	}{
		{trace.Linear{Min: 0, Max: 4, Step: 2}, "…:-1 0:1 2:3 4:…"},
		{trace.Linear{Min: 0, Max: 5, Step: 2}, "…:-1 0:1 2:3 4:4 5:…"},
		{trace.Linear{Min: -3, Max: 2, Step: 9}, "…:-4 -3:1 2:…"},
		{trace.Linear{Min: math.MinInt64 + 1, Max: math.MaxInt64, Step: math.MaxInt64}, "…:-9223372036854775808 -9223372036854775807:-1 0:9223372036854775806 9223372036854775807:…"},
	} {
		var got []string
		for _, r := range linearRanges(row.linear) {
			got = append(got, r.Low+":"+r.High)
		}
		if strings.Join(got, " ") != row.want {
			t.Errorf("%v: %s, want %s", row.linear, strings.Join(got, " "), row.want)
		}
	}
}

// -C and -H keep their order, and the other flags are for all of them.
func TestArgdistPlan(t *testing.T) {
	f := &argdistFlags{
		countFlags: countFlags{pid: 7, where: "$uid == 0"},
		specs:      []distSpec{{"a:b x", false}, {"u:lib:b():int:arg1", true}, {"a:c (y) z", true}},
		linear:     linearFlag{Min: 0, Max: 10, Step: 5},
		byProcess:  true,
	}
	c, err := f.plan()
	if err != nil {
		t.Fatal(err)
	}
	linear := trace.Linear{Min: 0, Max: 10, Step: 5}
	want := trace.Query{PID: 7, Options: &f.opts, Clauses: []trace.Clause{
		{Pattern: "a:b", Where: "uid == 0", Capture: []trace.Capture{{Expr: "x"}}, ByProcess: true},
		{Path: "lib", Pattern: ":b", Where: "uid == 0", Value: "(int)arg1", ByProcess: true, Linear: linear},
		{Pattern: "a:c", Where: "(y) && (uid == 0)", Value: "z", ByProcess: true, Linear: linear},
	}}
	want.Clauses[0].Aggregate = trace.Count
	want.Clauses[1].Aggregate = trace.LinearHist
	want.Clauses[2].Aggregate = trace.LinearHist
	if diff := cmp.Diff(want, c.query); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// All mistakes are told at once.
func TestCountPlanErrors(t *testing.T) {
	_, err := new(countFlags).planCount([]string{"x", "a:b (", "c:d", "c:d e"})
	var b strings.Builder
	printError(&b, err)
	if got := b.String(); strings.Count(got, "^\n") != 2 || !strings.Contains(got, "nopfire: c:d e has expressions: nopfire argdist -C counts their values\n") {
		t.Errorf("two marks and a hint wanted:\n%s", got)
	}
}
