package body

import (
	"context"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/cilium/ebpf"

	"github.com/nopfire/nopfire/internal/feature"
)

// Whatever an expression is, it is compiled or it is refused, at a place in it; and
// what is compiled is what the kernel loads.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{
		`n + 1`, `o->next->id == 3`, `msg == "hello" && u > 0x10UL`, `(struct order *)o->any`, `&o->items[2].sku - (u16 *)n`,
		`*(int *)((char *)o + 36)`, `strncmp(msg, "x\x41\0", 3) ? comm[c] : -ts`, `n<<33>>u%c`, `sizeof(struct main.order) / sizeof o->next`,
		`STRCMP("x", data) | (o->name != "y")`, `!~-+*&*o`, `a ? b : c`, `({n;})`, `} int x; {`, `__asm__("x")`, "n ??/ 3", `"a`, `'`, `(unsigned long long)1.5e+3`,
		`uid == tid || cpu != pid`, `(o->flag, 1)`, `o->matrix[n][u]`, `(*(struct order **)o)->tag == "t"`, `1/(n-n)`, `(bool)big << 3`,
	} {
		f.Add(s)
	}
	loads := feature.BPF.Check() == nil
	f.Fuzz(func(t *testing.T, s string) {
		fn, err := Compile(context.Background(), &Input{Args: worldArgs(), Where: s, Values: []string{s}})
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("%q: %v", s, err)
			}
			if e.Off < -1 || e.Off > len(s) || e.Msg == "" || !utf8.ValidString(e.Msg) {
				t.Fatalf("%q: at %d: %q", s, e.Off, e.Msg)
			}
			return
		}
		if s == "" || !loads {
			return
		}
		prog, err := load(fn)
		if err != nil {
			var ve *ebpf.VerifierError
			errors.As(err, &ve)
			t.Fatalf("%q: %+v\n%v", s, ve, fn.Insns)
		}
		prog.Close()
	})
}
