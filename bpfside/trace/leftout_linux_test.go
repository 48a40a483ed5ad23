//go:build amd64

package trace_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// refusedProgram has a probe with two locations: a nop, and an instruction that no
// kernel takes a probe on and that is never reached.
const refusedProgram = `
#include <stdio.h>

#define NOTE(name)                                              \
	".pushsection .note.stapsdt,\"\",\"note\"\n"            \
	".balign 4\n .4byte 8, 994f-993f, 3\n .asciz \"stapsdt\"\n" \
	"993: .8byte 990b, 0, 0\n"                              \
	".asciz \"seq\"\n .asciz \"" name "\"\n .asciz \"8@$7\"\n" \
	"994: .balign 4\n .popsection\n"

int main(void)
{
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF) {
		__asm__ volatile("990: nop\n" NOTE("both"));
		__asm__ volatile("jmp 995f\n 990: hlt\n 995:" NOTE("both"));
		puts("fired");
		fflush(stdout);
	}
}`

// A location that cannot be probed is a problem of its own: the other is traced.
func TestRefusedLocationIsTold(t *testing.T) {
	testutils.NeedBPF(t)
	child := testutils.Start(t, testutils.BuildC(t, refusedProgram))
	child.ReadLine()
	s, err := trace.Start(trace.Query{PID: child.PID, Clauses: []trace.Clause{{Pattern: "seq:both"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p := s.Problems()
	if len(p) != 1 || !errors.Is(p[0], usdt.ErrRefused) || !strings.HasPrefix(p[0].Error(), "seq:both in ") ||
		!strings.Contains(p[0].Error(), "privileged instruction 0xf4") {
		t.Errorf("problems %v", p)
	}
	child.WriteLine("")
	child.ReadLine()
	if events := next(t, s, 1); events[0].Probe != "both" {
		t.Errorf("event %+v", events[0])
	}
}
