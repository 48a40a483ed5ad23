package trace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"syscall"
	"time"
)

// The record of one event, as a program of this package writes it into the ring
// buffer, in the byte order of the machine:
//
//	 0  time    u64  CLOCK_BOOTTIME, ns
//	 8  cookie  u64  index of the probe in its session
//	16  tid     u32
//	20  pid     u32
//	24  cpu     u32
//	28  -       u32
//	32  comm    [16]byte
//	48  slots   one for each load, 16 bytes:
//	              0  value   u64  integer, or address of the string or bytes
//	              8  status  s64  negative errno, or what the load says
//	    areas   room for the strings and bytes, 8-byte aligned
//
// All offsets are constants of a layout, so is the size: the verifier needs a
// constant size to reserve, and a record written in place needs neither a copy
// nor a scratch map. (A per-CPU scratch map would be wrong here: uprobe programs
// run with migration off but preemption on, kernel/trace/bpf_trace.c
// uprobe_prog_run, so a second task could write over the first one's scratch.)
const (
	offTime   = 0
	offCookie = 8
	offTID    = 16
	offPID    = 20
	offCPU    = 24
	offComm   = 32
	commLen   = 16 // TASK_COMM_LEN, include/linux/sched.h
	headerLen = offComm + commLen

	slotLen    = 16
	slotStatus = 8
)

// header is the fixed part of a record.
type header struct {
	time     time.Duration // since boot
	cookie   uint64
	tid, pid uint32
	cpu      uint32
	comm     [commLen]byte
}

// parseHeader reads the fixed part of a record.
func parseHeader(rec []byte) (header, error) {
	if len(rec) < headerLen {
		return header{}, fmt.Errorf("record of %d bytes is shorter than its header", len(rec))
	}
	order := binary.NativeEndian
	return header{
		time:   time.Duration(order.Uint64(rec[offTime:])),
		cookie: order.Uint64(rec[offCookie:]),
		tid:    order.Uint32(rec[offTID:]),
		pid:    order.Uint32(rec[offPID:]),
		cpu:    order.Uint32(rec[offCPU:]),
		comm:   [commLen]byte(rec[offComm:]),
	}, nil
}

// cString returns what stands before the first NUL.
func cString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// op is what a load does with its argument.
type op uint8

const (
	opWord   op = iota // keep the value
	opString           // follow it to NUL-terminated bytes
	opBytes            // follow it to as many bytes as another argument says
	opHeader           // follow it to an address and a number of bytes, and these to the bytes
	opComm             // the name of the thread, which is no argument
)

// follows reports whether the value is an address of bytes, which need an area.
func (o op) follows() bool { return o == opString || o == opBytes || o == opHeader }

// form is how the word or the bytes of a load become a Value.
type form uint8

const (
	formInt form = iota
	formUint
	formBool
	formFloat32
	formFloat64
	formPointer
	formString
	formBytes
	formCounted // a string whose length is another argument
	formComm    // the name of the thread
)

// op returns the load that the form needs.
func (f form) op() op {
	switch f {
	case formString:
		return opString
	case formBytes, formCounted:
		return opBytes
	case formComm:
		return opComm
	}
	return opWord
}

// A field is one value of a probe on its way from the record, or the key, to a Value.
type field struct {
	name, typ string
	form      form
	load      int   // index of its load, in a key
	slot      int   // offset of its slot
	area      int   // offset of its area, for opString and opBytes
	max       int   // the limit on strings and bytes
	err       error // why it is never loaded; then these four mean nothing
}

// blank returns the value before it is read.
func (f *field) blank() Value { return Value{Name: f.name, Type: f.typ, Err: f.err} }

// read reads the field, unless it is the name of the thread, from a record into a
// blank value. The record is as long as the layout says.
func (f *field) read(v *Value, rec []byte) {
	if f.err != nil {
		return
	}
	order := binary.NativeEndian
	word := order.Uint64(rec[f.slot:])
	status := int64(order.Uint64(rec[f.slot+slotStatus:]))
	switch {
	case f.form.op() == opWord:
		f.word(v, word, status)
	case word == 0 && status == 0: // NULL
	case status < 0:
		v.Err = fmt.Errorf("read %s at %v: %w", printable(f.typ), Pointer(word), syscall.Errno(-status))
	default:
		f.followed(v, rec, status)
	}
}

// readKey reads the field from a key into a blank value.
func (f *field) readKey(v *Value, key []byte) {
	if f.err != nil {
		return
	}
	if f.form == formComm {
		v.Value = cString(key[f.area : f.area+commLen])
		return
	}
	order := binary.NativeEndian
	word := order.Uint64(key[f.slot:])
	if f.form.op() == opWord {
		status := int64(0)
		if order.Uint64(key[keyUnread:])&(1<<f.load) != 0 {
			status = -int64(syscall.EFAULT) // what bpf_probe_read_user says
		}
		f.word(v, word, status)
		return
	}
	switch status := int64(word); {
	case status == keyNULL:
	case status < 0:
		v.Err = fmt.Errorf("read %s: %w", printable(f.typ), syscall.Errno(-status))
	default:
		f.followed(v, key, status)
	}
}

// word reads a word, or says why there is none.
func (f *field) word(v *Value, word uint64, status int64) {
	if status < 0 {
		v.Err = fmt.Errorf("read argument: %w", syscall.Errno(-status))
		return
	}
	switch f.form {
	case formInt:
		v.Value = int64(word)
	case formUint:
		v.Value = word
	case formBool:
		v.Value = word != 0
	case formFloat32:
		v.Value = float64(math.Float32frombits(uint32(word)))
	case formFloat64:
		v.Value = math.Float64frombits(word)
	case formPointer:
		v.Value = Pointer(word)
	}
}

// followed reads a string or bytes: status is how many bytes stand in the area, the
// NUL of a string included.
func (f *field) followed(v *Value, rec []byte, status int64) {
	n := int(status)
	if f.form == formString && n > 0 {
		// bpf_probe_read_user_str counts the NUL, but on older kernels, as 6.1, not
		// that of an empty string (strncpy_from_user_nofault, mm/maccess.c).
		n--
	}
	if n < 0 || f.area+n > len(rec) {
		v.Err = fmt.Errorf("read %s: impossible length %d", printable(f.typ), n)
		return
	}
	if n > f.max {
		n, v.Truncated = f.max, true
	}
	data := rec[f.area : f.area+n]
	if f.form == formBytes {
		v.Value = bytes.Clone(data)
	} else {
		v.Value = string(data)
	}
}

// areaLen returns the room that a string or bytes of up to max bytes needs: one
// byte more, to tell a cut value from one that just fits, and one for the NUL.
func areaLen(max int) int { return (max + 2 + 7) &^ 7 }
