package usdt

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

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/internal/feature"
)

// Variables marked __kconfig take their values from the kernel that the object is
// loaded into: options of its build (CONFIG_HZ), and a few facts that libbpf finds
// out by itself (LINUX_KERNEL_VERSION).

// A kernelFacts says what this kernel is like. Each function is called when an
// object asks.
type kernelFacts struct {
	version    func() (uint32, error)
	cookies    func() (bool, error)
	sysWrapper func() (bool, error)
	options    func(names map[string]bool) (map[string]string, error)
}

// fillKconfig sets the kconfig variables of a specification that
// LoadCollectionSpec returned.
func fillKconfig(spec *ebpf.CollectionSpec, facts *kernelFacts) error {
	var ds *btf.Datasec
	if spec.Types == nil || spec.Types.TypeByName(".kconfig", &ds) != nil {
		return nil
	}
	wanted := make(map[string]bool)
	for _, v := range ds.Vars {
		if name := v.Type.TypeName(); strings.HasPrefix(name, "CONFIG_") && spec.Variables[name] != nil {
			wanted[name] = true
		}
	}
	var options map[string]string
	if len(wanted) > 0 {
		var err error
		if options, err = facts.options(wanted); err != nil {
			return fmt.Errorf("kernel configuration: %w", err)
		}
	}
	for _, vsi := range ds.Vars {
		v, ok := vsi.Type.(*btf.Var)
		if !ok {
			continue
		}
		vs := spec.Variables[v.Name]
		if vs == nil || vs.SectionName != kconfigSection && vs.SectionName != kconfigWeakSection {
			continue // not used
		}
		text, ok, err := facts.value(v.Name, options)
		if err == nil && !ok && vs.SectionName == kconfigSection {
			err = errors.New("this kernel does not define it")
		}
		if err == nil && ok {
			err = putKconfig(vs.Value, v.Type, spec.ByteOrder, text)
		}
		if err != nil {
			return fmt.Errorf("kconfig variable %s: %w", v.Name, err)
		}
	}
	return nil
}

// value returns the value of a variable as a kernel configuration spells it.
func (f *kernelFacts) value(name string, options map[string]string) (text string, ok bool, err error) {
	yes := func(b bool, err error) (string, bool, error) {
		if b {
			return "y", true, err
		}
		return "n", true, err
	}
	switch name {
	case "LINUX_KERNEL_VERSION":
		v, err := f.version()
		return strconv.FormatUint(uint64(v), 10), true, err
	case "LINUX_HAS_BPF_COOKIE":
		return yes(f.cookies())
	case "LINUX_HAS_SYSCALL_WRAPPER":
		return yes(f.sysWrapper())
	}
	text, ok = options[name]
	return text, ok, nil
}

// putKconfig writes a value of a kernel configuration into a variable: y, m, n, a
// number, or a string in quotes.
func putKconfig(dst []byte, typ btf.Type, order binary.ByteOrder, text string) error {
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

// parseOptions finds options in a kernel configuration: lines "CONFIG_X=value",
// of which the first counts. Others are comments.
func parseOptions(r io.Reader, names map[string]bool) (map[string]string, error) {
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
	if errors.Is(err, ErrNotSupported) {
		return false, nil
	}
	return err == nil, err
}
