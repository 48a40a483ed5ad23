package usdt

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nopfire/nopfire/urdt/abi"
)

// A SectionKind tells what a program is attached to, by the name of its section.
type SectionKind uint8

// The kinds of sections that this package attaches.
const (
	// SectionOther is any other section.
	SectionOther SectionKind = iota
	SectionUSDT
	SectionURDT
	SectionUprobe
	SectionTracepoint
	SectionRawTracepoint
	// SectionTracing is tp_btf, fentry, fexit and fmod_ret: what the
	// program is attached to is settled when it is loaded.
	SectionTracing
	SectionKprobe
	SectionLSM
	SectionIter
)

// A Section is what the name of a program's section, SEC("…"), says about where
// the program belongs.
type Section struct {
	Kind SectionKind
	// Optional is set by a leading '?': the program is not meant to be
	// attached by itself.
	Optional bool
	// Bare is set if the section does not say what to attach to, as "usdt"
	// alone: that is left to the caller.
	Bare bool
	// Sleepable programs may fault pages in.
	Sleepable bool

	// Path is the file with the probe or function; without a '/' it is
	// searched as a library or program. For SectionURDT it is what
	// URDTOptions.Path is.
	Path string
	// Provider and Probe are patterns for the probe, see Pattern; for
	// SectionURDT they are the name itself.
	Provider, Probe string
	// NArgs is the number of arguments of a SectionURDT.
	NArgs int
	// Function is the function of a uprobe or kprobe, and Offset the place in
	// it. For Multi it is a pattern, and stands for all functions that match.
	// Return tells that it is the return that is probed.
	Function      string
	Offset        uint64
	Multi, Return bool
	// Group and Name name a tracepoint. Raw tracepoints have no group.
	Group, Name string
}

// A SectionError says what is wrong with the name of a section.
type SectionError struct {
	// Section is the name, and Off the place in it where it goes wrong.
	Section string
	Off     int
	Msg     string
	// Want is the right form.
	Want string
}

func (e *SectionError) Error() string {
	return fmt.Sprintf("section %q: at byte %d: %s, want %s", e.Section, e.Off, e.Msg, e.Want)
}

// The right forms, for messages.
const (
	formUSDT          = "usdt/PATH:PROVIDER:NAME"
	formURDT          = "urdt/PATH:NARGS:PROVIDER:NAME"
	formUprobe        = "uprobe/PATH:FUNCTION[+OFFSET]"
	formUretprobe     = "uretprobe/PATH:FUNCTION"
	formUprobeMulti   = "uprobe.multi/PATH:PATTERN"
	formKprobe        = "kprobe/FUNCTION[+OFFSET]"
	formKretprobe     = "kretprobe/FUNCTION"
	formTracepoint    = "tracepoint/GROUP/NAME"
	formRawTracepoint = "raw_tp/NAME"
)

