package include_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/bpfside/include"
	"github.com/nopfire/nopfire/internal/testutils"
)

// libbpfHeaders are the headers that stand in for those of libbpf.
var libbpfHeaders = []string{"bpf_helpers.h", "bpf_helper_defs.h", "bpf_tracing.h", "bpf_core_read.h", "bpf_endian.h", "usdt.bpf.h"}

// readLibbpf returns the text of a header of the libbpf that is installed.
func readLibbpf(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("/usr/include/bpf/" + name)
	if err != nil {
		testutils.SkipOrFail(t, "no libbpf headers: %v", err)
	}
	return string(text)
}

// readOurs returns the text of our header of the name, and of those that it includes.
func readOurs(t *testing.T, name string) string {
	t.Helper()
	path := "system/bpf/" + name
	if name == "usdt.bpf.h" {
		path = name
	}
	text, err := fs.ReadFile(include.Files, path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var defineRE = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)`)

func macrosOf(text string) map[string]bool {
	names := make(map[string]bool)
	for _, m := range defineRE.FindAllStringSubmatch(text, -1) {
		names[m[1]] = true
	}
	return names
}

// Each macro of libbpf's headers is in ours, but for those that are the headers' own
// business (they begin with three underscores) and for machines that we leave out.
func TestMacrosOfLibbpf(t *testing.T) {
	leftOut := map[string]bool{"bpf_target_sparc": true, "bpf_target_arc": true}
	all := make(map[string]bool)
	for _, name := range libbpfHeaders {
		maps.Copy(all, macrosOf(readOurs(t, name)))
	}
	// Of the headers' own macros, those that programs are known to use.
	for _, name := range []string{"___bpf_concat", "___bpf_apply", "___bpf_nth", "___bpf_narg", "___bpf_fill"} {
		if !all[name] {
			t.Errorf("%s is missing", name)
		}
	}
	for _, header := range libbpfHeaders {
		n := 0
		for _, name := range slices.Sorted(maps.Keys(macrosOf(readLibbpf(t, header)))) {
			if strings.HasPrefix(name, "___") || leftOut[name] {
				continue
			}
			n++
			if !all[name] {
				t.Errorf("%s: %s is missing", header, name)
			}
		}
		if n == 0 && header != "bpf_helper_defs.h" {
			t.Errorf("%s: no macros were read", header)
		}
	}
}

var helperRE = regexp.MustCompile(`(?m)^static .*?\(\*(?: const)? ?(bpf_\w+)\)\((.*)\) = \(void \*\) ?(\d+);`)

// The helpers have the numbers and the parameters that libbpf's header has.
func TestHelpersOfLibbpf(t *testing.T) {
	const name = "bpf_helper_defs.h"
	ours := make(map[string][]string)
	for _, m := range helperRE.FindAllStringSubmatch(readOurs(t, name), -1) {
		ours[m[1]] = m[2:]
	}
	theirs := helperRE.FindAllStringSubmatch(readLibbpf(t, name), -1)
	if len(theirs) < 200 || len(ours) < len(theirs) {
		t.Fatalf("%d helpers here, %d there", len(ours), len(theirs))
	}
	for _, m := range theirs {
		if o := ours[m[1]]; !slices.Equal(o, m[2:]) {
			t.Errorf("%s: %q here, %q there", m[1], o, m[2:])
		}
	}
}

// everyMachine reads each register that bpf_tracing.h names, for each machine.
const everyMachine = `
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

SEC("kprobe") long all(struct pt_regs *ctx)
{
	long ip = 0;

	BPF_KPROBE_READ_RET_IP(ip, ctx);
#ifdef FP
	BPF_KRETPROBE_READ_RET_IP(ip, ctx);
	ip += PT_REGS_FP(ctx) + PT_REGS_FP_CORE(ctx);
#endif
#if NARGS >= 4
	ip += PT_REGS_PARM4(ctx) + PT_REGS_PARM4_CORE(ctx);
#endif
#if NARGS >= 5
	ip += PT_REGS_PARM5(ctx) + PT_REGS_PARM5_CORE(ctx);
#endif
#if NARGS >= 6
	ip += PT_REGS_PARM6(ctx) + PT_REGS_PARM6_CORE(ctx);
#endif
#if NARGS >= 8
	ip += PT_REGS_PARM7(ctx) + PT_REGS_PARM8_CORE(ctx);
#endif
	return ip + PT_REGS_PARM1(ctx) + PT_REGS_PARM2(ctx) + PT_REGS_PARM3_CORE(ctx) + PT_REGS_RET(ctx) + PT_REGS_RET_CORE(ctx) +
		PT_REGS_RC(ctx) + PT_REGS_RC_CORE(ctx) + PT_REGS_SP(ctx) + PT_REGS_SP_CORE(ctx) + PT_REGS_IP(ctx) + PT_REGS_IP_CORE(ctx) +
		PT_REGS_PARM2_SYSCALL(ctx) + PT_REGS_PARM3_CORE_SYSCALL(ctx) + PT_REGS_PARM5_SYSCALL(ctx) + PT_REGS_PARM6_CORE_SYSCALL(ctx) +
		PT_REGS_PARM1_SYSCALL(PT_REGS_SYSCALL_REGS(ctx));
}

SEC("kprobe") int BPF_KPROBE(three, int a, char *b, long c) { return a + *b + c; }
SEC("kretprobe") int BPF_KRETPROBE(result, long r) { return r; }
SEC("ksyscall") int BPF_KSYSCALL(call, int a, char *b, long c, int d, long e) { return a + c + d + e; }
`

func TestEveryMachine(t *testing.T) {
	clang := testutils.Oracle(t, "clang-14", "clang")
	dir := t.TempDir()
	if err := os.CopyFS(dir, include.Files); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "all.c")
	if err := os.WriteFile(file, []byte(everyMachine), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, m := range []struct {
		name  string
		nargs int
		fp    bool
	}{
		{"x86", 6, true}, {"arm64", 8, true}, {"arm", 4, true}, {"s390", 5, true}, {"mips", 8, true},
		{"powerpc", 8, false}, {"riscv", 8, true}, {"loongarch", 8, true},
	} {
		args := []string{"-O2", "-g", "-target", "bpf", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter",
			"-D__TARGET_ARCH_" + m.name, fmt.Sprintf("-DNARGS=%d", m.nargs), "-c", file, "-o", file + ".o"}
		if m.fp {
			args = append(args, "-DFP")
		}
		for _, p := range include.Path {
			args = append(args, "-I"+filepath.Join(dir, p))
		}
		if msg, err := exec.Command(clang, args...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%.3000s", m.name, err, msg)
		}
	}
	// Without a machine it is said what is missing.
	args := []string{"-target", "bpf", "-fsyntax-only", file}
	for _, p := range include.Path {
		args = append(args, "-I"+filepath.Join(dir, p))
	}
	if msg, err := exec.Command(clang, args...).CombinedOutput(); err == nil || !bytes.Contains(msg, []byte("Must specify a BPF target arch via __TARGET_ARCH_xxx")) {
		t.Errorf("no machine: %v\n%.1000s", err, msg)
	}
}

// Each header of the folder system can be included alone, and twice.
func TestSystemHeadersAlone(t *testing.T) {
	clang := testutils.Oracle(t, "clang-14", "clang")
	dir := t.TempDir()
	if err := os.CopyFS(dir, include.Files); err != nil {
		t.Fatal(err)
	}
	err := fs.WalkDir(include.Files, "system", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := strings.TrimPrefix(path, "system/")
		src := fmt.Sprintf("#include <linux/types.h>\n#include <%s>\n#include <%s>\nint x;\n", name, name)
		if name == "bpf/usdt.bpf.h" {
			src = "#include <linux/bpf.h>\n#include <linux/ptrace.h>\n" + src
		}
		args := []string{"-target", "bpf", "-D__TARGET_ARCH_x86", "-nostdinc", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter",
			"-fsyntax-only", "-x", "c", "-"}
		for _, p := range include.Path {
			args = append(args, "-I"+filepath.Join(dir, p))
		}
		cmd := exec.Command(clang, args...)
		cmd.Stdin = strings.NewReader(src)
		if msg, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%.1500s", name, err, msg)
		}
		text, err := fs.ReadFile(include.Files, path)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(string(text), "/* SPDX-License-Identifier: MIT OR GPL-2.0 */\n") {
			t.Errorf("%s does not begin with its licence", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
