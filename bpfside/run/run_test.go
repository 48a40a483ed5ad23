package run_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nopfire/nopfire/bpfside/bpfc"
	"github.com/nopfire/nopfire/bpfside/run"
)

func itoa(n int) string { return strconv.Itoa(n) }

const variables = `
typedef unsigned int u32;
struct limits { u32 low, high; };
const volatile int min = 3;
const volatile char name[4] = "abc";
struct limits limits;
_Bool on;
char LICENSE[] __attribute__((section("license"))) = "GPL";
__attribute__((section("socket"))) int prog(void *ctx) { return min + name[0] + limits.low + on; }
`

func TestSet(t *testing.T) {
	for _, row := range []struct{ name, value, err string }{
		{"min", "-5", ""},
		{"name", "xy", ""},
		{"limits", "{high = 7}", ""},
		{"on", "true", ""},
		{"mini", "1", "set mini: no such variable; the object has limits, min, name, on"},
		{"min", "many", `set min: "many" is no int: want an integer within -2147483648..2147483647`},
		{"name", "too long", "set name: text of 8 bytes is too long for char[4]"},
	} {
		t.Run(row.name+"="+row.value, func(t *testing.T) {
			spec, err := bpfc.Compile(t.Context(), fstest.MapFS{"p.c": {Data: []byte(variables)}}, "p.c", &bpfc.Options{KernelVersion: 6<<16 | 1<<8})
			if err != nil {
				t.Fatal(err)
			}
			err = run.Set(spec, row.name, row.value)
			if row.err == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || err.Error() != row.err {
				t.Errorf("error %v, want %s", err, row.err)
			}
			if strings.Contains(row.err, "no such variable") != errors.Is(err, run.ErrNoVariable) {
				t.Errorf("%v is ErrNoVariable: %v", err, errors.Is(err, run.ErrNoVariable))
			}
		})
	}
}
