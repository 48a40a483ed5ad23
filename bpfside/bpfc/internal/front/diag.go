package front

import (
	"regexp"
	"strconv"
	"strings"

	"modernc.org/cc/v4"
	"modernc.org/token"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// maxDiags bounds what is said of one unit; a missing header makes hundreds.
const maxDiags = 50

// pos returns where a node is. A token that a macro made is where the macro is
// used.
func (u *unit) pos(at cc.Node) ir.Pos {
	if at == nil {
		return ir.Pos{}
	}
	return u.posOf(at.Position())
}

func (u *unit) posOf(p token.Position) ir.Pos {
	if p.Line == 0 {
		return ir.Pos{}
	}
	f := u.src.file(p.Filename)
	if f == nil {
		return ir.Pos{}
	}
	return ir.Pos{File: f, Line: p.Line, Col: original(u.src.inserted[f.Name], p.Line, p.Column)}
}

// errorf records what is wrong at a place. Translation goes on, so that one run
// says all.
func (u *unit) errorf(at cc.Node, format string, args ...any) {
	u.errorAt(u.pos(at), format, args...)
}

func (u *unit) errorAt(at ir.Pos, format string, args ...any) {
	switch {
	case len(u.diags) < maxDiags:
		u.diags.Add(at, format, args...)
	case len(u.diags) == maxDiags:
		u.diags = append(u.diags, ir.Errorf(ir.Pos{}, "too many errors"))
	}
}

// A line of what cc says: "file:line:col: message", and, in its tests and ours,
// the place in cc where it says so.
var ccLine = regexp.MustCompile(`^(.+?):(\d+):(\d+): (.*?)( \([\w.]+\.go:\d+:[^)]*\))?$`)

// What cc says when it has gone astray after something that it has said before,
// or of something that it does not know. The names are of its own parts.
var ccAstray = regexp.MustCompile(`TODO|internal error|missed/failed type check|<invalid type>`)

// ccErrors records the errors of cc, each in our words where its own are of no
// use to whoever wrote the program.
func (u *unit) ccErrors(err error) {
	var astray []string
	undefined := false
	for _, line := range strings.Split(err.Error(), "\n") {
		if ccAstray.MatchString(line) {
			astray = append(astray, line)
			continue
		}
		pos, msg := u.ccMessage(line)
		switch {
		case strings.HasPrefix(msg, "undefined: "):
			undefined = true
		case undefined && strings.HasPrefix(msg, "expected pointer to function"):
			continue // it takes the undefined name for an int
		}
		u.errorAt(pos, "%s", strings.ReplaceAll(msg, "<EOF>", "end of file"))
	}
	if len(u.diags) > 0 || len(astray) == 0 {
		return
	}
	// Nothing else is known.
	for _, line := range astray {
		pos, _ := u.ccMessage(line)
		u.errorAt(pos, "this is not C, or an extension of C that is not supported")
	}
}

// ccMessage takes a line of cc apart.
func (u *unit) ccMessage(line string) (ir.Pos, string) {
	m := ccLine.FindStringSubmatch(line)
	if m == nil {
		msg, end := strings.CutPrefix(strings.TrimSpace(line), "-: ")
		if end {
			return u.end(), msg
		}
		return ir.Pos{}, msg
	}
	if m[1] == "<end>" {
		return u.end(), "unexpected end of file"
	}
	ln, _ := strconv.Atoi(m[2])
	col, _ := strconv.Atoi(m[3])
	pos := u.posOf(token.Position{Filename: m[1], Line: ln, Column: col})
	if pos.File == nil {
		return ir.Pos{}, m[1] + ": " + m[4]
	}
	return pos, m[4]
}

// end returns the end of the program.
func (u *unit) end() ir.Pos {
	f := u.src.file(u.in.File)
	if f == nil {
		return ir.Pos{}
	}
	n := len(f.Lines)
	for n > 1 && strings.TrimSpace(f.Lines[n-1]) == "" {
		n--
	}
	return ir.Pos{File: f, Line: n, Col: len(f.Lines[n-1]) + 1}
}
