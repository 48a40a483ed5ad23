package usdt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/bpfside/internal/kconfig"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// objectSource is a program on usdt.bpf.h with a variable of each kind that is
// marked __kconfig.
const objectSource = `// SPDX-License-Identifier: MIT OR GPL-2.0
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

extern __u32 LINUX_KERNEL_VERSION __kconfig;
extern bool LINUX_HAS_SYSCALL_WRAPPER __kconfig __weak;
extern enum libbpf_tristate CONFIG_TRISTATE __kconfig;
extern char CONFIG_CHAR __kconfig __weak;
extern char CONFIG_NAME[8] __kconfig __weak;
extern __s16 CONFIG_NEGATIVE __kconfig __weak;
extern unsigned long CONFIG_ABSENT __kconfig __weak;
#ifdef STRONG
extern int CONFIG_STRONG __kconfig;
#else
#define CONFIG_STRONG 0
#endif

__u64 out[8];
long first_argument;

SEC("usdt")
int BPF_USDT(on_probe, long first)
{
	first_argument = first;
	out[0] = LINUX_KERNEL_VERSION;
	out[1] = LINUX_HAS_SYSCALL_WRAPPER;
	out[2] = CONFIG_TRISTATE;
	out[3] = CONFIG_CHAR;
	out[4] = CONFIG_NAME[1];
	out[5] = CONFIG_NEGATIVE;
	out[6] = CONFIG_ABSENT + CONFIG_STRONG;
	return 0;
}

char _license[] SEC("license") = "Dual MIT/GPL";
`

func buildObject(t testing.TB, flags ...string) []byte {
	t.Helper()
	src := filepath.Join(t.TempDir(), "object.bpf.c")
	if err := os.WriteFile(src, []byte(objectSource), 0o644); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(testutils.BuildBPF(t, src, flags...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// fakeKernel has a few options, and no cookies.
var fakeKernel = &kconfig.Kernel{
	Version:        func() (uint32, error) { return 0x061200, nil },
	Cookies:        func() (bool, error) { return false, nil },
	SyscallWrapper: func() (bool, error) { return true, nil },
	Options: func(map[string]bool) (map[string]string, error) {
		return map[string]string{"CONFIG_TRISTATE": "m", "CONFIG_CHAR": "y", "CONFIG_NAME": `"name"`, "CONFIG_NEGATIVE": "-3"}, nil
	},
}

func loadObject(t *testing.T, data []byte) *ebpf.CollectionSpec {
	t.Helper()
	spec, err := LoadCollectionSpecFromReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// What cilium/ebpf refuses is accepted, and nothing else is lost.
func TestLoadCollectionSpec(t *testing.T) {
	data := buildObject(t)
	if _, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(bytes.Clone(data))); err == nil {
		t.Log("this version of cilium/ebpf reads the object by itself")
	}
	spec := loadObject(t, data)
	for _, name := range []string{specMapName, ipMapName, ".bss", kconfigSection, kconfigWeakSection} {
		if spec.Maps[name] == nil {
			t.Errorf("no map %s", name)
		}
	}
	if m := spec.Maps[specMapName]; m != nil {
		l, err := newSpecLayout(m, spec.ByteOrder)
		if err != nil || len(l.args) != 12 {
			t.Errorf("layout with %d arguments, %v", len(l.args), err)
		}
	}
	p := spec.Programs["on_probe"]
	if p == nil || p.Type != ebpf.Kprobe || p.SectionName != "usdt" {
		t.Fatalf("program %+v", p)
	}
	linkage := make(map[string]btf.FuncLinkage)
	for i := range p.Instructions {
		if fn := btf.FuncMetadata(&p.Instructions[i]); fn != nil {
			linkage[fn.Name] = fn.Linkage
		}
	}
	if linkage["on_probe"] != btf.GlobalFunc || linkage["bpf_usdt_arg"] != btf.StaticFunc || len(linkage) != 2 {
		t.Errorf("linkage %v, want that of the hidden function to be static", linkage)
	}
	for name, section := range map[string]string{
		"LINUX_KERNEL_VERSION": kconfigSection, "LINUX_HAS_BPF_COOKIE": kconfigSection, "CONFIG_TRISTATE": kconfigSection,
		"LINUX_HAS_SYSCALL_WRAPPER": kconfigWeakSection, "CONFIG_ABSENT": kconfigWeakSection,
	} {
		if v := spec.Variables[name]; v == nil || v.SectionName != section {
			t.Errorf("variable %s: %+v, want it in %s", name, v, section)
		}
	}
}

// Two objects that libbpf's linker has made one: the maps and functions that both
// have are there once.
func TestLoadLinkedObject(t *testing.T) {
	bpftool := testutils.Oracle(t, "bpftool")
	dir := t.TempDir()
	var files []string
	for _, program := range []string{"on_first", "on_second"} {
		file := filepath.Join(dir, program+".o")
		data := buildObject(t, "-Don_probe="+program, "-Dout=out_"+program, "-Dfirst_argument=first_"+program)
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	linked := filepath.Join(dir, "linked.o")
	if out, err := exec.Command(bpftool, append([]string{"gen", "object", linked}, files...)...).CombinedOutput(); err != nil {
		t.Fatalf("bpftool gen object: %v\n%s", err, out)
	}
	spec, err := LoadCollectionSpec(linked)
	if err != nil {
		t.Fatal(err)
	}
	if len(spec.Programs) != 2 || len(spec.Maps) != 5 {
		t.Errorf("%d programs and %d maps, want 2 and 5", len(spec.Programs), len(spec.Maps))
	}
	testutils.NeedBPF(t)
	for _, p := range spec.Programs {
		if err := PrepareProgram(p, Auto); err != nil {
			t.Fatal(err)
		}
	}
	if err := fillKconfig(spec, fakeKernel); err != nil {
		t.Fatal(err)
	}
	c, err := ebpf.NewCollection(spec)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	c.Close()
}

func TestFillKconfig(t *testing.T) {
	spec := loadObject(t, buildObject(t))
	if err := fillKconfig(spec, fakeKernel); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"LINUX_KERNEL_VERSION": "00120600", "LINUX_HAS_BPF_COOKIE": "00", "LINUX_HAS_SYSCALL_WRAPPER": "01",
		"CONFIG_TRISTATE": "02000000", "CONFIG_CHAR": "79", "CONFIG_NAME": "6e616d6500000000",
		"CONFIG_NEGATIVE": "fdff", "CONFIG_ABSENT": "0000000000000000",
	} {
		if v := spec.Variables[name]; v == nil || string(v.Value) != string(unhex(t, want)) {
			t.Errorf("%s: %+v, want %s", name, v, want)
		}
	}
	strong := loadObject(t, buildObject(t, "-DSTRONG"))
	if err := fillKconfig(strong, fakeKernel); err == nil || err.Error() != "kconfig variable CONFIG_STRONG: this kernel does not define it" {
		t.Errorf("an option that is not there: %v", err)
	}
	mute := *fakeKernel
	mute.Options = func(map[string]bool) (map[string]string, error) { return nil, os.ErrNotExist }
	if err := fillKconfig(strong, &mute); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no configuration: %v", err)
	}
}

// The values reach the program: the verifier lets it read them, and CONFIG_ABSENT
// is 0.
func TestKconfigInKernel(t *testing.T) {
	testutils.NeedBPF(t)
	spec := loadObject(t, buildObject(t))
	if err := PrepareProgram(spec.Programs["on_probe"], Auto); err != nil {
		t.Fatal(err)
	}
	if err := fillKconfig(spec, fakeKernel); err != nil {
		t.Fatal(err)
	}
	c, err := ebpf.NewCollection(spec)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	defer c.Close()
	for _, name := range []string{kconfigSection, kconfigWeakSection} {
		if m := c.Maps[name]; m == nil {
			t.Errorf("map %s is missing", name)
		} else if err := m.Put(uint32(0), make([]byte, m.ValueSize())); err == nil {
			t.Errorf("map %s can be written", name)
		}
	}
}

func TestLoadCollectionSpecFaults(t *testing.T) {
	exe, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	for _, tc := range []struct {
		name string
		data []byte
		is   error
	}{
		{"empty", nil, ErrNotELF},
		{"text", []byte("#!/bin/sh\n"), ErrNotELF},
		{"a program", exe[:min(len(exe), maxObject)], ErrNotSupported},
	} {
		if _, err := LoadCollectionSpecFromReader(bytes.NewReader(tc.data)); !errors.Is(err, tc.is) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.is)
		}
	}
	if _, err := LoadCollectionSpec("/nonexistent.o"); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "/nonexistent.o") {
		t.Errorf("no file: %v", err)
	}
	// Cut off anywhere, an object is an error or what cilium/ebpf makes of it.
	data := buildObject(t)
	for n := 0; n < len(data); n += 97 {
		if spec, err := LoadCollectionSpecFromReader(bytes.NewReader(data[:n])); err == nil && len(spec.Programs) > 0 {
			t.Errorf("%d of %d bytes have a program", n, len(data))
		}
	}
}

