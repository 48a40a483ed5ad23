package kconfig

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"
	"github.com/google/go-cmp/cmp"
)

func TestPut(t *testing.T) {
	intOf := func(size uint32, enc btf.IntEncoding) btf.Type { return &btf.Int{Size: size, Encoding: enc} }
	named := &btf.Typedef{Name: "__u32", Type: &btf.Const{Type: intOf(4, btf.Unsigned)}}
	tristate := &btf.Enum{Name: "libbpf_tristate", Size: 4}
	text := &btf.Array{Type: intOf(1, btf.Char), Nelems: 4}
	for _, tc := range []struct {
		name string
		typ  btf.Type
		size int
		text string
		want string // hex, "" for an error
	}{
		{"bool y", intOf(1, btf.Bool), 1, "y", "01"},
		{"bool n", intOf(1, btf.Bool), 1, "n", "00"},
		{"bool m", intOf(1, btf.Bool), 1, "m", ""},
		{"bool 1", intOf(1, btf.Bool), 1, "1", "01"},
		{"bool 2", intOf(1, btf.Bool), 1, "2", ""},
		{"tristate m", tristate, 4, "m", "02000000"},
		{"tristate 1", tristate, 4, "1", ""},
		{"char m", intOf(1, btf.Char), 1, "m", "6d"},
		{"int y", intOf(4, btf.Signed), 4, "y", "01000000"},
		{"int", intOf(4, btf.Signed), 4, "-2", "feffffff"},
		{"int, hex", intOf(4, btf.Signed), 4, "0x10", "10000000"},
		{"typedef", named, 4, "4000000000", "00286bee"},
		{"too large", named, 4, "5000000000", ""},
		{"negative", named, 4, "-1", ""},
		{"u64", intOf(8, btf.Unsigned), 8, "0xffffffffffffffff", "ffffffffffffffff"},
		{"s16", intOf(2, btf.Signed), 2, "-32768", "0080"},
		{"number in words", named, 4, "many", ""},
		{"string", text, 4, `"ab"`, "61620000"},
		{"string, cut", text, 4, `"abcdef"`, "61626300"},
		{"string without quotes", text, 4, "ab", ""},
		{"struct", &btf.Struct{}, 4, "1", ""},
	} {
		want, err := hex.DecodeString(tc.want)
		if err != nil {
			t.Fatal(err)
		}
		dst := make([]byte, tc.size)
		err = Put(dst, tc.typ, binary.LittleEndian, tc.text)
		if (err == nil) != (tc.want != "") {
			t.Errorf("%s: error %v", tc.name, err)
		}
		if err == nil && string(dst) != string(want) {
			t.Errorf("%s: % x, want %s", tc.name, dst, tc.want)
		}
	}
}

func TestKernelVersionNumber(t *testing.T) {
	for _, tc := range []struct {
		release, version, signature string
		want                        uint32 // 0: error
	}{
		{"6.18.44-fc-v857", "#1 SMP", "", 6<<16 + 18<<8 + 44},
		{"6.1.0-18-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)", "", 6<<16 + 1<<8 + 76},
		{"5.4.0-12-generic", "#15-Ubuntu SMP", "Ubuntu 5.4.0-12.15-generic 5.4.8\n", 5<<16 + 4<<8 + 8},
		{"4.9.337", "", "", 4<<16 + 9<<8 + 255},
		{"7.0-rc1", "", "", 7 << 16},
		{"6.18", "", "", 6<<16 + 18<<8},
		{"6", "", "", 0},
		{"linux", "", "", 0},
		{"", "", "", 0},
	} {
		got, err := kernelVersion(tc.release, tc.version, tc.signature)
		if got != tc.want || (err == nil) != (tc.want != 0) {
			t.Errorf("%q %q: %#x, %v, want %#x", tc.release, tc.version, got, err, tc.want)
		}
	}
}

func TestParse(t *testing.T) {
	const text = `#
# Automatically generated file
CONFIG_A=y
CONFIG_AA=n
# CONFIG_B is not set
CONFIG_C="a=b"
CONFIG_A=m
CONFIG_D=
`
	got, err := Parse(strings.NewReader(text), map[string]bool{"CONFIG_A": true, "CONFIG_B": true, "CONFIG_C": true, "CONFIG_D": true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"CONFIG_A": "y", "CONFIG_C": `"a=b"`}, got); diff != "" {
		t.Error(diff)
	}
}

func TestValues(t *testing.T) {
	kernel := &Kernel{
		Version:        func() (uint32, error) { return 0x061200, nil },
		Cookies:        func() (bool, error) { return true, nil },
		SyscallWrapper: func() (bool, error) { return false, errors.New("cannot be told") },
		Options: func(names map[string]bool) (map[string]string, error) {
			if len(names) != 2 {
				t.Errorf("asked for %v", names)
			}
			return map[string]string{"CONFIG_HZ": "250"}, nil
		},
	}
	got, err := kernel.Values([]string{"LINUX_KERNEL_VERSION", "CONFIG_HZ", "CONFIG_ABSENT", "LINUX_HAS_BPF_COOKIE", "LINUX_IS_NOT_KNOWN"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"LINUX_KERNEL_VERSION": "397824", "CONFIG_HZ": "250", "LINUX_HAS_BPF_COOKIE": "y"}, got); diff != "" {
		t.Error(diff)
	}
	_, err = kernel.Values([]string{"LINUX_HAS_SYSCALL_WRAPPER"})
	if err == nil || err.Error() != "kconfig variable LINUX_HAS_SYSCALL_WRAPPER: cannot be told" {
		t.Errorf("error %v", err)
	}
	kernel.Options = func(map[string]bool) (map[string]string, error) { return nil, os.ErrNotExist }
	if _, err := kernel.Values([]string{"CONFIG_HZ"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no configuration: error %v", err)
	}
	if _, err := kernel.Values([]string{"LINUX_KERNEL_VERSION"}); err != nil {
		t.Errorf("nobody needs the configuration: %v", err)
	}
}
