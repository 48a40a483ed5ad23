package bpfc

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The logs are the kernel's (6.18), shortened at their beginning.
func TestReadLog(t *testing.T) {
	const counted = "processed 13 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0"
	for _, tc := range []struct {
		name string
		log  string
		msg  string
		insn int
		last string // line of the tail
	}{
		{"two lines of message", `
; if (v) return v[g & 7]; return 0; } @ v.bpf.c:10
7: (15) if r0 == 0x0 goto pc+7        ; R0=map_value(map=m,ks=4,vs=4)
8: (18) r1 = 0xffffc90000e96000       ; R1=map_value(map=.bss,ks=4,vs=4)
14: (61) r6 = *(u32 *)(r0 +0)
invalid access to map value, value_size=4 off=28 size=4
R0 max value is outside of the allowed memory range
` + counted,
			"invalid access to map value, value_size=4 off=28 size=4; R0 max value is outside of the allowed memory range", 14,
			"R0 max value is outside of the allowed memory range"},
		{"states behind the message", `
5: (05) goto pc-4
infinite loop detected at insn 2
cur state: R1=scalar(smin=0,smax=umax=0xffffffff,var_off=(0x0; 0xffffffff)) R10=fp0 fp-8=mmmm????
old state: R1=scalar(smin=0,smax=umax=0xffffffff,var_off=(0x0; 0xffffffff)) R10=fp0 fp-8=mmmm????
` + counted, "infinite loop detected at insn 2", 2, "infinite loop detected at insn 2"},
		{"a register is the subject", `
0: R1=ctx() R10=fp0
5: (85) call pc+1
R1 type=scalar expected=fp
Caller passes invalid args into func#1 ('glob')
` + counted, "R1 type=scalar expected=fp; Caller passes invalid args into func#1 ('glob')", 5, "Caller passes invalid args into func#1 ('glob')"},
		{"state behind a step of a callback", `
5: (85) call bpf_loop#181 7: frame1: R1=scalar() R2=0 R10=fp0 cb
; static long cb(unsigned i, void *ctx) { return 5; } @ v.bpf.c:5
7: (b7) r0 = 5                        ; frame1: R0=5 cb
8: (95) exit
At callback return the register R0 has smin=5 smax=5 should have been in [0, 1]
` + counted, "At callback return the register R0 has smin=5 smax=5 should have been in [0, 1]", 8,
			"At callback return the register R0 has smin=5 smax=5 should have been in [0, 1]"},
		{"refused before the first step", "unreachable insn 3\n" + counted, "unreachable insn 3", 3, "unreachable insn 3"},
		{"nothing but counts", counted, "", 0, ""},
		{"empty", "", "", 0, ""},
	} {
		r := readLog(strings.Split(strings.TrimPrefix(tc.log, "\n"), "\n"))
		last := ""
		if len(r.tail) > 0 {
			last = r.tail[len(r.tail)-1]
		}
		if r.msg != tc.msg || r.insn != tc.insn || last != tc.last {
			t.Errorf("%s: %q at %d, last %q, want %q at %d, last %q", tc.name, r.msg, r.insn, last, tc.msg, tc.insn, tc.last)
		}
	}
}

func TestReadLogKeepsTheEnd(t *testing.T) {
	log := strings.Split(strings.Repeat("1: (b7) r0 = 0\n", 100)+"R1 !read_ok", "\n")
	r := readLog(log)
	if diff := cmp.Diff(log[len(log)-maxLog:], r.tail); diff != "" {
		t.Error(diff)
	}
}
