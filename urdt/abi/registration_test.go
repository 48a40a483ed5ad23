package abi

import (
	"bytes"
	"reflect"
	"testing"
)

var registered = []Registration{
	{Provider: "app", Name: "idle"},
	{Provider: "app", Name: "request", Types: []string{"int64 time.Duration", "string", ""}},
	{Provider: "p", Name: "eleven", Types: []string{"int8", "int16", "int32", "uint8", "uint16", "uint32", "bool", "float32", "float64", "error", "pointer *main.Req[int,string]"}},
}

func registryBytes() []byte {
	var b []byte
	for i := range registered {
		b = AppendRegistration(b, &registered[i])
	}
	return b
}

// One record, byte by byte, as docs/urdt-spec.md lays it out.
func TestRegistrationBytes(t *testing.T) {
	got := AppendRegistration(nil, &Registration{Provider: "p", Name: "ab", Types: []string{"bool"}})
	want := []byte{
		8, 0, 0, 0, // owner size
		18, 0, 0, 0, // descriptor size
		2, 0, 0, 0, // type
		'n', 'o', 'p', 'f', 'i', 'r', 'e', 0,
		1, 0, 0, 0, // version
		1, 0, 0, 0, // arguments
		'p', 0, 'a', 'b', 0, 'b', 'o', 'o', 'l', 0,
		0, 0, // padding
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got  % x\nwant % x", got, want)
	}
}

func TestRegistrationsRoundTrip(t *testing.T) {
	if got := Registrations(registryBytes()); !reflect.DeepEqual(got, registered) {
		t.Errorf("got %+v\nwant %+v", got, registered)
	}
}

// What is cut, foreign or wrong costs itself and nothing before it.
func TestRegistrationsOfForeignBytes(t *testing.T) {
	whole := registryBytes()
	first := len(AppendRegistration(nil, &registered[0]))
	for n := range len(whole) {
		got := Registrations(whole[:n])
		if want := 0; n >= first && len(got) == want {
			t.Fatalf("cut at %d: %d records", n, len(got))
		}
		if len(got) > 2 {
			t.Fatalf("cut at %d: %d records", n, len(got))
		}
	}
	change := func(at int, to byte) []byte {
		b := bytes.Clone(whole)
		b[at] = to
		return b
	}
	for _, tt := range []struct {
		name string
		file []byte
		want int
	}{
		{"nothing", nil, 0},
		{"another owner", change(12, 'x'), 2},
		{"another type", change(8, 9), 2},
		{"another version", change(20, 2), 2},
		{"more arguments than there are", change(24, 3), 2},
		{"more arguments than there can be", change(24, 12), 2},
		{"size beyond the end", change(7, 0xff), 0},
		{"zeros", make([]byte, 4096), 0},
	} {
		if got := Registrations(tt.file); len(got) != tt.want {
			t.Errorf("%s: %d records, want %d", tt.name, len(got), tt.want)
		}
	}
}

func FuzzRegistrations(f *testing.F) {
	f.Add(registryBytes())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, r := range Registrations(file) {
			again := Registrations(AppendRegistration(nil, &r))
			if len(again) != 1 || !reflect.DeepEqual(again[0], r) {
				t.Errorf("%+v is read again as %+v", r, again)
			}
		}
	})
}
