package probespec

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/internal/testutils"
)

// value makes a value of trace.
func value(v any) trace.Value {
	switch x := v.(type) {
	case int:
		return trace.Value{Type: "int64", Value: int64(x)}
	case trace.Value:
		return x
	case error:
		return trace.Value{Type: "string", Err: x}
	case nil:
		return trace.Value{Type: "string"}
	case trace.Pointer:
		return trace.Value{Type: "*main.T", Value: x}
	}
	return trace.Value{Type: fmt.Sprintf("%T", v), Value: v}
}

func TestFormat(t *testing.T) {
	for _, row := range []struct {
		format string
		value  any
		want   string
	}{
		// Integers have the bits of the directive, as in C on a 64-bit machine.
		{"%d", 7, "7"},
		{"%i", -7, "-7"},
		{"%d", uint64(math.MaxUint64), "-1"},
		{"%d", uint64(math.MaxUint32), "-1"},
		{"%d", int64(1 << 32), "0"},
		{"%ld", int64(1 << 32), "4294967296"},
		{"%lld", int64(math.MinInt64), "-9223372036854775808"},
		{"%zd", uint64(math.MaxUint64), "-1"},
		{"%hd", 0x18000, "-32768"},
		{"%hhd", 0x1ff, "-1"},
		{"%u", -1, "4294967295"},
		{"%lu", -1, "18446744073709551615"},
		{"%hhu", -1, "255"},
		{"%hu", -1, "65535"},
		{"%x", -1, "ffffffff"},
		{"%lx", -1, "ffffffffffffffff"},
		{"%X", 0xabc, "ABC"},
		{"%o", 8, "10"},
		{"%jx", 255, "ff"},
		{"%d", true, "1"},
		{"%d", trace.Pointer(16), "16"},
		{"%u", false, "0"},

		// Flags, width and precision.
		{"%5d|", 42, "   42|"},
		{"%-5d|", 42, "42   |"},
		{"%05d|", -42, "-0042|"},
		{"%-05d|", 42, "42   |"},
		{"%+d", 42, "+42"},
		{"% d", 42, " 42"},
		{"%+u", 42, "42"},
		{"%.4d", -42, "-0042"},
		{"%8.4d|", -42, "   -0042|"},
		{"%08.4d|", 42, "    0042|"},
		{"%.0d|", 0, "|"},
		{"%#x", 255, "0xff"},
		{"%#x", 0, "0"},
		{"%#X", 255, "0XFF"},
		{"%#o", 8, "010"},
		{"%#.3o", 8, "010"},
		{"%#.0o", 0, "0"},
		{"%#010x", 255, "0x000000ff"},

		// Characters, strings, pointers.
		{"%c", int('A'), "A"},
		{"%c", 0x141, "Ł"},
		{"%3c|", int('A'), "  A|"},
		{"%-3c|", uint64('A'), "A  |"},
		{"%c", 7, `\a`},
		{"%c", 0xe9, `\xe9`},
		{"%s", "text", "text"},
		{"%7s|", "süß", "    süß|"},
		{"%-7s|", "süß", "süß    |"},
		{"%.2s|", "süß", "sü|"},
		{"%5.1s|", "süß", "    s|"},
		{"%s", "a\tb\x1b[2J\xff\\", `a\tb\x1b[2J\xff\`},
		{"%s", "\u202eabc", `\u202eabc`},
		{"%s", []byte("ab\x00"), `ab\x00`},
		{"%s", nil, "(null)"},
		{"%s", trace.Value{Type: "string", Value: "tex", Truncated: true}, "tex…"},
		{"%p", trace.Pointer(0xc000), "0xc000"},
		{"%p", 10, "0xa"},
		{"%12p|", trace.Pointer(0xc000), "      0xc000|"},

		// What %s shows besides strings.
		{"%s", 7, "7"},
		{"%s", true, "true"},
		{"%s", 1.5, "1.5"},
		{"%s", trace.Value{Type: "time.Duration", Value: int64(1500)}, "1.5µs"},

		// Floats.
		{"%f", 1.5, "1.500000"},
		{"%lf", 1.5, "1.500000"},
		{"%.1f", -0.25, "-0.2"},
		{"%8.2f|", 3.14159, "    3.14|"},
		{"%-8.2f|", 3.14159, "3.14    |"},
		{"%08.2f|", -3.14159, "-0003.14|"},
		{"%+.0f", 2.0, "+2"},
		{"%e", 12345.678, "1.234568e+04"},
		{"%E", 12345.678, "1.234568E+04"},
		{"%g", 0.0001, "0.0001"},
		{"%g", 1e-5, "1e-05"},
		{"%g", 100000.0, "100000"},
		{"%g", 1e6, "1e+06"},
		{"%.3g", 1234.5, "1.23e+03"},
		{"%.0g", 1234.5, "1e+03"},
		{"%#.3g", 1.0, "1.00"},
		{"%f", math.Inf(-1), "-inf"},
		{"%F", math.Inf(1), "INF"},
		{"%05f|", math.NaN(), "  nan|"},
		{"%.1f", 3, "3.0"},

		// What does not fit.
		{"%d", "text", `!(string "text")`},
		{"%d", 1.5, "!(float64 1.5)"},
		{"%c", "text", `!(string "text")`},
		{"%f", "text", `!(string "text")`},
		{"%d", nil, "!(string <nil>)"},
		{"%d", errors.New("read string at 0x10: bad\x1b address"), `!(read string at 0x10: bad\x1b address)`},
		{"%x", "né", "6ec3a9"},
		{"%6X|", []byte{0xab}, "    AB|"},

		// Text.
		{`100%% \"%d\"\t\x41\101\e\\`, 1, "100% \"1\"\tAA\x1b\\"},
	} {
		t.Run(row.format, func(t *testing.T) {
			f, err := ParseFormat(row.format)
			if err != nil {
				t.Fatal(err)
			}
			v := value(row.value)
			if got := string(f.AppendPrintable(nil, []trace.Value{v})); got != row.want {
				t.Errorf("%v: %q, want %q", v, got, row.want)
			}
		})
	}
}