// No object makes the reader panic or write outside of it: up to three bytes of a
// good one are changed, and it may be cut off.
func FuzzReadObject(f *testing.F) {
	if _, err := exec.LookPath("clang-14"); err != nil {
		f.Skipf("skipped: %v", err)
	}
	object := buildObject(f)
	order := binary.LittleEndian
	shoff := order.Uint64(object[ehdrShoff:])
	for field := uint64(0); field < shdrSize; field += 4 { // of a section header
		f.Add(uint32(shoff+3*shdrSize+field), byte(0xff), uint32(0), byte(0x7f), uint32(0), byte(0x7f), uint32(0))
	}
	f.Add(uint32(ehdrShnum), byte(0xff), uint32(ehdrShstrndx), byte(2), uint32(0), byte(0x7f), uint32(0))
	f.Add(uint32(0), byte(0x7f), uint32(0), byte(0x7f), uint32(0), byte(0x7f), uint32(len(object)/2))
	f.Fuzz(func(t *testing.T, at1 uint32, v1 byte, at2 uint32, v2 byte, at3 uint32, v3 byte, cut uint32) {
		data := bytes.Clone(object[:len(object)-int(cut)%len(object)])
		data[int(at1)%len(data)] = v1
		data[int(at2)%len(data)] = v2
		data[int(at3)%len(data)] = v3
		obj, err := readObject(bytes.Clone(data))
		if err == nil && len(obj.adapted()) < len(data) {
			t.Fatalf("%d of %d bytes remain", len(obj.adapted()), len(data))
		}
		spec, err := LoadCollectionSpecFromReader(bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, m := range spec.Maps {
			if l, err := newSpecLayout(m, spec.ByteOrder); err == nil {
				l.encode(&Location{Machine: stapsdt.X86_64, ArgString: "-4@%eax 1@8(%rax,%rcx,8) 8@$1"}, 1)
			}
		}
		_ = fillKconfig(spec, fakeKernel)
	})
}
