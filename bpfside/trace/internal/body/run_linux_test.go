package body

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/nopfire/nopfire/internal/testutils"
)

// An order is what argument o of the tests points to.
type order struct {
	id    int64
	next  *order
	name  string
	items [3]struct {
		sku   uint16
		count int32
	}
	tag    [8]byte
	small  int8
	flag   bool
	port   uint16
	price  float64v
	text   *byte
	first  unsafe.Pointer
	matrix [2][3]byte
	ret    uint32
	any    unsafe.Pointer
	body   []byte
	rates  [2]uint32 // the bits of float32
	took   time.Duration
	state  uint8
}

type float64v = uint64 // bits

func cString(s string) *byte { return &append([]byte(s), 0)[0] }

// world returns the values of the arguments, and what they point to, which the
// caller keeps alive.
func world() (args [MaxArgs]uint64, keep any) {
	last := &order{id: 3, name: "third", text: cString("")}
	next := &order{id: -2, next: last, name: "sec\x00ond", small: -7, text: cString("next text")}
	o := &order{
		id: 1, next: next, name: "first", tag: [8]byte{'t', 'a', 'g'}, small: -3, flag: true, port: 8080,
		price: math.Float64bits(2.5), text: cString("order text"), ret: 77, body: []byte("by\x00tes"), rates: [2]uint32{math.Float32bits(0.5), math.Float32bits(-3)}, took: -time.Second, state: 200, matrix: [2][3]byte{{1, 2, 3}, {4, 5, 255}},
	}
	for i := range o.items {
		o.items[i].sku, o.items[i].count = uint16(65000+i), int32(-10*i)
	}
	o.first, o.any = unsafe.Pointer(&o.items[1]), unsafe.Pointer(o)
	msg, data := cString("hello, world"), []byte("raw\x00data")
	n := -5
	args = [MaxArgs]uint64{
		uint64(n), 4_000_000_000, uint64(n + 4), 1<<63 + 1,
		addr(unsafe.Pointer(msg)), addr(unsafe.Pointer(o)), addr(unsafe.Pointer(&data[0])), uint64(len(data)),
		1, math.Float64bits(1.5), uint64(n - 295), 999,
	}
	return args, []any{o, msg, data}
}

func addr(p unsafe.Pointer) uint64 { return uint64(uintptr(p)) }

// Process and thread as the tests have them.
const worldPID, worldTID = 4_000_000_001, 12

// around puts a program around a function that gives it arguments on the stack, and
// hands its values on: of type syscall, whose context is both.
func around(f *Function, args uint16) asm.Instructions {
	frame := func(off int) int16 { return int16(off - Size) }
	insns := asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1)}
	for i := range MaxArgs {
		if args&(1<<i) != 0 {
			insns = append(insns,
				asm.LoadMem(asm.R2, asm.R6, int16(OffArgs+8*i), asm.DWord),
				asm.StoreMem(asm.RFP, frame(OffArgs+8*i), asm.R2, asm.DWord))
		}
	}
	if f.NeedsPID {
		insns = append(insns,
			asm.LoadImm(asm.R2, worldPID, asm.DWord),
			asm.StoreMem(asm.RFP, frame(OffPID), asm.R2, asm.DWord),
			asm.Mov.Imm(asm.R2, worldTID),
			asm.StoreMem(asm.RFP, frame(OffTID), asm.R2, asm.DWord))
	}
	insns = append(insns,
		asm.Mov.Reg(asm.R1, asm.RFP),
		asm.Add.Imm(asm.R1, -Size),
		asm.Call.Label(Symbol),
		asm.JEq.Imm(asm.R0, 0, "out"))
	for i, v := range f.Values {
		if v.Arg < 0 && !v.Comm {
			insns = append(insns,
				asm.LoadMem(asm.R2, asm.RFP, frame(OffValues+8*i), asm.DWord),
				asm.StoreMem(asm.R6, int16(OffValues+8*i), asm.R2, asm.DWord))
		}
	}
	insns = append(insns, asm.Return().WithSymbol("out"))
	return append(insns, f.Insns...)
}

