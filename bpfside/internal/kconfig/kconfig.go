// Package kconfig finds the values of variables that a BPF program marks
// __kconfig: options of the build of a kernel (CONFIG_HZ), and a few facts that
// libbpf finds out by itself (LINUX_KERNEL_VERSION).
package kconfig

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/internal/feature"
)

// ErrUndefined is the error of a variable that the kernel has no value for, and
// that is not marked __weak, which would make it zero.
var ErrUndefined = errors.New("this kernel does not define it")

// A Kernel says what a kernel is like. Each function is called when somebody asks
// for a value that needs it.
type Kernel struct {
	// Version is the version as KERNEL_VERSION counts it.
	Version func() (uint32, error)
	// Cookies tells whether programs can have cookies (LINUX_HAS_BPF_COOKIE).
	Cookies func() (bool, error)
	// SyscallWrapper tells whether system calls get their arguments by a
	// pointer to registers (LINUX_HAS_SYSCALL_WRAPPER).
	SyscallWrapper func() (bool, error)
	// Options returns those of the named options that are set.
	Options func(names map[string]bool) (map[string]string, error)
}

// Values returns the values of variables as a kernel configuration spells them.
// Those that the kernel does not define are not among them.
func (k *Kernel) Values(names []string) (map[string]string, error) {
	values := make(map[string]string)
	options := make(map[string]bool)
	for _, name := range names {
		if strings.HasPrefix(name, "CONFIG_") {
			options[name] = true
			continue
		}
		text, err := k.fact(name)
		if err != nil {
			return nil, fmt.Errorf("kconfig variable %s: %w", name, err)
		}
		if text != "" {
			values[name] = text
		}
	}
	if len(options) == 0 {
		return values, nil
	}
	set, err := k.Options(options)
	if err != nil {
		return nil, fmt.Errorf("kernel configuration: %w", err)
	}
	for name := range options {
		if text, ok := set[name]; ok {
			values[name] = text
		}
	}
	return values, nil
}

// fact returns the value of a variable that is no option, "" if there is no such.
func (k *Kernel) fact(name string) (string, error) {
	yes := func(b bool, err error) (string, error) {
		if b {
			return "y", err
		}
		return "n", err
	}
	switch name {
	case "LINUX_KERNEL_VERSION":
		v, err := k.Version()
		return strconv.FormatUint(uint64(v), 10), err
	case "LINUX_HAS_BPF_COOKIE":
		return yes(k.Cookies())
	case "LINUX_HAS_SYSCALL_WRAPPER":
		return yes(k.SyscallWrapper())
	}
	return "", nil
}

// Put writes a value, as a kernel configuration spells it, into a variable: y, m, n, a
// number, or a string in quotes.
func Put(dst []byte, typ btf.Type, order binary.ByteOrder, text string) error {
	bad := func() error { return fmt.Errorf("value %s does not fit type %v", text, typ) }
	switch t := btf.UnderlyingType(typ).(type) {
	case *btf.Array:
		elem, ok := btf.UnderlyingType(t.Type).(*btf.Int)
		s, err := strconv.Unquote(text)
		if !ok || elem.Size != 1 || err != nil || len(dst) == 0 {
			return bad()
		}
		clear(dst)
		copy(dst[:len(dst)-1], s) // always terminated
		return nil
	case *btf.Enum:
		// enum libbpf_tristate of bpf_helpers.h
		tristate := map[string]uint64{"n": 0, "y": 1, "m": 2}
		n, ok := tristate[text]
		if !ok {
			return bad()
		}
		return putUint(dst, order, n)
	case *btf.Int:
		switch {
		case text == "y" || text == "n" || text == "m":
			// char takes the letter, _Bool takes y and n.
			n := uint64(0)
			switch {
			case t.Size == 1 && t.Encoding != btf.Bool:
				n = uint64(text[0])
			case text == "m":
				return bad()
			case text == "y":
				n = 1
			}
			return putUint(dst, order, n)
		case t.Encoding == btf.Signed:
			n, err := strconv.ParseInt(text, 0, int(t.Size)*8)
			if err != nil {
				return bad()
			}
			return putUint(dst, order, uint64(n))
		}
		n, err := strconv.ParseUint(text, 0, int(t.Size)*8)
		if err != nil || t.Encoding == btf.Bool && n > 1 {
			return bad()
		}
		return putUint(dst, order, n)
	}
	return bad()
}

// putUint writes the low bytes of n.
func putUint(dst []byte, order binary.ByteOrder, n uint64) error {
	switch len(dst) {
	case 1:
		dst[0] = byte(n)
	case 2:
		order.PutUint16(dst, uint16(n))
	case 4:
		order.PutUint32(dst, uint32(n))
	case 8:
		order.PutUint64(dst, n)
	default:
		return fmt.Errorf("variable of %d bytes", len(dst))
	}
	return nil
}

// Parse finds options in a kernel configuration: lines "CONFIG_X=value",
// of which the first counts. Others are comments.
func Parse(r io.Reader, names map[string]bool) (map[string]string, error) {
	out := make(map[string]string)
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		name, value, ok := strings.Cut(sc.Text(), "=")
		if !ok || !names[name] || value == "" {
			continue
		}
		if _, dup := out[name]; !dup {
			out[name] = value
		}
	}
	return out, sc.Err()
}

// openOptions opens the configuration of a kernel of the given release.
func openOptions(release string) (io.ReadCloser, error) {
	var errs []error
	for _, path := range []string{"/boot/config-" + release, "/proc/config.gz"} {
		f, err := os.Open(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !strings.HasSuffix(path, ".gz") {
			return f, nil
		}
		zr, err := gzip.NewReader(f)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return struct {
			io.Reader
			io.Closer
		}{zr, f}, nil
	}
	return nil, errors.Join(errs...)
}

// kernelVersion returns the version of a kernel as the macro KERNEL_VERSION
// counts it: major<<16 + minor<<8 + patch, the patch at most 255. Some
// distributions hide the patch from the release: Ubuntu says it in
// /proc/version_signature ("Ubuntu 5.4.0-12.15-generic 5.4.8"), Debian in the
// version of uname ("#1 SMP Debian 6.1.76-1 (2024-02-01)").
func kernelVersion(release, version, signature string) (uint32, error) {
	text := release
	if fields := strings.Fields(signature); len(fields) == 3 {
		text = fields[2]
	} else if _, debian, ok := strings.Cut(version, "Debian "); ok {
		text = debian
	}
	var n [3]uint32
	for i := range n {
		end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(text)
		}
		v, err := strconv.ParseUint(text[:end], 10, 16)
		if err != nil {
			if i < 2 {
				return 0, fmt.Errorf("release %q: no version", release)
			}
			break
		}
		n[i] = uint32(v)
		// Without a dot, what follows does not start with a digit, and so
		// is no number either.
		text, _ = strings.CutPrefix(text[end:], ".")
	}
	return n[0]<<16 + n[1]<<8 + min(n[2], 255), nil
}

// haveCookies tells whether programs can have cookies.
func haveCookies() (bool, error) {
	err := feature.Cookies.Check()
	if errors.Is(err, feature.ErrNotSupported) {
		return false, nil
	}
	return err == nil, err
}
