// Inline uses every handle and function once, for TestFireInlines to read what
// the compiler says of it. It is never run.
package main

import "github.com/nopfire/nopfire/urdt"

type request struct {
	path string
	size int
}

func main() {}

//go:noinline
func use(
	h0 *urdt.Handle0,
	h1 *urdt.Handle1[*request],
	h2 *urdt.Handle2[*request, string],
	h11 *urdt.Handle11[int, int, int, int, int, int, int, int, int, int, *request],
	d *urdt.Handle,
	b []byte,
) (enabled int) {
	local := request{path: "stays on the stack"}
	h0.Fire()
	h1.Fire(&local)
	h2.Fire(&local, string(b))
	h11.Fire(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, &local)
	h2.FireFunc(func() (*request, string) { return &local, "lazy" })
	d.Fire(&local, len(b), "boxed")
	urdt.Probe0("p", "x")
	urdt.Probe1("p", "x", &local)
	urdt.Probe2("p", "x", &local, string(b))
	urdt.Probe11("p", "x", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, &local)
	for _, on := range []bool{h0.Enabled(), h1.Enabled(), h11.Enabled(), d.Enabled()} {
		if on {
			enabled++
		}
	}
	return enabled
}
