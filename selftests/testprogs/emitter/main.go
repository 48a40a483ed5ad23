// Command emitter is the fired side of the selftests: it defines probes of every
// type at run time and fires them on command.
//
// Each line on standard input is a command; the answer is one line.
//
//	fire N     fire every probe N times                → fired N
//	extend     define probe extraK, K from 1, and load → extended K
//	enabled    which probes are traced                 → enabled NAME…
//	loop N     fire the probe "text" N times           → nanoseconds per fire
//	close      close the provider                      → closed
//	info       where the probes are                    → info PATH FORM BACKING
//
// It ends at the end of its input.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/emit"
)

// A Point is what a probe's pointer argument points to.
type Point struct {
	X, Y int32
	Name string
}

func main() {
	provider := flag.String("provider", "selftest", "name of the provider")
	backing := flag.String("backing", "memfd", "memfd, file or shared")
	dir := flag.String("dir", "", "directory of the file or shared file")
	semaphore := flag.Bool("semaphore", false, "give each probe a semaphore")
	form := flag.String("form", "", "nop1, nop5 or nop10; default: what the kernel optimizes")
	flag.Parse()
	if err := run(*provider, *backing, *dir, *form, *semaphore); err != nil {
		fmt.Fprintln(os.Stderr, "emitter:", err)
		os.Exit(1)
	}
}

// probes are the handles of the emitter.
type probes struct {
	zero  *emit.Probe0
	ints  *emit.Probe8[int8, uint8, int16, uint16, int32, uint32, int64, uint64]
	all   *emit.Probe12[int64, int64, int64, int64, int64, int64, int64, int64, int64, int64, int64, int64]
	mixed *emit.Probe12[int8, uint8, int8, uint8, int16, uint16, int32, uint32, int64, uint64, int16, int8]
	text  *emit.Probe2[int64, string]
	flts  *emit.Probe2[float32, float64]
	other *emit.Probe3[bool, error, *Point]
	bytes *emit.Probe1[[]byte]
}

func define(p *emit.Provider, semaphore bool) (*probes, error) {
	var h probes
	opt := func(names ...string) *emit.ProbeOptions {
		return &emit.ProbeOptions{Args: names, Semaphore: semaphore}
	}
	var errs [8]error
	h.zero, errs[0] = emit.NewProbe0(p, "zero", opt())
	h.ints, errs[1] = emit.NewProbe8[int8, uint8, int16, uint16, int32, uint32, int64, uint64](p, "ints",
		opt("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"))
	h.all, errs[2] = emit.NewProbe12[int64, int64, int64, int64, int64, int64, int64, int64, int64, int64, int64, int64](p, "args12", opt())
	h.mixed, errs[3] = emit.NewProbe12[int8, uint8, int8, uint8, int16, uint16, int32, uint32, int64, uint64, int16, int8](p, "mixed12", opt())
	h.text, errs[4] = emit.NewProbe2[int64, string](p, "text", opt("seq", "msg"))
	h.flts, errs[5] = emit.NewProbe2[float32, float64](p, "floats", opt("f32", "f64"))
	h.other, errs[6] = emit.NewProbe3[bool, error, *Point](p, "other", opt("ok", "err", "point"))
	h.bytes, errs[7] = emit.NewProbe1[[]byte](p, "bytes", opt("data"))
	return &h, errors.Join(errs[:]...)
}

// fire fires every probe once; its values follow from i, so that a test knows
// them.
func (h *probes) fire(i int64) {
	h.zero.Fire()
	h.ints.Fire(int8(-i), uint8(200+i), int16(-300*i), uint16(60000+i), int32(-70000*i), uint32(4000000000+i), -5000000000*i, 1<<63+uint64(i))
	h.all.Fire(i, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12)
	h.mixed.Fire(-1, 0xff, int8(i), 0x80, -2, 0xfffe, -3, 0xfffffffd, -4, 1<<64-5, -32768, -128)
	h.text.Fire(i, fmt.Sprintf("message %d", i))
	h.flts.Fire(float32(i)+0.5, float64(i)+0.25)
	h.other.Fire(i%2 == 1, fmt.Errorf("error %d", i), &Point{X: int32(i), Y: -int32(i), Name: "here"})
	h.bytes.Fire([]byte{byte(i), 0, 0xff})
}

func (h *probes) enabled() []string {
	var names []string
	for _, p := range []struct {
		name string
		on   bool
	}{
		{"zero", h.zero.Enabled()}, {"ints", h.ints.Enabled()}, {"args12", h.all.Enabled()},
		{"mixed12", h.mixed.Enabled()}, {"text", h.text.Enabled()}, {"floats", h.flts.Enabled()},
		{"other", h.other.Enabled()}, {"bytes", h.bytes.Enabled()},
	} {
		if p.on {
			names = append(names, p.name)
		}
	}
	return names
}

func run(name, backing, dir, form string, semaphore bool) error {
	opts := emit.Options{Dir: dir}
	var ok bool
	if opts.Backing, ok = backings[backing]; !ok {
		return fmt.Errorf("no backing %q", backing)
	}
	if opts.NopForm, ok = forms[form]; !ok {
		return fmt.Errorf("no nop form %q", form)
	}
	p, err := emit.NewProvider(name, &opts)
	if err != nil {
		return err
	}
	h, err := define(p, semaphore)
	if err != nil {
		return err
	}
	if err := p.Load(); err != nil {
		return err
	}
	defer p.Close()

	fmt.Println("ready")
	var fired int64
	var extra []*emit.Probe1[int64]
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		verb, arg, _ := strings.Cut(in.Text(), " ")
		switch verb {
		case "fire":
			n, err := strconv.Atoi(arg)
			if err != nil {
				return err
			}
			for range n {
				h.fire(fired)
				for _, e := range extra {
					e.Fire(fired)
				}
				fired++
			}
			fmt.Println("fired", fired)
		case "loop":
			n, err := strconv.ParseInt(arg, 10, 64)
			if err != nil || n <= 0 {
				return fmt.Errorf("loop %q", arg)
			}
			start := time.Now()
			for i := range n {
				h.text.Fire(i, "/index.html")
			}
			fmt.Printf("%.3f\n", float64(time.Since(start).Nanoseconds())/float64(n))
		case "extend":
			e, err := emit.NewProbe1[int64](p, fmt.Sprintf("extra%d", len(extra)+1), nil)
			if err != nil {
				return err
			}
			if err := p.Load(); err != nil {
				return err
			}
			extra = append(extra, e)
			fmt.Println("extended", len(extra))
		case "enabled":
			fmt.Println("enabled", strings.Join(h.enabled(), " "))
		case "info":
			info := p.Backing()
			fmt.Println("info", info.Path, info.NopForm, info.Backing)
			if info.Reason != nil {
				fmt.Fprintln(os.Stderr, "emitter:", info.Reason)
			}
		case "close":
			if err := p.Close(); err != nil {
				return err
			}
			fmt.Println("closed")
		default:
			return fmt.Errorf("no command %q", verb)
		}
	}
	return nil
}

var backings = map[string]emit.Backing{
	"memfd": emit.BackingMemfd, "file": emit.BackingFile, "shared": emit.BackingShared,
}

var forms = map[string]elfgen.NopForm{
	"": 0, "nop1": elfgen.FormNop1, "nop5": elfgen.FormNop5, "nop10": elfgen.FormNop10,
}
