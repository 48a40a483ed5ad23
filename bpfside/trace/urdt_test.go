package trace

import (
	"strings"
	"testing"
)

func TestParseURDTName(t *testing.T) {
	for _, row := range []struct {
		text string
		want URDTName
		is   bool
		err  string
	}{
		{"urdt:app:request", URDTName{"app", "request", EveryNumber}, true, ""},
		{"urdt:app:request/0", URDTName{"app", "request", 0}, true, ""},
		{"urdt:app:request/11", URDTName{"app", "request", 11}, true, ""},
		{"urdt:app:a:b", URDTName{"app", "a:b", EveryNumber}, true, ""}, // a tracer accepts any bytes
		{"urdt:app:dir/x/2", URDTName{"app", "dir/x", 2}, true, ""},
		{"urdt:app:request/12", URDTName{}, true, `"12" is no number of arguments within 0..11`},
		{"urdt:app:request/", URDTName{}, true, `"" is no number of arguments within 0..11`},
		{"urdt:app:request/02", URDTName{}, true, `"02" is no number of arguments within 0..11`},
		{"urdt::request", URDTName{}, true, "want urdt:PROVIDER:NAME or urdt:PROVIDER:NAME/NARGS"},
		{"urdt:app:", URDTName{}, true, "want urdt:PROVIDER:NAME or urdt:PROVIDER:NAME/NARGS"},
		{"urdt:app:/2", URDTName{}, true, "want urdt:PROVIDER:NAME or urdt:PROVIDER:NAME/NARGS"},
		{"urdt:probe2", URDTName{}, false, ""}, // a probe like any other
		{"urdt:*", URDTName{}, false, ""},
		{"app:request", URDTName{}, false, ""},
		{"", URDTName{}, false, ""},
	} {
		got, is, err := ParseURDTName(row.text)
		if row.err != "" {
			if err == nil || !strings.HasSuffix(err.Error(), row.err) || is != row.is {
				t.Errorf("%q: %t, error %v, want … %s", row.text, is, err, row.err)
			}
			continue
		}
		if err != nil || is != row.is || is && got != row.want {
			t.Errorf("%q: %+v, %t, %v; want %+v, %t", row.text, got, is, err, row.want, row.is)
		}
		if is && got.String() != row.text {
			t.Errorf("%q is written %q", row.text, got)
		}
	}
}
