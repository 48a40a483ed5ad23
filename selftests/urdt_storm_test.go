//go:build linux && (amd64 || arm64)

package selftests

import (
	"fmt"
	"testing"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
	"github.com/nopfire/nopfire/urdt/abi"
)

// A million fires of a thousand names from eight threads of three processes, in Go, C
// and Python: the count of every name is exact. Two names that share the RFC's hash,
// fired by different processes, are told apart by the second one.
func TestURDTStorm(t *testing.T) {
	testutils.NeedBPF(t)
	const (
		names  = 1000
		rounds = 125
		single = 20 // names that are attached to by themselves
	)
	object := sharedObject(t)
	peers := []struct {
		*testutils.Child
		threads int
	}{{startFirer(t, object), 4}, {startCPeer(t, object), 3}, {startPyPeer(t, object), 1}}
	const threads = 8

	c, err := usdt.LoadCollection(testutils.BuildBPF(t, "testprogs/urdtobj/count.bpf.c", "-I../bpfside/include"), nil)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	defer c.Close()
	want := make(map[string]uint64)
	for i := range names {
		want[fmt.Sprintf("n%d", i)] = threads * rounds
	}
	if abi.Hash("storm", "Aa") != abi.Hash("storm", "BB") {
		t.Fatal("storm:Aa and storm:BB do not share a hash")
	}
	want["Aa"], want["BB"] = (4+1)*rounds, 3*rounds
	for name := range want {
		if err := c.Maps["by_hashes"].Put(abi.Hashes("storm", name), uint64(0)); err != nil {
			t.Fatal(err)
		}
	}

	res, err := usdt.FileTargets(object, "urdt:probe1")
	if err != nil {
		t.Fatal(err)
	}
	l, err := c.AttachUSDT(c.Programs["all"], res.Targets[0], &usdt.Options{PID: usdt.AllProcesses})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	singles := []string{"Aa"}
	for i := range single {
		singles = append(singles, fmt.Sprintf("n%d", i*names/single))
	}
	for i, name := range singles {
		l, err := c.AttachURDT(c.Programs["one"], "storm", name, &usdt.URDTOptions{NArgs: 1, PID: -1, Path: object, Cookie: uint32(i)})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}

	for _, p := range peers {
		p.WriteLine(fmt.Sprintf("storm %d %d %d", p.threads, rounds, names))
	}
	for _, p := range peers {
		p.ReadLine()
	}
	wrong := 0
	for name, n := range want {
		var got uint64
		if err := c.Maps["by_hashes"].Lookup(abi.Hashes("storm", name), &got); err != nil {
			t.Fatal(err)
		}
		if got != n {
			if wrong++; wrong < 10 {
				t.Errorf("storm:%s was seen %d times, want %d", name, got, n)
			}
		}
	}
	var unknown uint64
	if err := c.Variables["unknown"].Get(&unknown); err != nil || unknown != 0 {
		t.Errorf("%d fires of no name, %v", unknown, err)
	}
	for i, name := range singles {
		var got uint64
		if err := c.Maps["by_cookie"].Lookup(uint32(i), &got); err != nil {
			t.Fatal(err)
		}
		n := want[name]
		if name == "Aa" { // the first hash alone cannot tell
			n += want["BB"]
		}
		if got != n {
			t.Errorf("storm:%s, attached to by itself, was seen %d times, want %d", name, got, n)
		}
	}
}
