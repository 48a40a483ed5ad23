package usdt

import (
	"bytes"
	"errors"
	"iter"
	"strconv"
	"strings"

	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// This file stands in for the reading side of package stapsdt until it lands.

type record struct {
	off  int
	note stapsdt.Note
}

var errFraming = errors.New("note is cut off")

func records(data []byte, m stapsdt.Machine) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		order, word := m.ByteOrder(), m.WordSize()
		for off := 0; off < len(data); {
			d := data[off:]
			if len(d) < 12 {
				yield(record{off: off}, errFraming)
				return
			}
			namesz, descsz, typ := uint64(order.Uint32(d)), uint64(order.Uint32(d[4:])), order.Uint32(d[8:])
			descOff := 12 + (namesz+3)&^3
			end := descOff + (descsz+3)&^3
			if descOff+descsz > uint64(len(d)) {
				yield(record{off: off}, errFraming)
				return
			}
			rec := record{off: off}
			off += int(min(end, uint64(len(d))))
			if typ != stapsdt.NoteType || string(d[12:12+namesz]) != stapsdt.Owner+"\x00" {
				continue
			}
			desc := d[descOff : descOff+descsz]
			if len(desc) < 3*word {
				if !yield(rec, errFraming) {
					return
				}
				continue
			}
			var addr [3]uint64
			for i := range addr {
				if word == 8 {
					addr[i] = order.Uint64(desc[8*i:])
				} else {
					addr[i] = uint64(order.Uint32(desc[4*i:]))
				}
			}
			s := bytes.SplitN(desc[3*word:], []byte{0}, 4)
			if len(s) < 4 {
				if !yield(rec, errFraming) {
					return
				}
				continue
			}
			rec.note = stapsdt.Note{Provider: string(s[0]), Name: string(s[1]), Args: string(s[2]), Location: addr[0], Base: addr[1], Semaphore: addr[2]}
			if !yield(rec, nil) {
				return
			}
		}
	}
}

func adjust(n *stapsdt.Note, baseAddr uint64, _ stapsdt.Machine) (loc, sem uint64, ok bool) {
	if n.Location == 0 {
		return 0, 0, false
	}
	if n.Base == 0 || baseAddr == 0 {
		return n.Location, n.Semaphore, true
	}
	d := baseAddr - n.Base
	sem = n.Semaphore
	if sem != 0 {
		sem += d
	}
	return n.Location + d, sem, true
}

var shimRegs = map[string][]string{
	"rax": {"al", "ax", "eax"}, "rbx": {"bl", "bx", "ebx"}, "rcx": {"cl", "cx", "ecx"}, "rdx": {"dl", "dx", "edx"},
	"rsi": {"sil", "si", "esi"}, "rdi": {"dil", "di", "edi"}, "rbp": {"bpl", "bp", "ebp"}, "rsp": {"spl", "sp", "esp"},
	"r8": {"r8b", "r8w", "r8d"}, "r9": {"r9b", "r9w", "r9d"}, "r10": {"r10b", "r10w", "r10d"}, "r11": {"r11b", "r11w", "r11d"},
	"r12": {"r12b", "r12w", "r12d"}, "r13": {"r13b", "r13w", "r13d"}, "r14": {"r14b", "r14w", "r14d"}, "r15": {"r15b", "r15w", "r15d"},
}

func shimReg(s string) string {
	s = strings.TrimPrefix(s, "%")
	for full, names := range shimRegs {
		if s == full || s == names[0] || s == names[1] || s == names[2] {
			return full
		}
	}
	return ""
}

func parseArgs(_ stapsdt.Machine, s string) []stapsdt.Arg {
	var args []stapsdt.Arg
	for _, f := range strings.Fields(s) {
		a := stapsdt.Arg{Text: f, Size: 8}
		size, op, ok := strings.Cut(f, "@")
		if ok {
			n, _ := strconv.Atoi(size)
			a.Size, a.Signed = max(n, -n), n < 0
		} else {
			op = f
		}
		bad := func() { a.Err = errors.New("operand is not understood") }
		switch {
		case strings.HasPrefix(op, "$"):
			n, err := strconv.ParseInt(op[1:], 0, 64)
			if err != nil {
				bad()
			}
			a.Operand = stapsdt.Operand{Kind: stapsdt.Constant, Value: n}
		case strings.HasPrefix(op, "%"):
			a.Operand = stapsdt.Operand{Kind: stapsdt.Register, Base: shimReg(op)}
			if a.Operand.Base == "" {
				bad()
			}
		default:
			disp, rest, ok := strings.Cut(strings.TrimSuffix(op, ")"), "(")
			if !ok {
				bad()
				break
			}
			n, err := strconv.ParseInt(disp, 0, 64)
			sym := ""
			if err != nil && disp != "" {
				for _, w := range strings.Split(disp, "+") {
					if v, err := strconv.ParseInt(w, 0, 64); err == nil {
						n = v
					} else {
						sym = w
					}
				}
			}
			p := strings.Split(rest, ",")
			a.Operand = stapsdt.Operand{Kind: stapsdt.Memory, Value: n, Base: shimReg(p[0]), Scale: 1, Symbol: sym}
			if p[0] == "%rip" {
				a.Operand.SymbolBase = "rip"
			}
			if len(p) > 1 {
				a.Operand.Index = shimReg(p[1])
			}
			if len(p) > 2 {
				a.Operand.Scale, _ = strconv.Atoi(p[2])
			}
		}
		args = append(args, a)
	}
	return args
}
