package usdt_test

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// operandProgram sets registers and memory to known values and has one probe
// site, at NOP, whose note is written by hand: it holds the operands of the
// test, not those that a compiler happens to choose.
const operandProgram = `
#define _GNU_SOURCE
#include <stdio.h>
#include <stdint.h>
#include <sys/mman.h>

uint64_t table[8] = {0x1111111111111111, 0x2222222222222222, 0x3333333333333333, 0x8444444444444484};
struct { int32_t a; int16_t b; int8_t c; } rec = {-70000, -300, -3};

int main(void)
{
	char line[8];
	/* the last byte before a page that is not there: reading more would fail */
	char *edge = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(edge + 4096, 4096);
	edge += 4095;
	*edge = -9;
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof line, stdin)) {
		register char *r12 __asm__("r12") = edge;
		__asm__ volatile(
			"mov $0x8877665544332291, %%rax\n"
			"lea table(%%rip), %%rbx\n"
			"mov $2, %%ecx\n"
			"mov $0xfffffffffffffffe, %%r10\n"
			"mov $16, %%r13d\n"
			"990:\t" NOP "\n"
			".pushsection .note.stapsdt, \"\", \"note\"\n"
			".balign 4\n"
			".4byte 8, 992f-991f, 3\n"
			".asciz \"stapsdt\"\n"
			"991:\n"
			".8byte 990b, 0, 0\n"
			".asciz \"app\"\n"
			".asciz \"operands\"\n"
			".asciz \"" ARGS "\"\n"
			"992:\t.balign 4\n"
			".popsection\n"
			: : "r"(r12) : "rax", "rbx", "rcx", "r10", "r13", "memory");
		puts("fired");
	}
	return 0;
}`

// What LoadArg reads of each form of operand of x86-64, in the kernel.
func TestLoadArgRuns(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("skipped: the operands are those of x86-64")
	}
	rows := []struct {
		arg    string
		value  uint64
		status int64
	}{
		{"8@%rax", 0x8877665544332291, 0},
		{"-8@%rax", 0x8877665544332291, 0},
		{"4@%eax", 0x44332291, 0},
		{"-4@%eax", 0x44332291, 0},
		{"-4@%r10d", ^uint64(1), 0},
		{"4@%r10d", 0xfffffffe, 0},
		{"2@%ax", 0x2291, 0},
		{"1@%al", 0x91, 0},
		{"-1@%al", ^uint64(0x6e), 0},
		{"1@%ah", 0x22, 0},
		{"1@%rax", 0x91, 0}, // the spelling of our own objects
		{"8@(%rbx)", 0x1111111111111111, 0},
		{"8@8(%rbx)", 0x2222222222222222, 0},
		{"8@(%rbx,%rcx,8)", 0x3333333333333333, 0},
		{"8@(%rbx,%r13)", 0x3333333333333333, 0},
		{"8@-8(%rbx,%rcx,8)", 0x2222222222222222, 0},
		{"-1@24(%rbx)", ^uint64(0x7b), 0},
		{"4@24(%rbx)", 0x44444484, 0},
		{"8@table+24(%rip)", 0x8444444444444484, 0},
		{"-4@rec(%rip)", ^uint64(69999), 0},
		{"-2@4+rec(%rip)", ^uint64(299), 0},
		{"-1@rec+6(%rip)", ^uint64(2), 0},
		{"-1@(%r12)", ^uint64(8), 0}, // exactly one byte is read
		{"2@(%r12)", 0, -14},         // -EFAULT, and no neighbour's value
		{"8@(%rcx)", 0, -14},
		{"8@$18446744073709551615", ^uint64(0), 0},
		{"-4@$-1", ^uint64(0), 0},
		{"4@$-1", 0xffffffff, 0},
		{"1@$0x141", 0x41, 0},
	}
	// A record holds as many arguments as fit on the stack of a program.
	const perRun = 16
	for _, nop := range []struct{ name, asm string }{
		{"nop1", "nop"},
		{"nop5", ".byte 0x0f,0x1f,0x44,0x00,0x00"}, // optimized since Linux 6.18
		{"pushed", "push %%rax; pop %%rax"},        // emulated
	} {
		t.Run(nop.name, func(t *testing.T) {
			needMethod(t, usdt.UprobeMulti)
			for from := 0; from < len(rows); from += perRun {
				part := rows[from:min(from+perRun, len(rows))]
				var args []string
				var want []uint64
				var status []int64
				for _, r := range part {
					args = append(args, strings.ReplaceAll(r.arg, "%", "%%"))
					want = append(want, r.value)
					status = append(status, r.status)
				}
				prog := testutils.BuildC(t, operandProgram, `-DNOP="`+nop.asm+`"`, `-DARGS="`+strings.Join(args, " ")+`"`)
				c := testutils.Start(t, prog)
				c.ReadLine()
				res, err := usdt.ProcessTargets(c.PID, "app:operands")
				if err != nil {
					t.Fatal(err, res.Problems)
				}
				r := newRig(t, res.Targets[0], usdt.UprobeMulti, -1)
				r.attach(res.Targets[0], nil)
				// The second hit goes through the call that the first one
				// has put there, where the kernel does that.
				for range 2 {
					c.WriteLine("")
					c.ReadLine()
					h := r.hits(1)[0]
					if diff := cmp.Diff(want, h.values); diff != "" {
						t.Errorf("%s\nvalues (-want +got):\n%s", args, diff)
					}
					if diff := cmp.Diff(status, h.status); diff != "" {
						t.Errorf("%s\nstatus (-want +got):\n%s", args, diff)
					}
				}
			}
		})
	}
}

// The host is what its own programs are made for.
func TestOwnMachineIsHost(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := usdt.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	if host, ok := usdt.HostMachine(); ok && f.Machine != host {
		t.Errorf("this test is a program for %s, the host is %s", f.Machine, host)
	}
}
