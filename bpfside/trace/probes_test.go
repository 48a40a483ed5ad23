package trace

import "testing"

// Probes of different files whose events look the same share a cookie, so that
// files may come and go for ever.
func TestCookies(t *testing.T) {
	var table probeTable
	c := new(clause)
	p := func(provider, name, arg string, form form) *probe {
		return &probe{clause: c, provider: provider, name: name, fields: []field{{name: arg, typ: "int64", form: form}}, size: 64}
	}
	for _, tt := range []struct {
		p    *probe
		want uint64
	}{
		{p("a", "b", "x", formInt), 0},
		{p("a", "b", "x", formInt), 0},
		{p("a", "c", "x", formInt), 1},
		{p("a b", "", "x", formInt), 2},
		{p("a", "b", "y", formInt), 3},
		{p("a", "b", "x", formUint), 4},
		{p("a", "c", "x", formInt), 1},
	} {
		if got := table.cookie(tt.p); got != tt.want {
			t.Errorf("%+v: cookie %d, want %d", tt.p, got, tt.want)
		}
	}
	if table.get(5) != nil {
		t.Error("a probe for a cookie that was never given")
	}
	if got := table.get(1); got == nil || got.name != "c" {
		t.Errorf("cookie 1 is of %+v", got)
	}
}
