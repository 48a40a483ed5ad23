//go:build amd64

package usdt_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf/link"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/feature"
	"github.com/nopfire/nopfire/internal/testutils"
)

// An instruction as the program of testdata/sites.c has it: what is run before it,
// in assembly, then its bytes or text, then more.
type siteRow struct {
	name, before, code, after string
	// shift is where the probe is put on a kernel that optimizes nops of 5
	// and of 10 bytes.
	shift5, shift10 int
}

// skipped is the code around an instruction that must not run.
const skipBefore, skipAfter = "jmp 998f", "998:"

var siteRows = []siteRow{
	{name: "nop1", code: ".byte 0x90"},
	{name: "nop2", code: ".byte 0x66, 0x90"},
	{name: "nop3", code: ".byte 0x0f, 0x1f, 0x00"},
	{name: "nop4", code: ".byte 0x0f, 0x1f, 0x40, 0"},
	{name: "nop5", code: ".byte 0x0f, 0x1f, 0x44, 0, 0"},
	{name: "nop6", code: ".byte 0x66, 0x0f, 0x1f, 0x44, 0, 0"},
	{name: "nop7", code: ".byte 0x0f, 0x1f, 0x80, 0, 0, 0, 0"},
	{name: "nop8", code: ".byte 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0"},
	{name: "nop9", code: ".byte 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0"},
	{name: "nop10", code: ".byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0"},
	{name: "nop11", code: ".byte 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0"},
	{name: "nop_of_register", code: ".byte 0x0f, 0x1f, 0xc0"},
	{name: "pause", code: "pause"},
	{name: "nop1_nop5", code: ".byte 0x90, 0x0f, 0x1f, 0x44, 0, 0", shift5: 1},
	{name: "nop1_nop10", code: ".byte 0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0", shift10: 1},
	{name: "urdt", code: ".byte 0x90, 0x0f, 0x1f, 0x44, 0, 0, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0", shift5: 1, shift10: 6},
	{name: "nop5_over_page", before: ".balign 4096\n .fill 4092, 1, 0x90", code: ".byte 0x0f, 0x1f, 0x44, 0, 0"},
	{name: "endbr", code: "endbr64"},
	{name: "jump", code: "jmp 997f\n 997:"},
	{name: "conditional_jump", code: "je 997f\n 997:"},
	{name: "push", code: "push %%rax", after: "pop %%rax"},
	{name: "move", code: "mov %%rax, %%rcx"},
	{name: "lea", code: "lea 997f(%%rip), %%rax\n 997:"},
	{name: "fs", code: "mov %%fs:0, %%rax"},
	{name: "lock", code: "lock addl $0, -8(%%rsp)"},
	{name: "vex", code: "vpxor %%xmm0, %%xmm0, %%xmm0"},
	{name: "cs_nop", code: ".byte 0x2e, 0x90"},
	{name: "int3", before: skipBefore, code: "int3", after: skipAfter},
	{name: "hlt", before: skipBefore, code: "hlt", after: skipAfter},
	{name: "cli", before: skipBefore, code: "cli", after: skipAfter},
	{name: "out", before: skipBefore, code: "out %%al, %%dx", after: skipAfter},
	{name: "insb", before: skipBefore, code: "insb", after: skipAfter},
}