func TestFormatSeveralValues(t *testing.T) {
	f, err := ParseFormat("%s=%d;")
	if err != nil || f.Directives() != 2 {
		t.Fatal(f.Directives(), err)
	}
	a, b, c := value("a\n"), value(1), value(2)
	for _, row := range []struct {
		values         []trace.Value
		plain, escaped string
	}{
		{nil, "!(missing)=!(missing);", "!(missing)=!(missing);"},
		{[]trace.Value{a}, "a\n=!(missing);", `a\n=!(missing);`},
		{[]trace.Value{a, b}, "a\n=1;", `a\n=1;`},
		{[]trace.Value{a, b, c}, "a\n=1;", `a\n=1;`},
	} {
		if got := string(f.Append([]byte("> "), row.values)); got != "> "+row.plain {
			t.Errorf("Append: %q, want %q", got, row.plain)
		}
		if got := string(f.AppendPrintable(nil, row.values)); got != row.escaped {
			t.Errorf("AppendPrintable: %q, want %q", got, row.escaped)
		}
	}
}

func TestFormatErrors(t *testing.T) {
	for _, row := range []struct{ format, mark, want string }{
		{`ab%`, `  ^`, `% is not finished: want ` + directives},
		{`%-5`, `^`, `%-5 is not finished: want ` + directives},
		{`%ll`, `^`, `%ll is not finished: want ` + directives},
		{`%y`, `^`, `%y is no directive: want ` + directives},
		{`%λ`, `^`, `%λ is no directive: want ` + directives},
		{`%*d`, `^`, `%* takes a width or precision from nowhere: want a number`},
		{`%.*s`, `^`, `%.* takes a width or precision from nowhere: want a number`},
		{`x%n`, ` ^`, `%n would write into the traced process`},
		{`%K`, `^`, `%K would be a symbol, which nobody looks up: want %p or %lx`},
		{`%U`, `^`, `%U would be a symbol, which nobody looks up: want %p or %lx`},
		{`%ls`, `^`, `%ls has a length, which is for integers`},
		{`%99999d`, `^`, `%99999d is wider than anything can be: want at most 4096`},
		{`%.99999999999999999999f`, `^`, `%.99999999999999999999f is wider than anything can be: want at most 4096`},
		{`a\`, ` ^`, `nothing behind the backslash`},
		{`a\q`, ` ^`, `"\\q" is no escape sequence of C`},
		{`\xg`, `^`, `"\\x" is no escape sequence of C`},
		{`\777`, `^`, `"\\7" is no escape sequence of C`},
	} {
		t.Run(row.format, func(t *testing.T) {
			_, err := ParseFormat(row.format)
			checkSyntaxError(t, err, row.format, row.mark, row.want)
		})
	}
}

// The printf of bash is C's, with integers of 64 bits.
func TestFormatAsPrintf(t *testing.T) {
	bash := testutils.Oracle(t, "bash")
	numbers := []int64{0, 1, -1, 42, -99999, math.MaxInt64, math.MinInt64}
	floats := []float64{0, 1, -1.5, 0.1, 1e-7, 123456789, 2.5e300, 1.0 / 3}
	var format, args []string
	var got []byte
	add := func(directive string, v any, arg string) {
		f, err := ParseFormat(directive + "\n")
		if err != nil {
			t.Fatal(err)
		}
		got = f.Append(got, []trace.Value{value(v)})
		format = append(format, strings.Replace(directive, "l", "", 1))
		args = append(args, arg)
	}
	fields := []string{"", "8", "-8", "08", "+", " ", "#", ".3", "8.3", "+08", "-+8", "#8", "#08", "# 12.5", "+.0"}
	for _, field := range fields {
		for _, verb := range "diuxXo" {
			for _, n := range numbers {
				if verb != 'd' && verb != 'i' && n < 0 {
					add("%"+field+"l"+string(verb), uint64(n), fmt.Sprint(uint64(n)))
					continue
				}
				add("%"+field+"l"+string(verb), n, fmt.Sprint(n))
			}
		}
		for _, verb := range "feEgG" {
			for _, x := range floats {
				// Bash reads a number as long double: it must be exact.
				add("%"+field+string(verb), x, fmt.Sprintf("%x", x))
			}
		}
		for _, s := range []string{"", "a", "longer than eight"} {
			if !strings.ContainsAny(field, "+ #0") { // undefined for strings
				add("%"+field+"s", s, s)
			}
		}
	}
	args = append([]string{"-c", `printf "$@"`, "", strings.Join(format, `\n`) + `\n`}, args...)
	out, err := exec.Command(bash, args...).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := strings.Split(string(out), "\n")
	for i, line := range bytes.Split(got, []byte("\n")) {
		if i < len(format) && string(line) != want[i] {
			t.Errorf("%s of %s: %q, printf has %q", format[i], args[4+i], line, want[i])
		}
	}
}

func TestFormatAllocates(t *testing.T) {
	f, err := ParseFormat("i=%d msg=%s addr=%lx %5.2f\n")
	if err != nil {
		t.Fatal(err)
	}
	values := []trace.Value{value(7), value("hello"), value(trace.Pointer(0xc000)), value(1.5)}
	b := make([]byte, 0, 128)
	if n := testing.AllocsPerRun(100, func() { b = f.AppendPrintable(b[:0], values) }); n != 0 {
		t.Errorf("%v allocations for %q", n, b)
	}
}
