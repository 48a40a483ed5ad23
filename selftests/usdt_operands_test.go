//go:build linux && amd64

package selftests

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// operandsProgram fires "odd:operands", whose arguments are of the forms that
// libbpf 1.1 refuses together with the whole attachment, and others between them.
const operandsProgram = `
#include <stdio.h>

long table[4] = {10, -20, 30, 40};
int variable = -77;

__attribute__((noinline)) void fire(void)
{
	__asm__ volatile(
		"mov $0x8142, %%eax\n"
		"lea table(%%rip), %%rbx\n"
		"mov $2, %%ecx\n"
		"mov $-5, %%edx\n"
		"990: nop\n"
		".pushsection .note.stapsdt,\"\",\"note\"\n"
		".balign 4\n .4byte 8, 994f-993f, 3\n .asciz \"stapsdt\"\n"
		"993: .8byte 990b, 0, 0\n"
		".asciz \"odd\"\n .asciz \"operands\"\n"
		".asciz \"-4@%%edx 1@%%ah -1@%%ah 8@%%xmm0 -4@variable(%%rip) -8@8(%%rbx,%%rcx,8) 16@%%rdx 4@nowhere(%%rip) 2@%%ax $9\"\n"
		"994: .balign 4\n"
		".popsection\n"
		::: "rax", "rbx", "rcx", "rdx", "memory");
}

int main(void)
{
	char line[16];
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		fire();
		puts("fired");
	}
	return 0;
}`

// A bad argument costs itself and no neighbour, and what libbpf cannot describe is
// described where the header allows it.
func TestObjectOddOperands(t *testing.T) {
	testutils.NeedBPF(t)
	child := testutils.Start(t, testutils.BuildC(t, operandsProgram))
	child.ReadLine()
	res, err := usdt.ProcessTargets(child.PID, "odd:operands")
	if err != nil {
		t.Fatal(err)
	}
	target := res.Targets[0]
	const einval = 22

	t.Run("libbpf 1.1", func(t *testing.T) {
		c, err := usdt.LoadCollection(testutils.BuildBPF(t, "testprogs/usdtobj/programs.bpf.c", `-DTARGET="/nowhere"`), nil)
		if err != nil {
			t.Fatalf("%+v", err)
		}
		defer c.Close()
		l, err := c.AttachUSDT(c.Programs["on_manual"], target, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		child.WriteLine("")
		child.ReadLine()
		got := seenBy(t, c)[seenManual]
		wantRC := returnCodes(10)
		for _, i := range []int{3, 5, 6, 7} { // xmm, index, struct, unknown symbol
			wantRC[i] = -einval
		}
		if got.Hits != 1 || got.ArgC != 10 || got.RC != wantRC {
			t.Errorf("%d hits, %d arguments, return codes %v, want %v", got.Hits, got.ArgC, got.RC, wantRC)
		}
		want := [14]int64{-5, 0x81, -0x7f, 0, -77, 0, 0, 0, 0x8142, 9}
		if diff := cmp.Diff(want, got.Arg); diff != "" {
			t.Errorf("arguments (-want +got):\n%s", diff)
		}
		unreadable(t, c, target, "argument 3: ", "argument 5: ", "argument 6: ", "argument 7: ")
	})

	t.Run("libbpf 1.7", func(t *testing.T) {
		c, err := usdt.LoadCollection(testutils.BuildBPF(t, "testprogs/usdtobj/newer.bpf.c"), nil)
		if err != nil {
			t.Fatalf("%+v", err)
		}
		defer c.Close()
		l, err := c.AttachUSDT(c.Programs["on_manual"], target, &usdt.Options{Cookie: 5})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		child.WriteLine("")
		child.ReadLine()
		var args, kinds [12]int64
		var hits, cookie, argc uint64
		for name, v := range map[string]any{"args": &args, "kinds": &kinds, "hits": &hits, "cookie": &cookie, "argc": &argc} {
			if err := c.Variables[name].Get(v); err != nil {
				t.Fatal(err)
			}
		}
		if hits != 1 || cookie != 5 || argc != 10 {
			t.Errorf("%d hits, cookie %d, %d arguments", hits, cookie, argc)
		}
		// The value with an index register is table[3].
		if diff := cmp.Diff([12]int64{-5, 0x81, -0x7f, 0, -77, 40, 0, 0, 0x8142, 9}, args); diff != "" {
			t.Errorf("arguments (-want +got):\n%s", diff)
		}
		unreadable(t, c, target, "argument 3: ", "argument 6: ", "argument 7: ")
	})
}

// unreadable checks which arguments of a target the collection cannot read.
func unreadable(t *testing.T, c *usdt.Collection, target *usdt.Target, want ...string) {
	t.Helper()
	errs := c.Unreadable(&target.Locations[0])
	if len(errs) != len(want) {
		t.Fatalf("unreadable: %v, want %d", errs, len(want))
	}
	for i, err := range errs {
		if !errors.Is(err, usdt.ErrUnreadable) || !strings.Contains(err.Error(), want[i]) {
			t.Errorf("%v, want %s", err, want[i])
		}
	}
}
