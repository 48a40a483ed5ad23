package trace

import (
	"encoding/binary"
	"math"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// target returns a target with one location.
func target(m stapsdt.Machine, args string, params ...usdt.Param) *usdt.Target {
	return &usdt.Target{Probe: usdt.Probe{
		Provider: "p", Name: "n",
		Locations: []usdt.Location{{Machine: m, ArgString: args}},
		Params:    params,
	}}
}

func TestPlan(t *testing.T) {
	typ := func(name string, ty usdt.Type) usdt.Param { return usdt.Param{Name: name, Type: &ty} }
	for _, tt := range []struct {
		name   string
		target *usdt.Target
		opts   Options
		want   string // name type, …; ! marks what cannot be read
	}{
		{"size and sign", target(stapsdt.X86_64, "-4@%eax 1@%bl 8@%rcx -2@$7"), Options{},
			"arg1 int32, arg2 uint8, arg3 uint64, arg4 int16"},
		{"no arguments", target(stapsdt.X86_64, ""), Options{}, ""},
		{"a string on request", target(stapsdt.X86_64, "8@%rax 8@%rbx"), Options{Strings: []string{"arg2"}},
			"arg1 uint64, arg2 string"},
		{"a counted string on request", target(stapsdt.X86_64, "8@%rax -4@%ecx 8@%rbx"), Options{Strings: []string{"arg1/arg2"}},
			"arg1 string, arg3 uint64"},
		{"its length cannot be read", target(stapsdt.X86_64, "8@%rax 8@%bogus"), Options{Strings: []string{"arg1/arg2"}},
			"arg1 string!"},
		{"no such length", target(stapsdt.X86_64, "8@%rax"), Options{Strings: []string{"arg1/arg2"}},
			"arg1 uint64"},
		{"counted by itself", target(stapsdt.X86_64, "8@%rax"), Options{Strings: []string{"arg1/arg1"}},
			"arg1 uint64"},
		{"of another probe", target(stapsdt.X86_64, "8@%rax 8@%rbx"), Options{Strings: []string{"m.arg1", "n.arg2"}},
			"arg1 uint64, arg2 string"},
		{"of probes by pattern", target(stapsdt.X86_64, "8@%rax 8@%rbx"), Options{Strings: []string{"?.arg1/arg2"}},
			"arg1 string"},
		{"the first entry wins", target(stapsdt.X86_64, "8@%rax 8@%rbx"), Options{Strings: []string{"arg1", "arg1/arg2"}},
			"arg1 string, arg2 uint64"},
		{"a string of a program of 32 bits", target(stapsdt.I386, "4@%eax -4@%ebx 1@%cl"), Options{Strings: []string{"arg1", "arg2", "arg3"}},
			"arg1 string, arg2 string, arg3 uint8"},
		{"no string of four bytes", target(stapsdt.X86_64, "4@%eax"), Options{Strings: []string{"arg1"}},
			"arg1 uint32"},
		{"a bad argument keeps its place", target(stapsdt.X86_64, "8@%rax 8@%bogus 8@%rcx"), Options{},
			"arg1 uint64, arg2 uint64!, arg3 uint64"},
		{"a vector register", target(stapsdt.X86_64, "8f@%xmm0 -4@%edx"), Options{},
			"arg1 float64!, arg2 int32"},
		{"metadata", target(stapsdt.X86_64, "-8@%rax 8@%rbx 1@%rcx 4@%rdx 8@%rsi 8@%rdi 8@%r8",
			typ("n", usdt.Type{Kind: usdt.Int, Size: 8, Go: "time.Duration"}),
			typ("s", usdt.Type{Kind: usdt.String}),
			typ("b", usdt.Type{Kind: usdt.Bool}),
			typ("f", usdt.Type{Kind: usdt.Float, Size: 4}),
			typ("e", usdt.Type{Kind: usdt.Error}),
			typ("o", usdt.Type{Kind: usdt.Pointer, Elem: &usdt.Type{Kind: usdt.Struct, Name: "order"}}),
			typ("v", usdt.Type{Kind: usdt.Pointer}),
		), Options{}, "n time.Duration, s string, b bool, f float32, e error, o *order, v unsafe.Pointer"},
		{"bytes take two places", target(stapsdt.X86_64, "8@%rax 8@%rbx -4@%ecx",
			usdt.Param{Name: "data", Type: &usdt.Type{Kind: usdt.Bytes, Go: "[]uint8"}, Len: 1},
			typ("data_len", usdt.Type{Kind: usdt.Uint, Size: 8}),
			typ("n", usdt.Type{Kind: usdt.Int, Size: 4}),
		), Options{}, "data []byte, n int32"},
		{"a named integer as a string", target(stapsdt.X86_64, "8@%rax", typ("msg", usdt.Type{Kind: usdt.Uint, Size: 8})),
			Options{Strings: []string{"msg"}}, "msg string"},
		{"metadata of another number of arguments", target(stapsdt.X86_64, "8@%rax 8@%rbx", typ("x", usdt.Type{Kind: usdt.String})),
			Options{}, "arg1 uint64, arg2 uint64"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opts, err := tt.opts.withDefaults()
			if err != nil {
				t.Fatal(err)
			}
			l, fields, err := plan(tt.target, new(clause), &opts, nil)
			if err != nil {
				t.Fatal(err)
			}
			var parts []string
			loads := 0
			for _, f := range fields {
				s := f.name + " " + f.typ
				if f.err != nil {
					s += "!"
				} else {
					loads++
				}
				parts = append(parts, s)
			}
			if got := strings.Join(parts, ", "); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if len(l.loads) != loads {
				t.Errorf("%d loads for %d readable fields", len(l.loads), loads)
			}
			if l.size < headerLen+slotLen*loads {
				t.Errorf("record of %d bytes", l.size)
			}
		})
	}
}

