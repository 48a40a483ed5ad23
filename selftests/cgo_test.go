//go:build emitter_cgo

package selftests

import "github.com/nopfire/nopfire/selftests/testprogs/cgocalls"

// With this tag the tests of this package run inside a cgo program with C threads.
func init() { cgocalls.Start() }
