package testutils

import (
	"strings"
	"testing"
)

func TestParseReadelf(t *testing.T) {
	const out = `
Displaying notes found in: .note.stapsdt
  Owner                Data size 	Description
  stapsdt              0x0000003a	NT_STAPSDT (SystemTap probe descriptors)
    Provider: libstdcxx
    Name: catch
    Location: 0x00000000000b0df3, Base: 0x00000000001d3138, Semaphore: 0x0000000000000000
    Arguments: 8@%rdi 8@%rcx
  stapsdt              0x00000030	NT_STAPSDT (SystemTap probe descriptors)
    Provider: app
    Name: bare
    Location: 0x10, Base: 0x0, Semaphore: 0x20
    Arguments: 
`
	got, err := ParseReadelf(strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	want := []ReadelfNote{
		{"libstdcxx", "catch", 0xb0df3, 0x1d3138, 0, "8@%rdi 8@%rcx"},
		{"app", "bare", 0x10, 0, 0x20, ""},
	}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %v, want %v", got, want)
	}
	if n := got[0].Adjusted(0x1d3148); n.Location != 0xb0e03 || n.Semaphore != 0 {
		t.Errorf("moved by 0x10: %v", n)
	}
	if n := got[1].Adjusted(0x30); n != got[1] {
		t.Errorf("without a base of its own: %v", n)
	}
	if _, err := ParseReadelf(strings.NewReader("Location: nowhere")); err == nil {
		t.Error("no error for a location that is no number")
	}
}
