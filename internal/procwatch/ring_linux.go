package procwatch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/nopfire/nopfire/internal/feature"
)

// A ring is the perf event of one CPU with its buffer.
type ring struct {
	cpu  int
	fd   int
	dead bool   // poll says that nothing will come
	mem  []byte // the control page and the data behind it
	head *uint64
	tail *uint64
	data []byte

	wrapped []byte // room for a record that goes around the end
}

// openRing opens the event of a CPU, with a buffer of up to size bytes.
func openRing(cpu, size int) (*ring, error) {
	attr := unix.PerfEventAttr{
		Type:        unix.PERF_TYPE_SOFTWARE,
		Size:        uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Config:      unix.PERF_COUNT_SW_DUMMY,
		Sample_type: unix.PERF_SAMPLE_TIME,
		Bits: unix.PerfBitMmap | unix.PerfBitMmap2 | unix.PerfBitComm | unix.PerfBitCommExec | unix.PerfBitTask |
			unix.PerfBitSampleIDAll | unix.PerfBitWatermark | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv | unix.PerfBitUseClockID,
		Wakeup:  1,                    // bytes: every record
		Clockid: unix.CLOCK_MONOTONIC, // the default differs between CPUs
	}
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, feature.Explain(fmt.Sprintf("watch the mappings of all processes on cpu %d", cpu), os.NewSyscallError("perf_event_open", err), feature.CapPerfmon)
	}
	r := &ring{cpu: cpu, fd: fd}
	page := os.Getpagesize()
	for {
		r.mem, err = unix.Mmap(fd, 0, page+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		// EPERM: beyond perf_event_mlock_kb and RLIMIT_MEMLOCK together.
		if err == nil || !(errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOMEM)) || size <= minBuffer() {
			break
		}
		size /= 2
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("watch cpu %d: map a buffer of %d bytes: %w", cpu, size, err)
	}
	ctl := (*unix.PerfEventMmapPage)(unsafe.Pointer(&r.mem[0]))
	r.head, r.tail = &ctl.Data_head, &ctl.Data_tail
	r.data = r.mem[page:]
	return r, nil
}

// minBuffer is the smallest buffer: two of the longest records fit.
func minBuffer() int { return max(4*4096, os.Getpagesize()) }

// pending reports whether there is something to read.
func (r *ring) pending() bool { return atomic.LoadUint64(r.head) != *r.tail }

// read calls f with each record that stands in the buffer, and gives its room
// back. f must not keep the bytes. It reports whether records may have been lost
// because the buffer was full: the kernel tells of a loss no sooner than with the
// next record, which may be long in coming, so a buffer without room for the
// longest record counts as overrun.
func (r *ring) read(f func(rec []byte)) (overrun bool) {
	head := atomic.LoadUint64(r.head)
	tail := *r.tail // written here only
	size := uint64(len(r.data))
	overrun = size-(head-tail) < maxRecord
	for tail != head {
		at := tail & (size - 1)
		// Records are multiples of 8 bytes, so a header is never cut.
		n := uint64(binary.NativeEndian.Uint16(r.data[at+6:]))
		if n < headerLen || n > head-tail {
			overrun, tail = true, head // cannot be: start over
			break
		}
		rec := r.data[at:min(at+n, size)]
		if uint64(len(rec)) < n {
			r.wrapped = append(append(r.wrapped[:0], rec...), r.data[:n-uint64(len(rec))]...)
			rec = r.wrapped
		}
		f(rec)
		tail += n
	}
	atomic.StoreUint64(r.tail, tail)
	return overrun
}

func (r *ring) close() error {
	return errors.Join(unix.Munmap(r.mem), unix.Close(r.fd))
}
