// Package difftest makes random C programs that mean one thing only, for two
// compilers to disagree on.
//
// [Generate] makes a program from a seed: integers of all widths, aggregates,
// bit-fields, pointers, maps, loops, calls. It has no undefined and no
// unspecified behaviour (divisors are made odd, counts and indexes are masked,
// every variable starts with a value, whatever has side effects stands where
// the order is fixed) but for signed overflow, which wraps, as clang's -fwrapv
// has it: bpfc promises that. A program is a tree of [Node]s that [Reduce] cuts
// down while a predicate, such as "the results differ", still holds.
//
// The package knows C text and BTF, nothing of either compiler: the tests bring
// clang, bpfc and the kernel together.
package difftest
