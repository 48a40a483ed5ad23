package procwatch

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/internal/procmaps"
)

// record puts a record together: its header, the fields (uint32, uint64, and
// strings, which are padded), and the time.
func record(typ uint32, misc uint16, time uint64, fields ...any) []byte {
	order := binary.NativeEndian
	rec := make([]byte, headerLen)
	for _, f := range fields {
		switch f := f.(type) {
		case uint32:
			rec = order.AppendUint32(rec, f)
		case uint64:
			rec = order.AppendUint64(rec, f)
		case string:
			rec = append(rec, f...)
			rec = append(rec, make([]byte, 8-len(f)%8)...)
		}
	}
	rec = order.AppendUint64(rec, time)
	order.PutUint32(rec, typ)
	order.PutUint16(rec[4:], misc)
	order.PutUint16(rec[6:], uint16(len(rec)))
	return rec
}

func mmap2(pid uint32, ino uint64, prot, flags uint32, name string) []byte {
	return record(recordMmap2, 0, 9, pid, pid+1, uint64(0x1000), uint64(0x2000), uint64(0x3000),
		uint32(8), uint32(1), ino, uint64(77), prot, flags, name)
}

func TestParseRecord(t *testing.T) {
	lib := procmaps.Mapping{Start: 0x1000, End: 0x3000, Off: 0x3000, Perms: procmaps.Read | procmaps.Exec, Major: 8, Minor: 1, Inode: 5, Path: "/lib/a.so"}
	memfd := lib
	memfd.Path, memfd.Deleted, memfd.Perms = "/memfd:x", true, procmaps.Read|procmaps.Exec|procmaps.Shared
	for _, tt := range []struct {
		name string
		rec  []byte
		want Event // zero: says nothing
		lost bool
	}{
		{"a library", mmap2(7, 5, protRead|protExec, 2, "/lib/a.so"), Event{Kind: Map, Time: 9, PID: 7, TID: 8, Mapping: lib}, false},
		{"a shared memfd", mmap2(7, 5, protRead|protExec, mapShared, "/memfd:x (deleted)"), Event{Kind: Map, Time: 9, PID: 7, TID: 8, Mapping: memfd}, false},
		{"no file", mmap2(7, 0, protRead|protExec, 2, "//anon"), Event{}, false},
		{"not executable", mmap2(7, 5, protRead|protWrite, 2, "/lib/a.so"), Event{}, false},
		{"of another pid namespace", mmap2(0, 5, protExec, 2, "/lib/a.so"), Event{}, false},
		{"of a process that is dead already", mmap2(1<<32-1, 5, protExec, 2, "/lib/a.so"), Event{}, false},
		{"a build id instead of an inode", func() []byte {
			rec := mmap2(7, 5, protExec, 2, "/lib/a.so")
			binary.NativeEndian.PutUint16(rec[4:], miscBuildID)
			return rec
		}(), Event{}, false},
		{"fork", record(recordFork, 0, 9, uint32(8), uint32(7), uint32(8), uint32(7), uint64(1)), Event{Kind: Fork, Time: 9, PID: 8, Parent: 7, TID: 8}, false},
		{"a new thread", record(recordFork, 0, 9, uint32(7), uint32(7), uint32(9), uint32(7), uint64(1)), Event{}, false},
		{"exit", record(recordExit, 0, 9, uint32(7), uint32(1), uint32(8), uint32(1), uint64(1)), Event{Kind: Exit, Time: 9, PID: 7, TID: 8}, false},
		{"exec", record(recordComm, miscExec, 9, uint32(7), uint32(7), "true"), Event{Kind: Exec, Time: 9, PID: 7, TID: 7}, false},
		{"a name", record(recordComm, 0, 9, uint32(7), uint32(7), "worker"), Event{}, false},
		{"lost", record(recordLost, 0, 9, uint64(1), uint64(12)), Event{}, true},
		{"throttle", record(5, 0, 9, uint64(1), uint64(12), uint64(3)), Event{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev, lost, ok, err := parseRecord(tt.rec)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				ev = Event{}
			}
			if diff := cmp.Diff(tt.want, ev); diff != "" || lost != tt.lost {
				t.Errorf("lost %t (-want +got):\n%s", lost, diff)
			}
		})
	}
}

func TestParseRecordRefuses(t *testing.T) {
	whole := mmap2(7, 5, protExec, 2, "/lib/a.so")
	cut := func(n int) []byte {
		rec := append([]byte(nil), whole[:n]...)
		if n >= headerLen {
			binary.NativeEndian.PutUint16(rec[6:], uint16(n))
		}
		return rec
	}
	for _, tt := range []struct {
		name string
		rec  []byte
		want string
	}{
		{"nothing", nil, "0 bytes: wrong size"},
		{"half a header", cut(4), "4 bytes: wrong size"},
		{"a size that is not its own", whole[:len(whole)-8], "wrong size"},
		{"no room for the fields", cut(headerLen + mmap2Len), "too few"},
		{"a task record cut", record(recordFork, 0, 9, uint32(7)), "too few"},
		{"a lost record cut", record(recordLost, 0, 9), "too few"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, ok, err := parseRecord(tt.rec)
			if ok || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add(mmap2(7, 5, protRead|protExec, 2, "/lib/a.so"))
	f.Add(mmap2(7, 5, protExec, mapShared, "/memfd:x (deleted)"))
	f.Add(record(recordFork, 0, 9, uint32(8), uint32(7), uint32(8), uint32(7), uint64(1)))
	f.Add(record(recordComm, miscExec, 9, uint32(7), uint32(7), "true"))
	f.Add(record(recordLost, 0, 9, uint64(1), uint64(12)))
	f.Fuzz(func(t *testing.T, rec []byte) {
		ev, lost, ok, err := parseRecord(rec)
		switch {
		case err != nil && (ok || lost):
			t.Error("an event beside an error")
		case !ok:
			return
		case ev.PID <= 0 || ev.Kind < Map || ev.Kind > Exit:
			t.Errorf("event %+v", ev)
		case ev.Kind == Map && (ev.Mapping.Inode == 0 || ev.Mapping.Perms&procmaps.Exec == 0):
			t.Errorf("event %+v is about no executable file", ev)
		case ev.Kind == Fork && ev.PID == ev.Parent:
			t.Errorf("event %+v is about a thread", ev)
		}
	})
}