// ParseSection reads the name of a section, in the forms of libbpf
// (Documentation/bpf/libbpf/program_types.rst). An error is a *SectionError. A
// section of another kind is no error: it has the kind SectionOther.
//
//	[?] usdt[.s]                      [ / PATH : PROVIDER : NAME ]
//	[?] urdt[.s]                      [ / [PATH] : NARGS : PROVIDER : NAME ]
//	[?] u[ret]probe[.s]               [ / PATH : FUNCTION [ + OFFSET ] ]
//	[?] u[ret]probe.multi[.s]         [ / PATH : PATTERN ]
//	[?] tracepoint | tp               [ / GROUP / NAME ]
//	[?] raw_tracepoint | raw_tp [.w]  [ / NAME ]
//	[?] k[ret]probe                   [ / FUNCTION [ + OFFSET ] ]
//	[?] k[ret]syscall                 [ / NAME ]
//	[?] lsm[.s] | iter[.s]            [ / NAME ]
//	[?] tp_btf | fentry[.s] | fexit[.s] | fmod_ret[.s]  [ / NAME ]
func ParseSection(name string) (Section, error) {
	var s Section
	rest, optional := strings.CutPrefix(name, "?")
	s.Optional = optional
	word, rest, slash := strings.Cut(rest, "/")
	at := len(name) - len(rest)
	s.Bare = !slash
	p := &sectionParser{name: name, at: at, rest: rest}

	base, sleepable := strings.CutSuffix(word, ".s")
	switch base {
	case "usdt":
		s.Kind, s.Sleepable = SectionUSDT, sleepable
		p.want = strings.Replace(formUSDT, "usdt", word, 1)
		if slash {
			s.Path = p.until(":", "path")
			s.Provider = p.until(":", "provider")
			s.Probe = p.last("name", ":")
		}
	case "urdt":
		s.Kind, s.Sleepable = SectionURDT, sleepable
		p.want = strings.Replace(formURDT, "urdt", word, 1)
		if slash {
			if rest, ok := strings.CutPrefix(p.rest, ":"); ok {
				p.at, p.rest = p.at+1, rest
			} else {
				s.Path = p.until(":", "path")
			}
			s.arity(p)
			s.Provider = p.until(":", "provider")
			s.Probe = p.last("name", ":")
		}
	case "uprobe", "uretprobe":
		s.Kind, s.Sleepable, s.Return = SectionUprobe, sleepable, base == "uretprobe"
		form := formUprobe
		if s.Return {
			form = formUretprobe
		}
		p.want = strings.Replace(form, base, word, 1)
		if slash {
			s.Path = p.until(":", "path")
			s.function(p)
		}
	case "uprobe.multi", "uretprobe.multi":
		s.Kind, s.Sleepable, s.Multi, s.Return = SectionUprobe, sleepable, true, base == "uretprobe.multi"
		p.want = strings.Replace(formUprobeMulti, "uprobe.multi", word, 1)
		if slash {
			s.Path = p.until(":", "path")
			s.Function = p.last("pattern", "/:")
		}
	case "tp_btf", "fentry", "fexit", "fmod_ret":
		s.Kind, s.Sleepable = SectionTracing, sleepable
		p.want = word + "/NAME"
		if slash {
			s.Name = p.last("name", "/")
		}
	case "lsm", "iter":
		s.Kind, s.Sleepable = SectionLSM, sleepable
		if base == "iter" {
			s.Kind = SectionIter
		}
		p.want = word + "/NAME"
		if slash {
			s.Name = p.last("name", "/")
		}
	case "kprobe", "kretprobe":
		if sleepable {
			break
		}
		s.Kind, s.Return = SectionKprobe, base == "kretprobe"
		p.want = formKprobe
		if s.Return {
			p.want = formKretprobe
		}
		if slash {
			s.function(p)
		}
	case "ksyscall", "kretsyscall":
		if sleepable {
			break
		}
		s.Kind, s.Return = SectionKprobe, base == "kretsyscall"
		p.want = word + "/NAME"
		if slash {
			s.Function = "sys_" + p.last("name", "/+:")
		}
	case "tracepoint", "tp":
		if sleepable {
			break
		}
		s.Kind = SectionTracepoint
		p.want = strings.Replace(formTracepoint, "tracepoint", word, 1)
		if slash {
			s.Group = p.until("/", "group")
			s.Name = p.last("name", "/")
		}
	case "raw_tracepoint", "raw_tp", "raw_tracepoint.w", "raw_tp.w":
		if sleepable {
			break
		}
		s.Kind = SectionRawTracepoint
		p.want = strings.Replace(formRawTracepoint, "raw_tp", word, 1)
		if slash {
			s.Name = p.last("name", "/")
		}
	default:
		// What begins like ours and goes on otherwise would be dropped
		// without a word: "usdt:/bin/x:a:b". The RFC of URDT writes "urdt:",
		// and "udrt/" where it means "urdt/".
		if after, ok := strings.CutPrefix(base, "udrt"); ok {
			p.want = formURDT
			p.fail(strings.Index(name, base), fmt.Sprintf("%q", "udrt"+after))
		}
		for _, w := range []string{"usdt", "urdt", "uprobe", "uretprobe"} {
			after, ok := strings.CutPrefix(base, w)
			if !ok || after == ".session" {
				continue
			}
			p.want = map[string]string{"usdt": formUSDT, "urdt": formURDT, "uprobe": formUprobe, "uretprobe": formUretprobe}[w]
			p.fail(strings.Index(name, w)+len(w), fmt.Sprintf("%q behind %q", after, w))
		}
	}
	if p.err != nil {
		return Section{}, p.err
	}
	return s, nil
}

// arity reads NARGS.
func (s *Section) arity(p *sectionParser) {
	start := p.at
	text := p.until(":", "number of arguments")
	n, err := strconv.ParseUint(text, 10, 8)
	if p.err == nil && (err != nil || n > abi.MaxArgs) {
		p.fail(start, fmt.Sprintf("%q is no number of arguments within 0..%d", text, abi.MaxArgs))
	}
	s.NArgs = int(n)
}

// function reads FUNCTION[+OFFSET].
func (s *Section) function(p *sectionParser) {
	start := p.at
	text := p.last("function", ":")
	name, offset, plus := strings.Cut(text, "+")
	if name == "" && text != "" {
		p.fail(start, "no function")
	}
	s.Function = name
	if !plus {
		return
	}
	n, err := strconv.ParseUint(offset, 0, 63)
	switch {
	case err != nil:
		p.fail(start+len(name)+1, fmt.Sprintf("offset %q is no number", offset))
	case s.Return && n != 0:
		p.fail(start+len(name), "an offset, which the return of a function has not")
	}
	s.Offset = n
}

// A sectionParser cuts the part of a name behind the first slash to pieces. It
// keeps the first error.
type sectionParser struct {
	name, rest, want string
	at               int // of rest in name
	err              error
}

func (p *sectionParser) fail(at int, msg string) {
	if p.err == nil {
		p.err = &SectionError{p.name, at, msg, p.want}
	}
}

// until returns what stands before a separator, and moves behind it.
func (p *sectionParser) until(sep, what string) string {
	text, rest, ok := strings.Cut(p.rest, sep)
	switch {
	case p.err != nil:
		return ""
	case text == "":
		p.fail(p.at, "no "+what)
	case !ok:
		p.fail(len(p.name), fmt.Sprintf("no %q behind the %s", sep, what))
	}
	p.at += len(text) + len(sep)
	p.rest = rest
	return text
}

// last returns the rest, in which the given characters must not stand.
func (p *sectionParser) last(what, without string) string {
	if p.err != nil {
		return ""
	}
	if p.rest == "" {
		p.fail(p.at, "no "+what)
	}
	if i := strings.IndexAny(p.rest, without); i >= 0 {
		p.fail(p.at+i, fmt.Sprintf("%q in the %s", p.rest[i:i+1], what))
	}
	return p.rest
}
