package lower

// peephole improves the code after registers have been allocated.
func peephole(f *fn) {
	f.link()
}
