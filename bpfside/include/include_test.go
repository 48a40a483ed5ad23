package include_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/bpfside/include"
	"github.com/nopfire/nopfire/internal/testutils"
)

// types stands in for vmlinux.h, the types of a kernel, of which the headers need
// these.
const types = `
#ifndef __VMLINUX_H__
#define __VMLINUX_H__
typedef unsigned char __u8; typedef short __s16; typedef unsigned short __u16; typedef int __s32;
typedef unsigned int __u32; typedef long long __s64; typedef unsigned long long __u64;
typedef _Bool bool; typedef __u16 __be16; typedef __u32 __be32; typedef __u32 __wsum;
enum { BPF_MAP_TYPE_HASH = 1, BPF_MAP_TYPE_ARRAY = 2 };
#ifdef __TARGET_ARCH_x86
struct pt_regs { unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss; };
#else
struct user_pt_regs { __u64 regs[31], sp, pc, pstate; };
struct pt_regs { struct user_pt_regs user_regs; };
#endif
#endif
`

// program uses all that urdt.bpf.h has.
const program = `
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#ifdef OWN
#include "usdt.bpf.h"
#endif
#include "urdt.bpf.h"

__u64 out[8];

SEC("urdt/*:0:a:b")
int BPF_URDT(none)
{
	out[0] = bpf_urdt_arg_cnt(ctx);
	return 0;
}

SEC("urdt/*:11:a:b")
int BPF_URDT(eleven, int a, unsigned char b, char *c, long d, long e, long f, long g, long h, long i, long j, void *k)
{
	long v;

	out[1] = bpf_urdt_arg(ctx, bpf_get_prandom_u32(), &v) + v + bpf_urdt_arg_cnt(ctx);
	out[2] = bpf_urdt_cookie(ctx) + bpf_urdt_hash(ctx) + bpf_urdt_hash2(ctx);
	out[3] = a + b + (long)c + d + e + f + g + h + i + j + (long)k;
	return 0;
}

SEC("urdt")
int plain(struct pt_regs *ctx)
{
	long v = 0;
#ifdef URDT_LEAN
	URDT_NARGS(2);
#endif
	if (bpf_urdt_match(ctx))
		bpf_urdt_arg(ctx, 1, &v);
	return v;
}
`

// The embedded headers compile without a warning for both machines, in every style, by
// themselves and beside libbpf's usdt.bpf.h.
func TestHeadersCompile(t *testing.T) {
	clang := testutils.Oracle(t, "clang-14", "clang")
	if _, err := os.Stat("/usr/include/bpf/bpf_helpers.h"); err != nil {
		testutils.SkipOrFail(t, "no libbpf headers: %v", err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, include.Files); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"vmlinux.h": types, "prog.c": program} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	triplets, _ := filepath.Glob("/usr/include/*-linux-gnu") // for asm/errno.h, the same everywhere
	for _, arch := range []string{"x86", "arm64"} {
		for _, style := range []string{"-DLIBBPF", "-DOWN", "-DURDT_LEAN"} {
			args := []string{"-O2", "-g", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-target", "bpf",
				"-D__TARGET_ARCH_" + arch, style, "-I" + dir, "-c", filepath.Join(dir, "prog.c"), "-o", filepath.Join(dir, "prog.o")}
			for _, tr := range triplets {
				args = append(args, "-I"+tr)
			}
			if msg, err := exec.Command(clang, args...).CombinedOutput(); err != nil {
				t.Errorf("%s %s: %v\n%s", arch, style, err, msg)
			}
		}
	}
	// Where the registers are not known, lean programs are refused by name.
	args := []string{"-target", "bpf", "-DURDT_LEAN", "-D__TARGET_ARCH_riscv", "-I" + dir, "-fsyntax-only", filepath.Join(dir, "prog.c")}
	for _, tr := range triplets {
		args = append(args, "-I"+tr)
	}
	msg, err := exec.Command(clang, args...).CombinedOutput()
	if err == nil || !strings.Contains(string(msg), "no liburdt.so.1 for this machine") {
		t.Errorf("lean on riscv: %v\n%s", err, msg)
	}
}

func TestFiles(t *testing.T) {
	for _, name := range []string{"usdt.bpf.h", "urdt.bpf.h"} {
		text, err := fs.ReadFile(include.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "/* SPDX-License-Identifier: MIT OR GPL-2.0 */\n") {
			t.Errorf("%s does not begin with its licence", name)
		}
	}
}
