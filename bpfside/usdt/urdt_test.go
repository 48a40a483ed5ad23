package usdt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/urdt/abi"
)

// marker returns a note section, word by word and owner.
func marker(order binary.ByteOrder, owner string, descLen, typ uint32, desc ...uint32) []byte {
	var b []byte
	for _, w := range []uint32{uint32(len(owner)), descLen, typ} {
		b = appendWord(b, order, w)
	}
	b = append(b, owner...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	for _, w := range desc {
		b = appendWord(b, order, w)
	}
	return b
}

func appendWord(b []byte, order binary.ByteOrder, w uint32) []byte {
	var word [4]byte
	order.PutUint32(word[:], w)
	return append(b, word[:]...)
}

var markerRows = []struct {
	name string
	data []byte
	kind uint32
	k    int
	err  string
}{
	{"liburdt", marker(binary.LittleEndian, "nopfire\x00", 12, 1, 1, 2, 16), 2, 16, ""},
	{"one site", marker(binary.LittleEndian, "nopfire\x00", 12, 1, 1, 2, 1), 2, 1, ""},
	{"the most", marker(binary.LittleEndian, "nopfire\x00", 12, 1, 1, 2, 1<<16), 2, 1 << 16, ""},
	{"longer, by later words", marker(binary.LittleEndian, "nopfire\x00", 16, 1, 1, 2, 16, 7), 2, 16, ""},
	{"a provider", marker(binary.LittleEndian, "nopfire\x00", 12, 1, 1, 1, 1), 1, 1, ""},
	{"nothing", nil, 0, 0, "0 bytes, want 32"},
	{"cut", marker(binary.LittleEndian, "nopfire\x00", 12, 1, 1, 2), 0, 0, "28 bytes, want 32"},
	{"another owner", marker(binary.LittleEndian, "nopfirf\x00", 12, 1, 1, 2, 16), 0, 0, "owner is not nopfire"},
	{"another type", marker(binary.LittleEndian, "nopfire\x00", 12, 2, 1, 2, 16), 0, 0, "type 2 with 12 bytes"},
	{"too short", marker(binary.LittleEndian, "nopfire\x00", 8, 1, 1, 2, 16), 0, 0, "type 1 with 8 bytes"},
	{"a later version", marker(binary.LittleEndian, "nopfire\x00", 12, 1, 2, 2, 16), 0, 0, "version 2 is not known"},
	{"no sites", marker(binary.LittleEndian, "nopfire\x00", 12, 1, 1, 2, 0), 0, 0, "0 sites for each probe is no power of two within 1..65536"},
	{"odd", marker(binary.LittleEndian, "nopfire\x00", 12, 1, 1, 2, 12), 0, 0, "12 sites for each probe is no power of two within 1..65536"},
	{"too many", marker(binary.LittleEndian, "nopfire\x00", 12, 1, 1, 2, 1<<17), 0, 0, "131072 sites for each probe is no power of two within 1..65536"},
	{"the other byte order", marker(binary.BigEndian, "nopfire\x00", 12, 1, 1, 2, 16), 0, 0, "owner is not nopfire"},
}

func TestParseMarker(t *testing.T) {
	for _, row := range markerRows {
		kind, k, err := parseMarker(row.data, binary.LittleEndian)
		if row.err != "" {
			if err == nil || err.Error() != row.err {
				t.Errorf("%s: error %v, want %s", row.name, err, row.err)
			}
			continue
		}
		if err != nil || kind != row.kind || k != row.k {
			t.Errorf("%s: kind %d, %d sites, %v; want %d and %d", row.name, kind, k, err, row.kind, row.k)
		}
	}
}

// liburdt returns the object of a machine.
func liburdt(t testing.TB, m stapsdt.Machine) *elfgen.Object {
	t.Helper()
	obj, err := elfgen.BuildURDT(m)
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// Of liburdt.so.1 every probe is marked, and each name has one location: the site
// that the writer of the object says it fires at.
func TestMarkedObject(t *testing.T) {
	for _, m := range []stapsdt.Machine{stapsdt.X86_64, stapsdt.ARM64} {
		obj := liburdt(t, m)
		f, err := NewFile(bytes.NewReader(obj.Image), int64(len(obj.Image)))
		if err != nil || len(f.Problems) > 0 {
			t.Fatal(err, f.Problems)
		}
		seen := 0
		for _, p := range f.Probes {
			nargs, ok := p.IsURDT()
			if !ok || p.Shards != abi.Shards {
				t.Errorf("%s: %s has %d shards", m, p, p.Shards)
				continue
			}
			seen++
			target := &Target{Probe: *p}
			for _, name := range []string{"a", "request", "x", "longer-name", "y", "z"} {
				hash := abi.Hash("app", name)
				one := target.ShardOf(hash)
				want := obj.Sites[nargs*abi.Shards+abi.Shard(hash, abi.Shards)].Location
				if len(one.Locations) != 1 || one.Locations[0].Offset != uint64(want) || one.Shards != 0 {
					t.Errorf("%s: app:%s with %d arguments at %+v, want %#x", m, name, nargs, one.Locations, want)
				}
				if again := one.ShardOf(hash); len(again.Locations) != 1 {
					t.Errorf("a shard of a shard has %d locations", len(again.Locations))
				}
			}
		}
		if seen != abi.MaxArgs+1 {
			t.Errorf("%s: %d probes", m, seen)
		}
	}
}

// A marker that does not fit the notes is not believed: all locations are taken, and
// a problem says why.
func TestMarkerThatLies(t *testing.T) {
	const m = stapsdt.X86_64
	image := liburdt(t, m).Image
	section := marker(binary.LittleEndian, "nopfire\x00", 12, 1, 1, 2, 16)
	at := bytes.Index(image, section)
	if at < 0 {
		t.Fatal("no marker in the object")
	}
	args, _ := markedArgs(m, 2)
	for _, row := range []struct {
		name   string
		change func(b []byte)
		err    string
		marked int // probes that are still believed
	}{
		{"fewer sites", func(b []byte) { b[at+28] = 8 }, "16 locations, want 8: all locations are taken", 0},
		{"a later version", func(b []byte) { b[at+20] = 9 }, "version 9 is not known", 0},
		{"other registers", func(b []byte) {
			i := bytes.Index(b, []byte(args+"\x00"))
			copy(b[i:], "-8@%rdx")
		}, `has arguments "-8@%rdx`, abi.MaxArgs},
		{"two sites at one address", func(b []byte) {
			first := bytes.Index(b, []byte("urdt\x00probe1\x00"))
			second := first + bytes.Index(b[first+1:], []byte("urdt\x00probe1\x00")) + 1
			copy(b[second-24:second-16], b[first-24:first-16])
		}, "stands in two notes", abi.MaxArgs},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := bytes.Clone(image)
			row.change(b)
			f, err := NewFile(bytes.NewReader(b), int64(len(b)))
			if err != nil {
				t.Fatal(err)
			}
			marked := 0
			for _, p := range f.Probes {
				if p.Shards > 0 {
					marked++
				} else if target := (&Target{Probe: *p}); len(target.ShardOf(1).Locations) != abi.Shards {
					t.Errorf("%s: %d locations", p, len(target.ShardOf(1).Locations))
				}
			}
			var fe *FileError
			if marked != row.marked || len(f.Problems) == 0 || !errors.As(f.Problems[0], &fe) || !strings.Contains(f.Problems[0].Error(), row.err) {
				t.Errorf("%d marked, problems %v; want %d and … %s", marked, f.Problems, row.marked, row.err)
			}
		})
	}
}