// Names and types are no part of a program: probes that read alike share one.
func TestLayoutKey(t *testing.T) {
	opts, _ := (*Options)(nil).withDefaults()
	key := func(tg *usdt.Target) string { l, _, _ := plan(tg, new(clause), &opts, nil); return l.key() }
	named := target(stapsdt.X86_64, "-8@%rax", usdt.Param{Name: "n", Type: &usdt.Type{Kind: usdt.Int, Size: 8, Go: "time.Duration"}})
	str := target(stapsdt.X86_64, "8@%rax", usdt.Param{Name: "s", Type: &usdt.Type{Kind: usdt.String}})
	if key(named) != key(target(stapsdt.X86_64, "-8@%rax")) {
		t.Error("a name makes another program")
	}
	for _, other := range []*usdt.Target{
		str,
		target(stapsdt.X86_64, "8@%rax"),
		target(stapsdt.X86_64, "-8@%rbx"),
		target(stapsdt.X86_64, "-8@%rax -8@%rax"),
		target(stapsdt.ARM64, "-8@x0"),
	} {
		if key(other) == key(named) {
			t.Errorf("%q shares a program with %q", other.Locations[0].ArgString, named.Locations[0].ArgString)
		}
	}
	if key(str) == key(target(stapsdt.X86_64, "8@%rax")) {
		t.Error("a string and an integer share a program")
	}
}

// record builds one slot at headerLen, followed by an area.
func record(word uint64, status int64, area string) []byte {
	rec := make([]byte, headerLen+slotLen)
	binary.NativeEndian.PutUint64(rec[headerLen:], word)
	binary.NativeEndian.PutUint64(rec[headerLen+slotStatus:], uint64(status))
	return append(rec, area...)
}