// load puts a function into the kernel.
func load(f *Function) (*ebpf.Program, error) {
	args := f.WhereArgs
	for _, v := range f.Values {
		args |= v.Args
	}
	return ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Syscall, Flags: unix.BPF_F_SLEEPABLE, License: "GPL",
		Instructions: around(f, args),
	})
}

// run compiles and runs expressions with the arguments of the world.
func run(t testing.TB, in *Input) (wanted bool, values [MaxValues]uint64, f *Function) {
	t.Helper()
	args, keep := world()
	defer runtime.KeepAlive(keep)
	return runWith(t, in, args)
}

func runWith(t testing.TB, in *Input, args [MaxArgs]uint64) (wanted bool, values [MaxValues]uint64, f *Function) {
	t.Helper()
	f, err := Compile(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	prog, err := load(f)
	if err != nil {
		var ve *ebpf.VerifierError
		if errors.As(err, &ve) {
			t.Fatalf("%+v\n%v", ve, f.Insns)
		}
		t.Fatal(err)
	}
	defer prog.Close()
	ctx := make([]byte, Size)
	for i, a := range args {
		binary.LittleEndian.PutUint64(ctx[OffArgs+8*i:], a)
	}
	out := make([]byte, Size)
	ret, err := prog.Run(&ebpf.RunOptions{Context: ctx, ContextOut: out})
	if err != nil {
		t.Fatal(err)
	}
	for i := range values {
		values[i] = binary.LittleEndian.Uint64(out[OffValues+8*i:])
	}
	if ret > 1 {
		t.Fatalf("the function returns %d", ret)
	}
	return ret == 1, values, f
}

// show spells a value by its kind.
func show(v Value, bits uint64) string {
	switch v.Kind {
	case Int:
		return fmt.Sprint(int64(bits))
	case Bool:
		return fmt.Sprint(bits != 0)
	case Pointer, String:
		return fmt.Sprintf("%#x", bits)
	}
	return fmt.Sprint(bits)
}

// valueRows are expressions, with their values and types where argument n and the others
// are those of the world.
func valueRows(t *testing.T) []valueRow {
	comm, err := os.ReadFile("/proc/thread-self/comm")
	if err != nil {
		t.Fatal(err)
	}
	return []valueRow{
		// Arguments by their own types, which C promotes.
		{"n + 0", "-5", "int32"},
		{"arg1+1", "-4", "int32"},
		{"u + 0", "4000000000", "uint32"},
		{"u + 1000000000", "705032704", "uint32"},
		{"(u64)u + 1000000000", "5000000000", "uint64"},
		{"c + 0", "-1", "int32"},
		{"(u8)c", "255", "uint8"},
		{"(unsigned char)n", "251", "uint8"},
		{"(short)u", "10240", "int16"},
		{"big + 0", "9223372036854775809", "uint64"},
		{"arg11 - 1", "-301", "int32"},
		{"ok + 1", "2", "int32"},
		{"!ok", "0", "int32"},
		{"(bool)n", "true", "bool"},
		{"data_len * 2", "16", "uint64"},

		// Arithmetic.
		{"1 + 2 * 3 - 4", "3", "int32"},
		{"10 - 3 - 2", "5", "int32"},
		{"(1 + 2) * 3", "9", "int32"},
		{"7 / 2 + 7 % 4", "6", "int32"},
		{"n / 2", "-2", "int32"},
		{"n % 3", "-2", "int32"},
		{"u / 3", "1333333333", "uint32"},
		{"n / u", "1", "uint32"}, // -5 is 4294967291 beside an unsigned number
		{"1 << 4 | 1", "17", "int32"},
		{"1UL << 40", "1099511627776", "uint64"},
		{"n >> 1", "-3", "int32"},
		{"u >> 31", "1", "uint32"},
		{"0xf0 & ~0x30 ^ 0x0f", "207", "int32"},
		{"-n", "5", "int32"},
		{"+c", "-1", "int32"},
		{"0b101 + 017 + 0x1F", "51", "int32"},
		{"18446744073709551615", "18446744073709551615", "uint64"},
		{"4294967295", "4294967295", "int64"},
		{"0xffffffff", "4294967295", "uint32"},
		{"'a'", "97", "int32"},
		{`'\n' + '\x41' + '\0' + '\101' + '\''`, "179", "int32"},
		{`'\xff'`, "-1", "int32"},

		// Comparisons, and where C is unlike mathematics.
		{"n < 0", "1", "int32"},
		{"n < u", "0", "int32"},
		{"n < 0u", "0", "int32"},
		{"(long)n < u", "1", "int32"},
		{"c == -1 && n != 4 || 0", "1", "int32"},
		{"n > 0 ? 1 : u", "4000000000", "uint32"},
		{"ok ? n : c", "-5", "int32"},
		{"n == -5 ? 10 : n == 4 ? 20 : 30", "10", "int32"},

		// Memory of the process.
		{"o->id", "1", "int64"},
		{"o->next->id", "-2", "int64"},
		{"(*o).next->next->id", "3", "int64"},
		{"o->next->next->next->id", "0", "int64"}, // NULL, which cannot be read
		{"o->items[1].sku", "65001", "uint16"},
		{"o->items[data_len - 6].count", "-20", "int32"},
		{"o->items[2].count + o->items[1].count", "-30", "int32"},
		{"o->small", "-3", "int8"},
		{"o->flag", "true", "bool"},
		{"o->port", "8080", "uint16"},
		{"o->took", "-1000000000", "time.Duration"},
		{"o->took / 1000", "-1000000", "int64"},
		{"(*o).state", "200", "main.state"},
		{"o->tag[1]", "97", "int8"},
		{"*o->tag == 't'", "1", "int32"},
		{"o->matrix[1][2]", "255", "uint8"},
		{"o->return", "77", "uint32"},
		{"o->first->sku", "65001", "uint16"},
		{"(o->first + 1)->sku", "65002", "uint16"},
		{"o->first[-1].sku", "65000", "uint16"},
		{"*&o->id", "1", "int64"},
		{"(&o->items[0])[2].sku", "65002", "uint16"},
		{"&o->items[2] - &o->items[0]", "2", "int64"},
		{"o->name.len", "5", "int64"},
		{"o->name.ptr[1]", "105", "uint8"},
		{"((struct order *)o->any)->id", "1", "int64"},
		{"((struct main.order *)o)->next->small", "-7", "int8"},
		{"((struct main_order *)arg6)->next->next->id", "3", "int64"},
		{"*(long *)arg6", "1", "int64"},
		{"*(int *)((char *)o + 36)", "0", "int32"},
		{"*(u32 *)((u64)o + 104)", "77", "uint32"},
		{"((s32 *)o)[26]", "77", "int32"},
		{"msg[4]", "111", "int8"},
		{"*msg", "104", "int8"},
		{"data[0] + data[7]", "211", "int32"},
		{"*(char *)16", "0", "int8"},
		{"o && o->next && o->next->id == -2", "1", "int32"},

		// Text.
		{`msg == "hello, world"`, "1", "int32"},
		{`msg == "hello, worl"`, "0", "int32"},
		{`msg == "hello, world!"`, "0", "int32"},
		{`msg != "hello"`, "1", "int32"},
		{`"hello, world" == msg`, "1", "int32"},
		{`msg == "hello," " world"`, "1", "int32"},
		{`(msg) == "hello, world" && !(msg == "")`, "1", "int32"},
		{`msg + 7 == "world"`, "1", "int32"},
		{`strcmp(msg, "hello, world")`, "0", "int32"},
		{`strcmp(msg, "hello")`, "1", "int32"},
		{`strcmp(msg, "help")`, "-1", "int32"},
		{`strcmp("help", msg)`, "1", "int32"},
		{`strcmp(msg, "hello, world, and more")`, "-1", "int32"},
		{`strncmp(msg, "hello there", 5)`, "0", "int32"},
		{`strncmp(msg, "hello there", 7)`, "1", "int32"},
		{`strncmp(msg, "hello, world", 99)`, "0", "int32"},
		{`strncmp(msg, "x", 0)`, "0", "int32"},
		{`STRCMP("hello, world", msg)`, "1", "int32"},
		{`STRCMP("hello", arg5)`, "1", "int32"}, // as bcc: as far as the literal goes
		{`STRCMP("help", msg)`, "0", "int32"},
		{`big == "x"`, "0", "int32"}, // no memory there
		{`big != "x"`, "1", "int32"},
		{`big == ""`, "0", "int32"},
		{`o->text == "order text"`, "1", "int32"},
		{`o->next->next->text == ""`, "1", "int32"},
		{`o->tag == "tag"`, "1", "int32"},
		{`(char *)o->any == "x"`, "0", "int32"},
		{`o->name == "first"`, "1", "int32"},
		{`o->name == "firs"`, "0", "int32"},
		{`strncmp(o->name, "fire", 3)`, "0", "int32"},
		{`o->next->name == "sec"`, "0", "int32"},
		{`o->body == "by"`, "0", "int32"},
		{`strncmp(o->body, "by", 2)`, "0", "int32"},
		{`o->body != "bytes"`, "1", "int32"},
		{`o->body.cap >= o->body.len`, "1", "int32"},
		{`*(long *)(&o->name + 0) == (long)o->name.ptr`, "1", "int32"},
		{`data == "raw"`, "0", "int32"},
		{`STRCMP("raw", data)`, "1", "int32"},
		{`comm == "no such comm"`, "0", "int32"},
		{`comm == "a name that no thread can have"`, "0", "int32"},
		{`strncmp(comm, "a name that no thread can have", 20) != 0`, "1", "int32"},
		{fmt.Sprintf("comm == %q", comm[:len(comm)-1]), "1", "int32"},
		{fmt.Sprintf("strcmp(comm, %q)", comm[:len(comm)-2]), "1", "int32"},
		{fmt.Sprintf("comm[1] == %d", comm[1]), "1", "int32"},
		{`comm[99] + comm[n] + comm[15]`, "0", "int32"},

		// What is the same for each probe.
		{"pid", "4000000001", "uint32"},
		{"tid + 1", "13", "uint32"},
		{"arg12 == 999", "1", "int32"},
		{"uid", fmt.Sprint(os.Getuid()), "uint32"},
		{"cpu < 100000", "1", "int32"},
		{"ts > 1000000", "1", "int32"},
		{"true + false", "1", "int32"},
		{"o != NULL", "1", "int32"},

		// sizeof looks at types alone.
		{"sizeof(int) + sizeof(struct order)", "172", "uint64"},
		{"sizeof o->items", "24", "uint64"},
		{"sizeof(o->next->small)", "1", "uint64"},
		{"sizeof comm", "16", "uint64"},
	}
}

type valueRow struct{ expr, want, typ string }

func TestValues(t *testing.T) {
	testutils.NeedBPF(t)
	for _, r := range valueRows(t) {
		t.Run(r.expr, func(t *testing.T) {
			wanted, values, f := run(t, &Input{Args: worldArgs(), Values: []string{r.expr}})
			v := f.Values[0]
			if got := show(v, values[0]); !wanted || got != r.want || v.Type != r.typ {
				t.Errorf("got %s, a %s, wanted %s, a %s", got, v.Type, r.want, r.typ)
			}
		})
	}
}

// A string of Go in a struct is where its two words are, in whatever way it is
// reached.
func TestHeaders(t *testing.T) {
	testutils.NeedBPF(t)
	in := &Input{Args: worldArgs(), Values: []string{"o->name", "(*o).name", "(o->name)", "&o->name", "o->body", "n", "(struct order *)o->any == o"}}
	wanted, values, f := run(t, in)
	if !wanted {
		t.Fatal("not wanted")
	}
	if values[0] == 0 || values[1] != values[0] || values[2] != values[0] || values[3] != values[0] || values[4] != values[0]+104 || values[6] != 1 {
		t.Errorf("values %#x", values)
	}
	if f.Values[0].Kind != Header || f.Values[0].Type != "string" || f.Values[4].Type != "[]byte" || f.Values[3].Kind != Pointer {
		t.Errorf("%+v", f.Values)
	}
}

// A floating point number in memory is its bits.
func TestFloats(t *testing.T) {
	testutils.NeedBPF(t)
	_, values, _ := run(t, &Input{Args: worldArgs(), Values: []string{"o->price", "o->rates[1]", "*o->rates", "o->next->price"}})
	if values[0] != math.Float64bits(2.5) || values[1] != uint64(math.Float32bits(-3)) || values[2] != uint64(math.Float32bits(0.5)) || values[3] != 0 {
		t.Errorf("values %#x", values)
	}
}

// A hit is wanted if the condition is not 0, of whatever type it is.
func TestConditions(t *testing.T) {
	testutils.NeedBPF(t)
	rows := []struct {
		where string
		want  bool
	}{
		{"", true},
		{"1", true},
		{"0", false},
		{"n", true},
		{"n == 5", false},
		{"(u8)(u + 96)", true},
		{"big << 1 >> 1", true},
		{"(int)(big - 1)", false}, // the upper half alone is not 0
		{"big - 1", true},
		{"msg", true},
		{"o->next->next->next", false},
		{"!o->next->next->next", true},
		{"ok", true},
		{"o->tag[3]", false},
		{"o->small", true},
		{`comm[0] && pid == 4000000001 && tid == 12`, true},
		{`msg == "hello, world" ? c == -1 : 0`, true},
		{`msg == "hello" || msg == "hello, world" && !(data == "raw")`, true},
		{"n > 0 && *(int *)0", false},
		{"o->next && (o->id == 1 || o->next->next->next->next->id)", true},
	}
	for _, r := range rows {
		t.Run(r.where, func(t *testing.T) {
			wanted, values, _ := run(t, &Input{Args: worldArgs(), Where: r.where, Values: []string{"n + 1", "o->id"}})
			if wanted != r.want {
				t.Errorf("wanted is %v", wanted)
			}
			if wanted && (int64(values[0]) != -4 || values[1] != 1) {
				t.Errorf("values %d", values)
			}
		})
	}
}

// As much as there may be in one function: it fits into the stack.
func TestAll(t *testing.T) {
	testutils.NeedBPF(t)
	in := &Input{Args: worldArgs(), Where: `comm != "x" && n`}
	for i := range MaxValues {
		in.Where += fmt.Sprintf(` && msg != "%d a text of some length, so that several pieces have to be looked at %[1]d"`, i)
		in.Values = append(in.Values, fmt.Sprintf(`o->next->items[data_len - %d].sku + n * u / (c + %d) - (o->name == "%d")`, i+1, i+2, i))
	}
	if wanted, _, _ := run(t, in); !wanted {
		t.Error("not wanted")
	}
}

// What C leaves open has the value that docs/expressions.md gives it.
func TestUndefined(t *testing.T) {
	testutils.NeedBPF(t)
	rows := []struct{ expr, want string }{
		{"n / (n + 5)", "0"},
		{"n % (n + 5)", "-5"},
		{"u / (data_len - 8)", "0"},
		{"big % (data_len - 8)", "9223372036854775809"},
		{"u % (u32)(n + 5)", "4000000000"},
		{"(long)n / (data_len - 8)", "0"},
		{"(s64)n % (s64)(n + 5)", "-5"},
		{"10 / (1 - 1)", "0"},
		{"10 % (1 - 1)", "10"},
		{"0x7fffffff + -n", "-2147483644"},
		{"-(0x7fffffff + ok) / -1", "-2147483648"},
		{"n[msg + 5]", "104"},
	}
	for _, r := range rows {
		_, values, f := run(t, &Input{Args: worldArgs(), Values: []string{r.expr}})
		if got := show(f.Values[0], values[0]); got != r.want {
			t.Errorf("%s: %s, wanted %s", r.expr, got, r.want)
		}
	}
}
