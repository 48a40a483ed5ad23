//go:build emitter_cgo

package main

import "github.com/nopfire/nopfire/selftests/testprogs/cgocalls"

func init() { cgocalls.Start() }
