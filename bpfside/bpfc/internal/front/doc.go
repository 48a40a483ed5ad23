// Package front turns a translation unit of C into an [ir.Module]. It is the
// only package that knows modernc.org/cc, which preprocesses, parses and checks;
// what the checked tree means on this target, and what of it is refused, is
// decided here.
//
// The target is the kernel's machine, little endian: LP64, char signed. Nothing
// of the host is looked at: no compiler is run and no file is opened that the
// [Input] does not hold.
//
// cc is a front end for another back end and has faults that only show in the
// result. Each that is known is worked round here and held by a test in
// faults_test.go.
package front
