package bpfc

import (
	"errors"
	"strings"
	"testing"
)

func TestTargetFaults(t *testing.T) {
	for _, tc := range []struct {
		name string
		opts Options
		want string
	}{
		{"level", Options{CPU: 5}, "CPU level 5 is not within 1..4"},
		{"negative level", Options{CPU: -1}, "CPU level -1 is not within 1..4"},
		{"byte order", Options{Arch: "s390x"}, "machine s390x is big endian: unsupported operation"},
	} {
		_, err := newTarget(&tc.opts)
		if err == nil || err.Error() != tc.want {
			t.Errorf("%s: error %v, want %q", tc.name, err, tc.want)
		}
	}
	if _, err := newTarget(&Options{Arch: "s390x"}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v does not wrap %v", err, errors.ErrUnsupported)
	}
}

// Registers are written back for verifiers that need it.
func TestTargetWriteBack(t *testing.T) {
	for _, tc := range []struct {
		version uint32
		want    bool
	}{
		{version(5, 15, 0), true},
		{version(6, 8, 255), true},
		{version(6, 9, 0), false},
		{version(7, 0, 0), false},
	} {
		target, err := newTarget(&Options{KernelVersion: tc.version})
		if err != nil {
			t.Fatal(err)
		}
		if target.lower.WriteBack != tc.want {
			t.Errorf("version %#x: write back %t, want %t", tc.version, target.lower.WriteBack, tc.want)
		}
	}
}

func TestDescribedKernel(t *testing.T) {
	target, err := newTarget(&Options{
		KernelVersion: version(5, 10, 7),
		Kconfig:       strings.NewReader("# a comment\nCONFIG_HZ=250\nCONFIG_SMP=y\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := target.kconfig.Values([]string{"CONFIG_HZ", "CONFIG_NONE", "LINUX_KERNEL_VERSION", "LINUX_HAS_BPF_COOKIE", "LINUX_HAS_SYSCALL_WRAPPER"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"CONFIG_HZ": "250", "LINUX_KERNEL_VERSION": "330247", "LINUX_HAS_BPF_COOKIE": "n", "LINUX_HAS_SYSCALL_WRAPPER": "y"}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is %q, want %q", name, got[name], text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("values %v", got)
	}
}
