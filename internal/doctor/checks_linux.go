package doctor

import "slices"

// checks does them all, in the order in which an operator wants to read them.
func checks(pid int) []Check {
	h := thisHost()
	all := slices.Concat(h.machine(), h.privileges(), tracing(), programs(), defining())
	if pid != 0 {
		all = append(all, process(pid)...)
	}
	return all
}
