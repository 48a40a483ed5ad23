package usdt

import (
	"errors"
	"maps"
	"slices"

	"github.com/cilium/ebpf/link"
)

// AutoOptions say how to attach by section names. A nil *AutoOptions is the zero
// value.
type AutoOptions struct {
	// PID is the process to trace with USDT probes, URDT and uprobes; 0: every
	// process, also later ones.
	PID int
	// Cookie is that of USDT probes, for bpf_usdt_cookie.
	Cookie uint64
	// URDTCookie is the low half of what bpf_usdt_cookie returns in programs
	// for tracepoints of URDT, and what bpf_urdt_cookie returns.
	URDTCookie uint32
}

// Attached is what AutoAttach made.
type Attached struct {
	// Links holds the links of each program, by its name.
	Links map[string][]link.Link
	// Left are the programs that were not attached, each with the reason.
	Left []LeftProgram
	// Problems are faults beside which programs were attached: locations that
	// were left out, as by Options.LeftOut, and notes that cannot be read.
	Problems []error
}

// A LeftProgram is a program that AutoAttach did not attach.
type LeftProgram struct {
	Program, Section string
	// Err wraps ErrLeftToCaller or ErrUnknownSection.
	Err error
}

// Why a program is left alone.
var (
	// ErrLeftToCaller: the section says what the program is for, but not
	// what to attach it to, or it is marked as optional with a '?'.
	ErrLeftToCaller = errors.New("left to the caller")
	// ErrUnknownSection: the section is not one that AutoAttach attaches.
	ErrUnknownSection = errors.New("section is not attached automatically")
)

// Close closes all links.
func (a *Attached) Close() error {
	var all []link.Link
	for _, name := range slices.Sorted(maps.Keys(a.Links)) {
		all = append(all, a.Links[name]...)
	}
	return closeAll(all)
}

// AutoAttach attaches the programs of a collection to what their sections name:
// SEC("usdt/PATH:PROVIDER:NAME") and SEC("usdt.s/…") to USDT probes, where
// PROVIDER and NAME may be patterns, and a PATH of AnyObject stands for all that
// the process, or any process, has mapped; SEC("urdt/PATH:NARGS:PROVIDER:NAME") to
// tracepoints that are defined at run time, see AttachURDT; uprobe, uretprobe and
// their .multi forms, kprobe, kretprobe, ksyscall, kretsyscall, tracepoint, raw_tp,
// tp_btf, fentry, fexit, fmod_ret, lsm and iter as libbpf does. A program whose
// section names nothing, as SEC("usdt"), is left to the caller, and one in any other
// section is reported: see Attached.Left.
//
// If one of them cannot be attached, none remains attached, and the error names
// each program that is in the way. The caller closes the result.
func AutoAttach(c *Collection, opts *AutoOptions) (*Attached, error) {
	return c.Manager.AutoAttach(opts)
}
