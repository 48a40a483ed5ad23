package usdt_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

// manyNotes returns an image with n notes, each of a probe of its own.
func manyNotes(t testing.TB, n int) []byte {
	t.Helper()
	image := bytes.Clone(build(t, stapsdt.X86_64))
	loc := open(t, image).Probes[0].Locations[0]
	sec := section(t, image, stapsdt.Section)
	var notes []byte
	for i := range n {
		var err error
		notes, err = stapsdt.AppendNote(notes, stapsdt.X86_64, &stapsdt.Note{
			Provider: "app", Name: fmt.Sprintf("probe%d", i), Location: loc.Address,
			Args: fmt.Sprintf("-4@%%edi 8@-%d(%%rbp) 8@$%d", i, i),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	editHeader(image, sec, func(h []byte) {
		binary.LittleEndian.PutUint64(h[24:], uint64(len(image)))
		binary.LittleEndian.PutUint64(h[32:], uint64(len(notes)))
	})
	return append(image, notes...)
}

// A file with 400,000 notes, all different. The heap that is in use afterwards
// is reported too.
func BenchmarkNewFile400k(b *testing.B) {
	const n = 400_000
	image := manyNotes(b, n)
	b.ReportAllocs()
	for b.Loop() {
		f, err := usdt.NewFile(bytes.NewReader(image), int64(len(image)))
		if err != nil || len(f.Probes) != n {
			b.Fatal(len(f.Probes), err, f.Problems)
		}
	}
}
