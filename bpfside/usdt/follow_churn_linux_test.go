package usdt_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// Processes open and close libraries, fork, execute and end at random. What a
// follower has told must agree with what a search of all processes finds, whenever
// things are quiet; with a buffer that loses events too.
func TestFollowChurn(t *testing.T) {
	for _, size := range []int{0, 1} {
		t.Run(fmt.Sprintf("buffer=%d", size), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			rnd := rand.New(rand.NewPCG(seed, 0))
			prog := testutils.BuildC(t, mapper, "-ldl", "-pthread")
			lib := testutils.BuildC(t, `
				#include <sys/sdt.h>
				void fire(long n) { DTRACE_PROBE1(churn, fire, n); }`, "-shared", "-fPIC")
			dir := t.TempDir()
			var libs []string
			for i := range 6 {
				libs = append(libs, filepath.Join(dir, strconv.Itoa(i)+".so"))
				copyFile(t, lib, libs[i])
			}
			f := follow(t, &usdt.FollowOptions{Interval: 20 * time.Millisecond, BufferSize: size}, "churn:*", "sign:here")

			type process struct {
				*testutils.Child
				open bool
			}
			var alive []*process
			var orphans []int
			t.Cleanup(func() {
				for _, pid := range orphans {
					syscall.Kill(pid, syscall.SIGKILL)
				}
			})
			for range 4 { // quiet moments
				for range 40 {
					i := rnd.IntN(8)
					if i >= len(alive) {
						alive = append(alive, &process{testutils.Start(t, prog), false})
						alive[len(alive)-1].ReadLine()
						continue
					}
					p := alive[i]
					switch rnd.IntN(6) {
					case 0, 1:
						if !p.open {
							ask(t, p.Child, "open "+libs[rnd.IntN(len(libs))], "opened")
							p.open = true
						}
					case 2:
						if p.open {
							ask(t, p.Child, "close", "closed")
							p.open = false
						}
					case 3:
						p.WriteLine("fork")
						pid, err := strconv.Atoi(p.ReadLine())
						if err != nil {
							t.Fatal(err)
						}
						orphans = append(orphans, pid)
					case 4:
						if len(orphans) > 0 {
							syscall.Kill(orphans[0], syscall.SIGKILL)
							orphans = orphans[1:]
						}
						p.WriteLine("exec " + prog)
						p.ReadLine()
						p.open = false
					case 5:
						p.CloseInput()
						p.Wait()
						alive = slices.Delete(alive, i, i+1)
					}
				}
				var told, want []string
				agree := func() bool {
					told, want = nil, nil
					for _, target := range f.mapped {
						if target.Provider == "churn" {
							told = append(told, target.Path)
						}
					}
					found, _ := usdt.AllTargets("churn:*") // none is an error
					paths := make(map[string]bool)
					for _, target := range found.Targets {
						paths[target.Path] = true
					}
					want = slices.Sorted(maps.Keys(paths))
					slices.Sort(told)
					return slices.Equal(told, want)
				}
				for range 50 {
					if f.poke(); agree() {
						break
					}
				}
				if !agree() {
					t.Fatalf("told of %v, there are %v", told, want)
				}
				t.Logf("%d libraries, %d processes, %d orphans", len(want), len(alive), len(orphans))
			}
		})
	}
}