func buildSites(t *testing.T) string {
	t.Helper()
	var h strings.Builder
	rows := "#define ROWS"
	for _, r := range siteRows {
		fmt.Fprintf(&h, "SITE(%s, %q, %q, %q)\n", r.name, r.before, r.code, r.after)
		rows += fmt.Sprintf(" SITE_ROW(%s)", r.name)
	}
	header := filepath.Join(t.TempDir(), "sites.h")
	if err := os.WriteFile(header, []byte(h.String()+rows+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile("testdata/sites.c")
	if err != nil {
		t.Fatal(err)
	}
	return testutils.BuildC(t, string(src), fmt.Sprintf("-DSITES=%q", header))
}

// What Sites says of an instruction is what the kernel does: a single-stepped one
// runs in a mapping [uprobes], an optimized one calls into [uprobes-trampoline], an
// emulated one needs neither, and a refused one is refused.
func TestSitesAgreeWithKernel(t *testing.T) {
	needMethod(t, usdt.UprobeMulti)
	optimized, err := feature.OptimizedNop()
	if err != nil {
		t.Skipf("skipped: cannot ask which nop the kernel optimizes: %v", err)
	}
	prog := buildSites(t)
	for _, row := range siteRows {
		t.Run(row.name, func(t *testing.T) {
			child := testutils.Start(t, prog, row.name)
			child.ReadLine()
			res, err := usdt.ProcessTargets(child.PID, "site:"+row.name)
			if err != nil {
				t.Fatal(err)
			}
			target := res.Targets[0]
			sites, err := target.Sites()
			if err != nil {
				t.Fatal(err)
			}
			site := sites[0]
			wantShift := map[int]int{5: row.shift5, 10: row.shift10}[optimized]
			if site.Shift != wantShift {
				t.Errorf("shift %d, want %d", site.Shift, wantShift)
			}

			// The kernel's own opinion, without ours before it.
			r := newRig(t, target, usdt.UprobeMulti, -1)
			ex, err := link.OpenExecutable(target.Open)
			if err != nil {
				t.Fatal(err)
			}
			l, err := ex.UprobeMulti(nil, r.prog, &link.UprobeMultiOptions{
				Addresses: []uint64{target.Locations[0].Offset + uint64(site.Shift)}, PID: uint32(child.PID),
			})
			if err != nil {
				if site.Cost != usdt.Refused {
					t.Errorf("%s, but the kernel says: %v", site.Cost, err)
				}
				if _, err := usdt.AttachUSDT(r.prog, target, nil); err == nil {
					t.Error("AttachUSDT of a refused site")
				}
				t.Logf("%-40s %s: %v", site.Text, site.Cost, site.Err)
				return
			}
			defer l.Close()
			child.WriteLine("")
			child.ReadLine()
			child.WriteLine("")
			ns := child.ReadLine()
			maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", child.PID))
			if err != nil {
				t.Fatal(err)
			}
			want := usdt.Trap
			switch {
			case bytes.Contains(maps, []byte("[uprobes]")):
				want = usdt.SingleStep
			case bytes.Contains(maps, []byte("[uprobes-trampoline]")):
				want = usdt.Optimized
			}
			if row.before == skipBefore {
				want = site.Cost // never run
				if want == usdt.Refused {
					t.Errorf("refused, but the kernel takes it")
				}
			}
			if site.Cost != want {
				t.Errorf("%s: %s, but the kernel does: %s", site.Text, site.Cost, want)
			}
			t.Logf("%-40s %s, shift %d: %s ns", site.Text, site.Cost, site.Shift, ns)
		})
	}
}

// AttachUSDT puts the probe on the nop that the kernel optimizes, and each firing
// is seen once, with its arguments.
func TestAttachShifts(t *testing.T) {
	needMethod(t, usdt.UprobeMulti)
	prog := buildSites(t)
	for _, row := range siteRows {
		if row.shift5 == 0 && row.shift10 == 0 {
			continue
		}
		t.Run(row.name, func(t *testing.T) {
			child := testutils.Start(t, prog, row.name)
			child.ReadLine()
			res, err := usdt.ProcessTargets(child.PID, "site:"+row.name)
			if err != nil {
				t.Fatal(err)
			}
			r := newRig(t, res.Targets[0], usdt.UprobeMulti, -1)
			l := r.attach(res.Targets[0], nil)
			sites, err := res.Targets[0].Sites()
			if err != nil {
				t.Fatal(err)
			}
			info, err := l.Info()
			if err != nil {
				t.Fatal(err)
			}
			want := res.Targets[0].Locations[0].Offset + uint64(sites[0].Shift)
			if offs, ok := info.UprobeMulti().Offsets(); !ok || len(offs) != 1 || offs[0].Offset != want {
				t.Errorf("attached at %+v, want %#x", offs, want)
			}
			child.WriteLine("")
			child.ReadLine()
			r.hits(1000)
		})
	}
}

// A note that is wrong by a byte does not make the kernel break an instruction.
func TestAttachInsideInstruction(t *testing.T) {
	needMethod(t, usdt.UprobeMulti)
	child := testutils.Start(t, buildSites(t), "move")
	child.ReadLine()
	res, err := usdt.ProcessTargets(child.PID, "site:move", "site:nop1")
	if err != nil {
		t.Fatal(err)
	}
	target := find(t, res, "site:move")
	r := newRig(t, target, usdt.UprobeMulti, -1)
	target.Locations[0].Address++
	target.Locations[0].Offset++
	_, err = usdt.AttachUSDT(r.prog, target, nil)
	if err == nil || !strings.Contains(err.Error(), `instruction cannot be probed: it is byte 1 of the 3 of "mov %rax,%rcx" at run_move+`) {
		t.Errorf("error %v", err)
	}
	// Beside a good location it is left out, and that is told.
	target.Locations = append(target.Locations, find(t, res, "site:nop1").Locations...)
	var left []string
	l, err := usdt.AttachUSDT(r.prog, target, &usdt.Options{LeftOut: func(_ *usdt.Target, loc *usdt.Location, reason error) {
		left = append(left, fmt.Sprintf("%#x: %v", loc.Offset, reason))
	}})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if len(left) != 1 || !strings.Contains(left[0], "byte 1 of the 3") {
		t.Errorf("left out: %v", left)
	}
}
