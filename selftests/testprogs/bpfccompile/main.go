//go:build linux

// Bpfccompile compiles a BPF program in C for tracepoints that are defined at run
// time, loads and attaches it, fires, and prints what the program sends. It needs
// nothing of the machine but the kernel.
//
//	bpfccompile FIRES MIN-STATUS [BENCH]
//
// With a third argument it only compiles and loads, and prints the milliseconds of
// both and the kilobytes of memory that they took at most.
package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cilium/ebpf/ringbuf"

	"github.com/nopfire/nopfire/bpfside/bpfc"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/urdt"
)

//go:embed bpf
var source embed.FS

// request is the tracepoint that the program is for.
var request = urdt.Must(urdt.New2[int, string]("app", "request"))

// event is struct event of bpf/requests.bpf.c.
type event struct {
	PID    uint32
	Status int32
	Count  uint64
	Path   [24]byte
}

func main() {
	log.SetFlags(0)
	fires, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	minStatus, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	start := time.Now()
	spec, err := bpfc.Compile(context.Background(), source, "bpf/requests.bpf.c", nil)
	if err != nil {
		log.Fatal(err)
	}
	compiled := time.Now()
	if err := spec.Variables["min_status"].Set(int32(minStatus)); err != nil {
		log.Fatal(err)
	}
	coll, err := usdt.NewCollection(spec, nil)
	if err != nil {
		log.Fatal(bpfc.Explain(spec, err))
	}
	defer coll.Close()
	if len(os.Args) > 3 {
		fmt.Println(compiled.Sub(start).Milliseconds(), time.Since(compiled).Milliseconds(), peak())
		return
	}
	attached, err := usdt.AutoAttach(coll, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer attached.Close()
	for _, p := range attached.Left {
		log.Fatalf("program %s is not attached: %v", p.Program, p.Err)
	}
	events, err := ringbuf.NewReader(coll.Maps["events"])
	if err != nil {
		log.Fatal(err)
	}
	defer events.Close()
	for i := range fires {
		request.Fire(i%5, fmt.Sprint("/", i))
	}
	print(events)
	var seen uint64
	if err := coll.Variables["seen"].Get(&seen); err != nil {
		log.Fatal(err)
	}
	fmt.Println("seen", seen)
}

// print prints the events that are there.
func print(events *ringbuf.Reader) {
	events.SetDeadline(time.Now()) // what has been sent is there already
	for {
		record, err := events.Read()
		if err != nil {
			return
		}
		var e event
		if _, err := binary.Decode(record.RawSample, binary.NativeEndian, &e); err != nil {
			log.Fatal(err)
		}
		path, _, _ := bytes.Cut(e.Path[:], []byte{0})
		fmt.Println(e.PID == uint32(os.Getpid()), e.Status, e.Count, string(path))
	}
}

// peak returns the kilobytes of memory that this process had at most.
func peak() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		log.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	return strings.Fields(rest)[0]
}
