package usdt_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/cilium/ebpf"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// Attach the programs of an object that clang built with libbpf's headers to the
// probes that their sections name: SEC("usdt//usr/bin/postgres:postgresql:query__start").
func ExampleAutoAttach() {
	coll, err := usdt.LoadCollection("trace.bpf.o", nil)
	if err != nil {
		fmt.Println("no object here")
		return
	}
	defer coll.Close()

	attached, err := usdt.AutoAttach(coll, nil)
	if err != nil {
		log.Fatal(err) // names each program that is in the way
	}
	defer attached.Close()
	for _, left := range attached.Left {
		if errors.Is(left.Err, usdt.ErrLeftToCaller) {
			// SEC("usdt") names no probe: see ExampleManager_AttachUSDT.
			fmt.Println(left.Program, "is mine to attach")
		}
	}
	// … read the maps of coll
	// Output: no object here
}

// Attach a program of an object by hand, to a probe of a process, with a cookie
// that bpf_usdt_cookie returns.
func ExampleManager_AttachUSDT() {
	coll, err := usdt.LoadCollection("trace.bpf.o", nil)
	if err != nil {
		fmt.Println("no object here")
		return
	}
	defer coll.Close()

	res, err := usdt.ProcessTargets(4242, "postgresql:query__start")
	if err != nil {
		log.Fatal(err)
	}
	for _, target := range res.Targets {
		l, err := coll.AttachUSDT(coll.Programs["on_query"], target, &usdt.Options{Cookie: 7})
		if err != nil {
			log.Fatal(err)
		}
		defer l.Close()
		for i := range target.Locations {
			for _, reason := range coll.Unreadable(&target.Locations[i]) {
				log.Print(reason) // bpf_usdt_arg fails for this argument
			}
		}
	}
	// Output: no object here
}

// Load an object with LoadAndAssign, as bpf2go's code does.
func ExampleNewManager() {
	spec, err := usdt.LoadCollectionSpec("trace.bpf.o")
	if err != nil {
		fmt.Println("no object here")
		return
	}
	if err := usdt.PrepareCollection(spec, usdt.Auto); err != nil {
		log.Fatal(err)
	}
	var objs struct {
		OnQuery *ebpf.Program `ebpf:"on_query"`
		Specs   *ebpf.Map     `ebpf:"__bpf_usdt_specs"`
	}
	if err := spec.LoadAndAssign(&objs, nil); err != nil {
		log.Fatal(err)
	}
	mgr, err := usdt.NewManager(spec, &ebpf.Collection{
		Programs: map[string]*ebpf.Program{"on_query": objs.OnQuery},
		Maps:     map[string]*ebpf.Map{"__bpf_usdt_specs": objs.Specs},
	})
	if err != nil {
		log.Fatal(err)
	}
	res, err := usdt.FileTargets("/usr/bin/postgres", "postgresql:query__start")
	if err != nil {
		log.Fatal(err)
	}
	l, err := mgr.AttachUSDT(objs.OnQuery, res.Targets[0], &usdt.Options{PID: usdt.AllProcesses})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	// Output: no object here
}

// Attach one program to every probe of a provider in a library, of all processes,
// with a link for the whole.
func ExampleAttachAll() {
	path, err := usdt.LibraryPath("libjvm.so")
	if err != nil {
		fmt.Println("no JVM here")
		return
	}
	res, err := usdt.FileTargets(path, "hotspot:gc__*")
	if err != nil {
		log.Fatal(err)
	}
	var prog *ebpf.Program // as in ExampleAttachUSDT
	links, err := usdt.AttachAll(prog, res.Targets, &usdt.Options{PID: usdt.AllProcesses})
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range links {
		defer l.Close()
	}
}

// See what tracing a location costs before it is done.
func ExampleTarget_Sites() {
	res, err := usdt.FileTargets("/usr/bin/postgres", "postgresql:query__*")
	if err != nil {
		fmt.Println("no PostgreSQL here")
		return
	}
	for _, target := range res.Targets {
		sites, err := target.Sites()
		if err != nil {
			log.Fatal(err)
		}
		for i, site := range sites {
			// For instance "nop: breakpoint", or "nopl (%rax,%rax): optimized call".
			fmt.Printf("%s at %#x: %s: %s\n", target, target.Locations[i].Address, site.Text, site.Cost)
		}
	}
}
