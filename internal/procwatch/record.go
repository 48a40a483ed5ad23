package procwatch

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/nopfire/nopfire/internal/procmaps"
)

// The records, from enum perf_event_type of include/uapi/linux/perf_event.h, all
// in the byte order of the machine:
//
//	header  type u32, misc u16, size u16 (of the whole record)
//	MMAP2   pid u32, tid u32, addr u64, len u64, pgoff u64,
//	        maj u32, min u32, ino u64, ino_generation u64, prot u32, flags u32,
//	        filename: NUL-terminated, zeros up to a multiple of 8
//	COMM    pid u32, tid u32, comm: as filename
//	FORK    pid u32, ppid u32, tid u32, ptid u32, time u64
//	EXIT    as FORK
//	LOST    id u64, lost u64
//
// each followed by the fields that sample_id_all asks for, here the time (u64).
const (
	recordLost  = 2
	recordComm  = 3
	recordExit  = 4
	recordFork  = 7
	recordMmap2 = 10

	headerLen  = 8
	trailerLen = 8 // sample_type PERF_SAMPLE_TIME
	mmap2Len   = 64
	commLen    = 8
	taskLen    = 24
	lostLen    = 16

	miscExec    = 1 << 13 // PERF_RECORD_MISC_COMM_EXEC
	miscBuildID = 1 << 14 // PERF_RECORD_MISC_MMAP_BUILD_ID: no inode number

	// From include/uapi/asm-generic/mman-common.h and linux/mman.h.
	protRead, protWrite, protExec = 1, 2, 4
	mapShared                     = 1

	// maxRecord bounds the records that a watcher asks for: an MMAP2 record
	// with a filename of PATH_MAX.
	maxRecord = headerLen + mmap2Len + 4096 + trailerLen
)

// parseRecord reads one record, header included. It returns false for a record
// that says nothing here, and an error for one that is not as the kernel writes
// it.
func parseRecord(rec []byte) (ev Event, lost, ok bool, err error) {
	order := binary.NativeEndian
	if len(rec) < headerLen || int(order.Uint16(rec[6:])) != len(rec) {
		return ev, false, false, fmt.Errorf("perf record of %d bytes: wrong size", len(rec))
	}
	typ, misc := order.Uint32(rec), order.Uint16(rec[4:])
	var n int
	switch typ {
	case recordLost:
		n = lostLen
	case recordComm:
		n = commLen
	case recordExit, recordFork:
		n = taskLen
	case recordMmap2:
		n = mmap2Len
	default:
		return ev, false, false, nil
	}
	if len(rec) < headerLen+n+trailerLen {
		return ev, false, false, fmt.Errorf("perf record of type %d: %d bytes are too few", typ, len(rec))
	}
	ev.Time = order.Uint64(rec[len(rec)-trailerLen:])
	body := rec[headerLen : len(rec)-trailerLen]
	pid := func(off int) int { return int(int32(order.Uint32(body[off:]))) }
	switch typ {
	case recordLost:
		return ev, true, false, nil
	case recordComm:
		ev.Kind, ev.PID, ev.TID = Exec, pid(0), pid(4)
		ok = misc&miscExec != 0
	case recordFork:
		// pid, ppid, tid, ptid. A new thread has its parent's pid.
		ev.Kind, ev.PID, ev.Parent, ev.TID = Fork, pid(0), pid(4), pid(8)
		ok = ev.PID != ev.Parent
	case recordExit:
		ev.Kind, ev.PID, ev.TID = Exit, pid(0), pid(8)
		ok = true
	case recordMmap2:
		ev.Kind, ev.PID, ev.TID = Map, pid(0), pid(4)
		ev.Mapping = parseMmap2(body)
		ok = misc&miscBuildID == 0 && ev.Mapping.Inode != 0 && ev.Mapping.Perms&procmaps.Exec != 0
	}
	// A process outside the PID namespace is 0 or -1 (perf_event_pid_type in
	// kernel/events/core.c): nothing in /proc belongs to it.
	return ev, false, ok && ev.PID > 0, nil
}

// parseMmap2 reads the body of an MMAP2 record.
func parseMmap2(body []byte) procmaps.Mapping {
	order := binary.NativeEndian
	m := procmaps.Mapping{
		Start: order.Uint64(body[8:]),
		Off:   order.Uint64(body[24:]),
		Major: order.Uint32(body[32:]), Minor: order.Uint32(body[36:]),
		Inode: order.Uint64(body[40:]),
	}
	m.End = m.Start + order.Uint64(body[16:])
	prot, flags := order.Uint32(body[56:]), order.Uint32(body[60:])
	for _, bit := range []struct {
		set  bool
		perm procmaps.Perms
	}{
		{prot&protRead != 0, procmaps.Read}, {prot&protWrite != 0, procmaps.Write},
		{prot&protExec != 0, procmaps.Exec}, {flags&mapShared != 0, procmaps.Shared},
	} {
		if bit.set {
			m.Perms |= bit.perm
		}
	}
	name, _, _ := bytes.Cut(body[mmap2Len:], []byte{0})
	name, m.Deleted = bytes.CutSuffix(name, []byte(" (deleted)"))
	m.Path = string(name)
	return m
}
