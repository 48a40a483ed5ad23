package bpfc

import (
	"cmp"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/spec"
)

// A VerifierError is the kernel's refusal of a program, with the line of C that it
// is about.
type VerifierError struct {
	// Diagnostic is the place, with what the verifier says.
	Diagnostic
	// Program is the name of the program, and Log are the last lines of what
	// the verifier wrote, up to the message.
	Program string
	Log     []string
	// Err is the error of loading.
	Err error
}

// Error returns the diagnostic as its String does, the program, and the end of the
// verifier's log:
//
//	prog.bpf.c:12:5: verifier: R0 invalid mem access 'map_value_or_null'
//	    *count += 1;
//	    ^
//	program on_hit, the end of the verifier's log:
//	    14: (85) call bpf_map_lookup_elem#1
//	    15: (79) r1 = *(u64 *)(r0 +0)
//	    R0 invalid mem access 'map_value_or_null'
func (e *VerifierError) Error() string {
	var b strings.Builder
	b.WriteString(e.Diagnostic.String())
	b.WriteString("\nprogram " + e.Program + ", the end of the verifier's log:")
	for _, line := range e.Log {
		b.WriteString("\n    " + line)
	}
	return b.String()
}

// Unwrap returns the error of loading, and the diagnostic.
func (e *VerifierError) Unwrap() []error { return []error{e.Err, &e.Diagnostic} }

// maxLog is how many lines of a log are shown: some steps before the last, with
// the lines of C between them.
const maxLog = 12

// Explain adds to an error of loading a collection which line of C it is about: the
// result is a *VerifierError. cs is the specification that was loaded. Any other
// error than a refusal by the verifier, and one of a program without line
// information, is returned as it is.
func Explain(cs *ebpf.CollectionSpec, err error) error {
	var refusal *ebpf.VerifierError
	if !errors.As(err, &refusal) || cs == nil {
		return err
	}
	p := refusedProgram(cs, err)
	if p == nil {
		return err
	}
	r := readLog(refusal.Log)
	if r.msg == "" {
		return err
	}
	line := lineOf(p, r.insn)
	if line == nil {
		return err
	}
	return &VerifierError{
		Diagnostic: Diagnostic{
			File: line.FileName(), Line: int(line.LineNumber()), Col: int(line.LineColumn()),
			Msg: "verifier: " + cmp.Or(missing(p, r.msg), r.msg), Text: line.Line(),
		},
		Program: p.Name, Log: r.tail, Err: err,
	}
}

// programName finds the program in what cilium/ebpf says of a collection that
// cannot be loaded.
var programName = regexp.MustCompile(`\bprogram (\w+): `)

func refusedProgram(cs *ebpf.CollectionSpec, err error) *ebpf.ProgramSpec {
	for _, m := range programName.FindAllStringSubmatch(err.Error(), -1) {
		if p := cs.Programs[m[1]]; p != nil {
			return p
		}
	}
	if len(cs.Programs) == 1 {
		for _, p := range cs.Programs {
			return p
		}
	}
	return nil
}

// A refusal is what a log says at its end.
type refusal struct {
	msg  string
	insn int      // the instruction that it is about, in the numbers of the kernel
	tail []string // of the log, up to the message
}

var (
	// The lines of a log that are instructions: "14: (85) call bpf_loop#181".
	stepLine = regexp.MustCompile(`^(\d+): \(`)
	// Those that are neither steps nor messages: states of registers and of the
	// stack, lines of C, and what is counted at the end
	// (kernel/bpf/verifier.c, print_verification_stats).
	otherLine = regexp.MustCompile(`^(;|\d+: (R\d|frame|\S*=)|from \d+ to \d+|R\d+(_\w+)?=|func#\d+ @|Func#\d+ .* is (global|safe)|Validating |mark_precise|last_idx |parent |regs=|(cur|old) state:|processed \d+ insns|verification time |stack depth |max_states|reg type unsupported for arg)`)
	// A message that says which instruction it is about.
	insnInText = regexp.MustCompile(`\binsn (\d+)\b`)
)

// readLog finds the message in a log of the verifier: what stands at its end,
// behind the last instruction.
func readLog(log []string) refusal {
	end := len(log)
	var r refusal
	var msg []string
	for i := len(log) - 1; i >= 0; i-- {
		line := strings.TrimSpace(log[i])
		if m := stepLine.FindStringSubmatch(line); m != nil {
			r.insn, _ = strconv.Atoi(m[1])
			break
		}
		if line == "" || otherLine.MatchString(line) {
			if len(msg) == 0 {
				end = i
			}
			continue
		}
		msg = append([]string{line}, msg...)
	}
	r.msg = strings.Join(msg, "; ")
	if m := insnInText.FindStringSubmatch(r.msg); m != nil {
		r.insn, _ = strconv.Atoi(m[1])
	}
	for _, line := range log[max(0, end-maxLog):end] {
		r.tail = append(r.tail, strings.TrimRight(line, " \t"))
	}
	return r
}

// unknownHelper is what the verifier says of a helper that does not exist. Where
// code asks for something that the kernel lacks there is one that tells what.
var unknownHelper = regexp.MustCompile(`\bunknown#(\d+)`)

// missing returns what is to be said of it, "" if the refusal is about something
// else.
func missing(p *ebpf.ProgramSpec, msg string) string {
	m := unknownHelper.FindStringSubmatch(msg)
	if m == nil {
		return ""
	}
	for i := range p.Instructions {
		f := btf.FuncMetadata(&p.Instructions[i])
		if f == nil {
			continue
		}
		for _, tag := range f.Tags {
			if name, ok := strings.CutPrefix(tag, spec.MissingTag+m[1]+":"); ok {
				return "the kernel has no " + name
			}
		}
	}
	return ""
}

// lineOf returns the line of C that an instruction of a program belongs to.
func lineOf(p *ebpf.ProgramSpec, insn int) *btf.Line {
	var line *btf.Line
	for iter := p.Instructions.Iterate(); iter.Next() && int(iter.Offset) <= insn; {
		if l, ok := iter.Ins.Source().(*btf.Line); ok {
			line = l
		}
	}
	return line
}