func TestFieldValue(t *testing.T) {
	const efault = -int64(syscall.EFAULT)
	for _, tt := range []struct {
		name   string
		form   form
		typ    string
		word   uint64
		status int64
		area   string
		want   any
		text   string
		cut    bool
	}{
		{"int", formInt, "int8", 1<<64 - 5, 0, "", int64(-5), "-5", false},
		{"uint", formUint, "uint64", math.MaxUint64, 0, "", uint64(math.MaxUint64), "18446744073709551615", false},
		{"bool", formBool, "bool", 1, 0, "", true, "true", false},
		{"float32", formFloat32, "float32", uint64(math.Float32bits(0.1)), 0, "", float64(float32(0.1)), "0.1", false},
		{"float64", formFloat64, "float64", math.Float64bits(-2.5), 0, "", -2.5, "-2.5", false},
		{"duration", formInt, "time.Duration", 1500000, 0, "", int64(1500000), "1.5ms", false},
		{"pointer", formPointer, "*t", 0xc000, 0, "", Pointer(0xc000), "0xc000", false},
		{"nil pointer", formPointer, "*t", 0, 0, "", Pointer(0), "0x0", false},
		{"unreadable word", formInt, "int32", 0, efault, "", nil, "!(read argument: bad address)", false},
		{"string", formString, "string", 1, 4, "abc\x00....", "abc", `"abc"`, false},
		{"empty string", formString, "string", 1, 1, "\x00.......", "", `""`, false},
		{"empty string of older kernels", formString, "string", 1, 0, "........", "", `""`, false},
		{"string that just fits", formString, "string", 1, 6, "abcde\x00..", "abcde", `"abcde"`, false},
		{"string of one too many", formString, "string", 1, 7, "abcdef\x00.", "abcde", `"abcde"…`, true},
		{"not printable", formString, "string", 1, 4, "\x1b\xff\n\x00....", "\x1b\xff\n", `"\x1b\xff\n"`, false},
		{"NULL string", formString, "string", 0, 0, "........", nil, "<nil>", false},
		{"string at a bad address", formString, "string", 16, efault, "........", nil, "!(read string at 0x10: bad address)", false},
		{"string whose address cannot be read", formString, "string", 0, efault, "........", nil, "!(read string at 0x0: bad address)", false},
		{"impossible length", formString, "string", 1, 100, "........", nil, "!(read string: impossible length 99)", false},
		{"bytes", formBytes, "[]byte", 1, 3, "\x00\xff\x01.....", []byte{0, 255, 1}, `"\x00\xff\x01"`, false},
		{"no bytes", formBytes, "[]byte", 1, 0, "........", []byte{}, `""`, false},
		{"nil bytes", formBytes, "[]byte", 0, 0, "........", nil, "<nil>", false},
		{"too many bytes", formBytes, "[]byte", 1, 6, "abcdef..", []byte("abcde"), `"abcde"…`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := field{name: "a", typ: tt.typ, form: tt.form, slot: headerLen, area: headerLen + slotLen, max: 5}
			rec := record(tt.word, tt.status, tt.area)
			v := f.blank()
			f.read(&v, rec)
			if diff := cmp.Diff(tt.want, v.Value); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
			if v.String() != tt.text || v.Truncated != tt.cut {
				t.Errorf("text %s cut %v, want %s cut %v", v, v.Truncated, tt.text, tt.cut)
			}
			if (v.Err != nil) != strings.HasPrefix(tt.text, "!(") {
				t.Errorf("error %v", v.Err)
			}
			// An event belongs to the caller: the record is used again.
			clear(rec)
			if diff := cmp.Diff(tt.want, v.Value); diff != "" {
				t.Errorf("value changes with the record:\n%s", diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	s := new(Session)
	s.probes.cookie(&probe{clause: new(clause), provider: "p", name: "n", fields: []field{{name: "a"}}, size: headerLen + slotLen})
	unknown := record(0, 0, "")
	binary.NativeEndian.PutUint64(unknown[offCookie:], 1)
	for _, tt := range []struct {
		name string
		rec  []byte
		want string
	}{
		{"empty", nil, "trace: record of 0 bytes is shorter than its header"},
		{"unknown probe", unknown, "trace: record of unknown probe 1"},
		{"cut", record(0, 0, "")[:headerLen+8], "trace: record of p:n has 56 bytes, want 64"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := s.decoder.event(s, tt.rec); err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func TestOptionsDefaults(t *testing.T) {
	for _, tt := range []struct {
		in   *Options
		want Options
	}{
		{nil, Options{MaxString: 256, BufferSize: 8 << 20, MaxKeys: DefaultMaxKeys}},
		{&Options{MaxString: 1, BufferSize: 1}, Options{MaxString: 1, BufferSize: 1 << 16, MaxKeys: DefaultMaxKeys}},
		{&Options{MaxString: 4096, BufferSize: 1<<20 + 1}, Options{MaxString: 4096, BufferSize: 2 << 20, MaxKeys: DefaultMaxKeys}},
	} {
		got, err := tt.in.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.in, diff)
		}
	}
}

func TestEventString(t *testing.T) {
	ev := Event{Provider: "shop", Probe: "order", Args: []Value{
		{Name: "id", Type: "int64", Value: int64(7)},
		{Name: "item", Type: "string", Value: "green tea"},
	}}
	if got, want := ev.String(), `shop:order id=7 item="green tea"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	// A hostile file names things as it likes.
	rec := make([]byte, headerLen+slotLen)
	binary.NativeEndian.PutUint64(rec[headerLen:], 1)
	efault := -int64(syscall.EFAULT)
	binary.NativeEndian.PutUint64(rec[headerLen+slotStatus:], uint64(efault))
	f := field{name: "a\x1b[2J", typ: "T\u009b2J", form: formString, slot: headerLen}
	v := f.blank()
	f.read(&v, rec)
	ev = Event{Provider: "shop", Probe: "\u202eredro", Args: []Value{v}}
	if got, want := ev.String(), `"shop:\u202eredro" "a\x1b[2J"=!(read "T\u009b2J" at 0x1: bad address)`; got != want {
		t.Errorf("got %q, want %s", got, want)
	}
}

// A probe whose events can never fit into the buffer is refused: each would be
// lost, and nothing be there to say so.
func TestEventLargerThanTheBuffer(t *testing.T) {
	testutils.NeedBPF(t)
	o := &Options{MaxString: LimitMaxString, BufferSize: 1}
	for i := range 20 {
		o.Strings = append(o.Strings, argName(i))
	}
	opts, err := o.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	clauses, err := parseClauses([]Clause{{Pattern: "p:n"}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSession(opts, clauses)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	problems := s.attach("", []*usdt.Target{target(stapsdt.X86_64, strings.TrimSpace(strings.Repeat("8@%rax ", 20)))})
	if want := "p:n: an event of 82448 bytes does not fit into the buffer of 65536"; len(problems) != 1 || problems[0].Error() != want {
		t.Errorf("problems %v, want %s", problems, want)
	}
}
