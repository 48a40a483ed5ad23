// Inline uses every handle once, for TestFireInlines to read what the compiler
// says of it. It is never run.
package main

import "github.com/nopfire/nopfire/emit"

type request struct {
	path string
	size int
}

func main() {}

//go:noinline
func use(
	p0 *emit.Probe0,
	p1 *emit.Probe1[*request],
	p2 *emit.Probe2[*request, string],
	p3 *emit.Probe3[int8, []byte, *request],
	p4 *emit.Probe4[int, int, int, *request],
	p5 *emit.Probe5[int, int, int, int, *request],
	p6 *emit.Probe6[int, int, int, int, int, *request],
	p7 *emit.Probe7[int, int, int, int, int, int, *request],
	p8 *emit.Probe8[int, int, int, int, int, int, int, *request],
	p9 *emit.Probe9[int, int, int, int, int, int, int, int, *request],
	p10 *emit.Probe10[int, int, int, int, int, int, int, int, int, *request],
	p11 *emit.Probe11[int, int, int, int, int, int, int, int, int, int, *request],
	p12 *emit.Probe12[int, int, int, int, int, int, int, int, int, int, int, *request],
	d *emit.Probe,
	b []byte,
) (enabled int) {
	local := request{path: "stays on the stack"}
	var array [64]byte
	p0.Fire()
	p1.Fire(&local)
	p2.Fire(&local, string(b))
	p3.Fire(1, array[:], &local)
	p4.Fire(1, 2, 3, &local)
	p5.Fire(1, 2, 3, 4, &local)
	p6.Fire(1, 2, 3, 4, 5, &local)
	p7.Fire(1, 2, 3, 4, 5, 6, &local)
	p8.Fire(1, 2, 3, 4, 5, 6, 7, &local)
	p9.Fire(1, 2, 3, 4, 5, 6, 7, 8, &local)
	p10.Fire(1, 2, 3, 4, 5, 6, 7, 8, 9, &local)
	p11.Fire(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, &local)
	p12.Fire(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, &local)
	p2.FireFunc(func() (*request, string) { return &local, "lazy" })
	d.Fire(&local, len(b), "boxed", array[:])
	for _, on := range []bool{p0.Enabled(), p1.Enabled(), p12.Enabled(), d.Enabled()} {
		if on {
			enabled++
		}
	}
	return enabled
}
