package usdt_test

import (
	"encoding/binary"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// A hit is what the test program reports of one firing of a probe.
type hit struct {
	cookie uint64
	values []uint64
	status []int64 // of each LoadArg
	text   string  // of the argument that is followed as a string
}

// maxText bounds hit.text.
const maxText = 64

// A rig is a loaded BPF program that reports the arguments of one layout.
type rig struct {
	t    *testing.T
	prog *ebpf.Program
	buf  *ebpf.Map
	rd   *ringbuf.Reader
	n    int
}

// newRig assembles a program that reads all arguments of the first location of a
// target. If str >= 0, it also reads the string that this argument points to.
//
// The record, on the stack from R10-size on: cookie, then a value and a status
// for each argument, then the string.
func newRig(t *testing.T, target *usdt.Target, m usdt.Method, str int) *rig {
	t.Helper()
	loc := &target.Locations[0]
	args := loc.Args()
	textOff := 8 + 16*len(args)
	size := int16(textOff + maxText)
	const scratch = -8
	base := int16(scratch) - size
	frame := usdt.Frame{Ctx: asm.R6, Dst: asm.R7, Scratch: scratch}

	buf, err := ebpf.NewMap(&ebpf.MapSpec{Name: "hits", Type: ebpf.RingBuf, MaxEntries: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	insns := asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1), asm.Mov.Imm(asm.R0, 0)}
	for off := base; off < scratch; off += 8 {
		insns = append(insns, asm.StoreMem(asm.R10, off, asm.R0, asm.DWord))
	}
	insns = append(insns,
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.FnGetAttachCookie.Call(),
		asm.StoreMem(asm.R10, base, asm.R0, asm.DWord))
	for i := range args {
		load, err := usdt.LoadArg(loc.Machine, &args[i], frame)
		if err != nil {
			t.Fatalf("argument %d: %v", i, err)
		}
		insns = append(insns, load...)
		insns = append(insns,
			asm.StoreMem(asm.R10, base+8+16*int16(i), asm.R7, asm.DWord),
			asm.StoreMem(asm.R10, base+16+16*int16(i), asm.R0, asm.DWord))
		if i == str {
			insns = append(insns,
				asm.Mov.Reg(asm.R1, asm.R10), asm.Add.Imm(asm.R1, int32(base)+int32(textOff)),
				asm.Mov.Imm(asm.R2, maxText),
				asm.Mov.Reg(asm.R3, asm.R7),
				asm.FnProbeReadUserStr.Call())
		}
	}
	insns = append(insns,
		asm.LoadMapPtr(asm.R1, buf.FD()),
		asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, int32(base)),
		asm.Mov.Imm(asm.R3, int32(size)),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnRingbufOutput.Call(),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return())
	spec := &ebpf.ProgramSpec{Name: "rig", Instructions: insns, License: "Dual MIT/GPL"}
	if err := usdt.PrepareProgram(spec, m); err != nil {
		t.Fatal(err)
	}
	prog, err := ebpf.NewProgram(spec)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	rd, err := ringbuf.NewReader(buf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rd.Close(); prog.Close(); buf.Close() })
	return &rig{t, prog, buf, rd, len(args)}
}

// attach attaches the program until the test ends.
func (r *rig) attach(target *usdt.Target, o *usdt.Options) link.Link {
	r.t.Helper()
	l, err := usdt.AttachUSDT(r.prog, target, o)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { l.Close() })
	return l
}

// hits waits for n hits, and makes sure that no more come.
func (r *rig) hits(n int) []hit {
	r.t.Helper()
	var out []hit
	for {
		wait := 5 * time.Second
		if len(out) >= n {
			wait = 50 * time.Millisecond
		}
		r.rd.SetDeadline(time.Now().Add(wait))
		rec, err := r.rd.Read()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			r.t.Fatal(err)
		}
		d := rec.RawSample
		h := hit{cookie: binary.NativeEndian.Uint64(d)}
		for i := range r.n {
			h.values = append(h.values, binary.NativeEndian.Uint64(d[8+16*i:]))
			h.status = append(h.status, int64(binary.NativeEndian.Uint64(d[16+16*i:])))
		}
		text := d[8+16*r.n:]
		for i, c := range text {
			if c == 0 {
				h.text = string(text[:i])
				break
			}
		}
		out = append(out, h)
	}
	if len(out) != n {
		r.t.Fatalf("%d hits, want %d", len(out), n)
	}
	return out
}

// find returns the target with the given name.
func find(t *testing.T, res *usdt.Result, name string) *usdt.Target {
	t.Helper()
	for _, target := range res.Targets {
		if target.String() == name {
			return target
		}
	}
	t.Fatalf("no target %s among %d", name, len(res.Targets))
	return nil
}