func TestMarkedArgs(t *testing.T) {
	for _, row := range []struct {
		m    stapsdt.Machine
		n    int
		want string
	}{
		{stapsdt.X86_64, 0, "8@%rdi"},
		{stapsdt.X86_64, 2, "-8@%rsi -8@%rdx 8@%rdi"},
		{stapsdt.ARM64, 3, "-8@x1 -8@x2 -8@x3 8@x0"},
		{stapsdt.RISCV64, 1, ""},
	} {
		if got, ok := markedArgs(row.m, row.n); got != row.want || ok != (row.want != "") {
			t.Errorf("%s with %d: %q, %t", row.m, row.n, got, ok)
		}
	}
}

// Whatever stands in the marker and the notes, a name has a location or none.
func FuzzMarkedObject(f *testing.F) {
	image := liburdt(f, stapsdt.X86_64).Image
	f.Add(image, uint32(1))
	for _, row := range markerRows {
		at := bytes.Index(image, []byte("nopfire\x00")) - 12
		if len(row.data) == 32 {
			b := bytes.Clone(image)
			copy(b[at:], row.data)
			f.Add(b, uint32(7))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, hash uint32) {
		file, err := NewFile(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for _, p := range file.Probes {
			one := (&Target{Probe: *p}).ShardOf(hash)
			if p.Shards > 0 && len(one.Locations) != 1 || p.Shards == 0 && len(one.Locations) != len(p.Locations) {
				t.Fatalf("%s: %d of %d locations, %d shards", p, len(one.Locations), len(p.Locations), p.Shards)
			}
		}
	})
}

func TestRegistered(t *testing.T) {
	var data []byte
	for _, r := range []abi.Registration{
		{Provider: "app", Name: "idle"},
		{Provider: "app", Name: "request", Types: []string{"int32", "string", "", "int64 time.Duration", "float32", "pointer *main.Req", "rubbish x"}},
	} {
		data = abi.AppendRegistration(data, &r)
	}
	want := []Registered{
		{PID: 7, Provider: "app", Name: "idle", Params: []Param{}},
		{PID: 7, Provider: "app", Name: "request", Params: []Param{
			{Type: &Type{Kind: Int, Size: 4}},
			{Type: &Type{Kind: String, Size: 8}},
			{Type: &Type{}},
			{Type: &Type{Kind: Int, Size: 8, Go: "time.Duration"}},
			{Type: &Type{Kind: Float, Size: 4}},
			{Type: &Type{Kind: Pointer, Size: 8, Go: "*main.Req"}},
			{Type: &Type{}},
		}},
	}
	if diff := cmp.Diff(want, registered(7, data)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The places where objects are known to be: by the environment, of the system, of
// the user.
func TestKnownURDTPaths(t *testing.T) {
	t.Setenv(abi.PathVariable, "/some/where.so")
	t.Setenv("XDG_RUNTIME_DIR", "/run/mine")
	got := knownURDTPaths()
	want := []string{"/some/where.so", "/usr/local/lib/nopfire/liburdt.so.1", "/run/mine/nopfire/liburdt.so.1"}
	if len(got) < len(want) || !cmp.Equal(got[:3], want) {
		t.Errorf("%q", got)
	}
	for _, p := range got[3:] {
		if !strings.HasPrefix(p, "/run/user/") {
			t.Errorf("unexpected place %s", p)
		}
	}
	t.Setenv(abi.PathVariable, "")
	t.Setenv("XDG_RUNTIME_DIR", "")
	if got := knownURDTPaths(); got[0] != want[1] {
		t.Errorf("without environment: %q", got)
	}
}
