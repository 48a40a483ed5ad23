//go:build linux && (amd64 || arm64)

package selftests

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
	"github.com/nopfire/nopfire/urdt/abi"
)

// BenchmarkURDTIsolation is what a program pays for a name that nobody traces
// while other:probe, of the same number of arguments, is traced, each in a process
// of its own and by its thread's processor time:
//
//	sharded/handle     a handle, another shard of our object
//	sharded/strings    the same by name
//	unsharded          an object with one site for each arity, as the RFC has it:
//	                   every name pays for the breakpoint
//	traced             other:probe itself
//	quiet/…            when nobody traces anything
func BenchmarkURDTIsolation(b *testing.B) {
	testutils.NeedBPF(b)
	lib := filepath.Join(installURDT(b), abi.Library)
	program := testutils.GoBuild(b, "./testprogs/urdtgo")
	start := func(b *testing.B) *testutils.Child {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), "NOPFIRE_URDT="+lib)
		c := testutils.StartCmd(b, cmd)
		c.ReadLine()
		return c
	}
	b.Run("quiet/empty", func(b *testing.B) { reportLoop(b, start(b), "loop empty ") })
	b.Run("quiet/handle", func(b *testing.B) { reportLoop(b, start(b), "loop handle ") })
	b.Run("quiet/strings", func(b *testing.B) { reportLoop(b, start(b), "loop strings ") })

	shard := abi.Shard(abi.Hash("other", "probe"), abi.Shards)
	if shard == abi.Shard(abi.Hash("bench", "untraced"), abi.Shards) {
		b.Fatal("the two names share a shard")
	}
	found, err := usdt.FileTargets(lib, "urdt:probe3")
	if err == nil && len(found.Targets) == 1 {
		found.Targets[0].Locations = found.Targets[0].Locations[shard : shard+1]
	}
	attach(b, emptyProgram(b), found, err)
	b.Run("sharded/handle", func(b *testing.B) { reportLoop(b, start(b), "loop handle ") })
	b.Run("sharded/strings", func(b *testing.B) { reportLoop(b, start(b), "loop strings ") })
	b.Run("traced", func(b *testing.B) { reportLoop(b, start(b), "loop traced ") })
	b.Run("unsharded", func(b *testing.B) {
		unsharded := buildURDTC(b, "unsharded.c")
		found, err := usdt.FileTargets(unsharded, "urdt:probe3")
		attach(b, emptyProgram(b), found, err)
		c := testutils.Start(b, unsharded)
		if line := c.ReadLine(); line != "ready" {
			b.Fatalf("it says %q", line)
		}
		reportLoop(b, c, "")
	})
}
