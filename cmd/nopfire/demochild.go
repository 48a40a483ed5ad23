package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/emit"
)

// demoProvider is the provider of the demo.
const demoProvider = "shop"

// demoHello is the first line of the child: what it has made, or why not.
type demoHello struct {
	Backing string `json:"backing"`
	Path    string `json:"path"`
	Reason  string `json:"reason,omitempty"`
	Form    string `json:"form"`
	Error   string `json:"error,omitempty"`
}

// demoReport is the line of the child about one hit: what it has fired. It is
// made by encoding/json from the values themselves, so that it shares no code
// with the tracer that it checks.
type demoReport struct {
	Probe string            `json:"probe"`
	Args  []json.RawMessage `json:"args"`
}

// newDemoChild returns the hidden command that is the traced half of the demo.
//
// It reads lines "fire N" and reports each hit; it ends with its input, and so
// with its parent, however that ends.
func newDemoChild() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:    "demo-child",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDemoChild(cmd.InOrStdin(), cmd.OutOrStdout(), dir)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "")
	return cmd
}

func runDemoChild(in io.Reader, out io.Writer, dir string) error {
	enc := json.NewEncoder(out)
	s, err := newShop(dir)
	if err != nil {
		return enc.Encode(demoHello{Error: err.Error()})
	}
	defer s.provider.Close()
	if err := enc.Encode(s.hello()); err != nil {
		return err
	}
	hits := 0
	for lines := bufio.NewScanner(in); lines.Scan(); {
		n, err := strconv.Atoi(strings.TrimPrefix(lines.Text(), "fire "))
		if err != nil {
			return fmt.Errorf("command %q is not known", lines.Text())
		}
		for range n {
			if err := enc.Encode(s.fire(hits)); err != nil {
				return err
			}
			hits++
		}
	}
	return nil
}

// A basket is what a probe's pointer leads to: its layout stands in the type
// information of the object.
type basket struct {
	Customer int64
	Items    []string
	Total    float64
}

// A shop is the traced program: it sells things, in an order of its own.
type shop struct {
	provider *emit.Provider
	order    *emit.Probe3[int64, string, float64]
	payment  *emit.Probe3[int64, bool, time.Duration]
	refused  *emit.Probe2[int64, error]
	packed   *emit.Probe3[*basket, uint8, float32]
	label    *emit.Probe2[uint64, []byte]
	rating   *emit.Probe2[int8, string] // defined at run time, loaded later than the others
}

// newShop defines the probes: those of the program, and one that comes later as
// an object of its own.
func newShop(dir string) (*shop, error) {
	var o emit.Options
	if dir != "" {
		o = emit.Options{Backing: emit.BackingFile, Dir: dir}
	}
	var s shop
	var errs [9]error
	args := func(names ...string) *emit.ProbeOptions { return &emit.ProbeOptions{Args: names} }
	s.provider, errs[0] = emit.NewProvider(demoProvider, &o)
	p := s.provider
	s.order, errs[1] = emit.NewProbe3[int64, string, float64](p, "order", args("id", "item", "price"))
	s.payment, errs[2] = emit.NewProbe3[int64, bool, time.Duration](p, "payment", args("id", "ok", "took"))
	s.refused, errs[3] = emit.NewProbe2[int64, error](p, "refused", args("id", "err"))
	s.packed, errs[4] = emit.NewProbe3[*basket, uint8, float32](p, "packed", args("basket", "boxes", "kg"))
	s.label, errs[5] = emit.NewProbe2[uint64, []byte](p, "label", args("code", "raw"))
	errs[6] = p.Load()
	s.rating, errs[7] = emit.NewProbe2[int8, string](p, "rating", args("stars", "text"))
	errs[8] = p.Load()
	return &s, errors.Join(errs[:]...)
}

func (s *shop) hello() demoHello {
	info := s.provider.Objects()[0] // the one with order, which byHand is about
	h := demoHello{Backing: info.Backing.String(), Path: info.Path, Form: formName(info.NopForm)}
	if info.Reason != nil {
		h.Reason = info.Reason.Error()
	}
	return h
}

// formName says what a form means for a tracer's hit.
func formName(f elfgen.NopForm) string {
	switch f {
	case elfgen.FormNop1:
		return "1-byte nop: a hit is a breakpoint"
	case elfgen.FormNop5:
		return "5-byte nop: a hit is a call, no breakpoint"
	case elfgen.FormNop10:
		return "10-byte nop: a hit is a call, no breakpoint"
	}
	return "unknown nop form"
}

// The goods of the shop.
var (
	demoItems  = []string{"green tea", "Brötchen", "寿司", "a \"quoted\" book\n"}
	demoTexts  = []string{"wonderful", "arrived\tlate", ""}
	errLimit   = errors.New("card limit reached")
	demoWait   = 1500 * time.Microsecond
	demoPrices = []float64{4.5, 0.1, math.MaxFloat64, 1e-9}
)

// fire fires hit number n, one probe after the other, and reports it.
func (s *shop) fire(n int) demoReport {
	round := n / 6
	id := int64(1000 + n)
	switch n % 6 {
	case 0:
		item, price := demoItems[round%len(demoItems)], demoPrices[round%len(demoPrices)]
		s.order.Fire(id, item, price)
		return report("order", id, item, price)
	case 1:
		took := time.Duration(round+1) * demoWait
		s.payment.Fire(id, round%2 == 0, took)
		return report("payment", id, round%2 == 0, took)
	case 2:
		var err error
		if round%2 == 0 {
			err = fmt.Errorf("order %d: %w", id, errLimit)
		}
		s.refused.Fire(id, err)
		return report("refused", id, err)
	case 3:
		b := &basket{Customer: id, Items: demoItems, Total: 7.25}
		kg := float32(0.1) * float32(round+1)
		s.packed.Fire(b, uint8(250+round), kg)
		return report("packed", b, uint8(250+round), kg)
	case 4:
		code, raw := math.MaxUint64-uint64(round), []byte{0, 0xff, byte(round)}
		s.label.Fire(code, raw)
		return report("label", code, raw)
	default:
		stars, text := int8(-round), demoTexts[round%len(demoTexts)]
		s.rating.Fire(stars, text)
		return report("rating", stars, text)
	}
}

// report writes down a hit by docs/json.md: bytes and pointers in hexadecimal,
// errors as their text, all else as encoding/json has it.
func report(probe string, args ...any) demoReport {
	r := demoReport{Probe: probe}
	for _, a := range args {
		switch v := a.(type) {
		case error:
			a = v.Error()
		case []byte:
			a = hex.EncodeToString(v)
		default:
			if v := reflect.ValueOf(a); v.Kind() == reflect.Pointer {
				a = fmt.Sprintf("0x%x", v.Pointer())
			}
		}
		data, err := json.Marshal(a)
		if err != nil {
			data, _ = json.Marshal(err.Error()) // no traced value equals it
		}
		r.Args = append(r.Args, data)
	}
	return r
}
