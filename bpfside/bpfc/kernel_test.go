package bpfc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
	"github.com/nopfire/nopfire/internal/testutils"
)

func TestMain(m *testing.M) { testutils.Main(m) }

func TestSettleKconfig(t *testing.T) {
	file := &ir.File{Name: "k.bpf.c", Lines: []string{"extern int CONFIG_HZ __kconfig;"}}
	extern := func(name string, linkage ir.Linkage, typ btf.Type, size int) *ir.Global {
		return &ir.Global{Name: name, Section: ".kconfig", Linkage: linkage, Extern: true, Size: size, BTF: &btf.Var{Name: name, Type: typ}, Pos: ir.Pos{File: file, Line: 1, Col: 12}}
	}
	number := &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}
	target, err := newTarget(&Options{Kconfig: strings.NewReader("CONFIG_HZ=250\nCONFIG_NAME=\"name\"\n")})
	if err != nil {
		t.Fatal(err)
	}
	hz := extern("CONFIG_HZ", ir.External, number, 4)
	absent := extern("CONFIG_ABSENT", ir.Weak, number, 4)
	symbol := &ir.Global{Name: "bpf_prog_active", Section: ".ksyms", Extern: true}
	if err := settleKconfig(&ir.Module{Globals: []*ir.Global{hz, absent, symbol}}, target); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		g    *ir.Global
		want string
	}{{hz, "\xfa\x00\x00\x00"}, {absent, "\x00\x00\x00\x00"}} {
		if string(tc.g.Data) != tc.want || tc.g.Extern || !tc.g.Constant || tc.g.Section != kconfigSection {
			t.Errorf("%+v, want the constant %q", tc.g, tc.want)
		}
	}
	if !symbol.Extern {
		t.Error("a symbol of the kernel is no kconfig variable")
	}

	for _, tc := range []struct {
		g    *ir.Global
		want string
	}{
		{extern("CONFIG_STRONG", ir.External, number, 4), "k.bpf.c:1:12: kconfig variable CONFIG_STRONG: this kernel does not define it"},
		{extern("CONFIG_LONG", ir.Weak, number, 1<<30), "k.bpf.c:1:12: kconfig variable CONFIG_LONG: 1073741824 bytes are more than the limit of 65536"},
		{extern("CONFIG_NAME", ir.Weak, number, 4), `k.bpf.c:1:12: kconfig variable CONFIG_NAME: value "name" does not fit type Int:"int"`},
	} {
		target, err := newTarget(&Options{Kconfig: strings.NewReader("CONFIG_NAME=\"name\"\n")})
		if err != nil {
			t.Fatal(err)
		}
		err = settleKconfig(&ir.Module{Globals: []*ir.Global{tc.g}}, target)
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", tc.g.Name, err, tc.want)
		}
	}
}

// Types of a kernel come as they are or in an ELF file.
func TestKernelTypes(t *testing.T) {
	var b btf.Builder
	if _, err := b.Add(&btf.Struct{Name: "task_struct", Size: 4, Members: []btf.Member{{Name: "pid", Type: &btf.Int{Name: "int", Size: 4}}}}); err != nil {
		t.Fatal(err)
	}
	raw, err := b.Marshal(nil, &btf.MarshalOptions{Order: byteOrder})
	if err != nil {
		t.Fatal(err)
	}
	k := &kernelTypes{given: raw}
	if got, err := k.bytes(); err != nil || string(got) != string(raw) {
		t.Errorf("% x, %v", got, err)
	}
	spec, err := k.load()
	if err != nil {
		t.Fatal(err)
	}
	var task *btf.Struct
	if err := spec.TypeByName("task_struct", &task); err != nil {
		t.Error(err)
	}
	for name, data := range map[string]string{"no ELF": "\x7fELF", "text": "types", "empty": ""} {
		k := &kernelTypes{given: []byte(data)}
		if _, err := k.load(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := btfSection([]byte("\x7fELF\x02\x01\x01")); err == nil {
		t.Error("the section of a file that is cut off")
	}
}

func TestRunningKernelTypes(t *testing.T) {
	if _, err := os.Stat(filepath.FromSlash("/sys/kernel/btf/vmlinux")); err != nil {
		t.Skipf("skipped: %v", err)
	}
	k := new(kernelTypes)
	defer k.close()
	raw, err := k.bytes()
	if err != nil || len(raw) < 1<<20 {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
	spec, err := k.load()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := spec.AnyTypeByName("task_struct"); err != nil {
		t.Error(err)
	}
}
