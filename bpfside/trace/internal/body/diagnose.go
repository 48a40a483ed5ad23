package body

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nopfire/nopfire/bpfside/bpfc"
)

// diagnose turns what the compiler says into errors of the expressions.
func (u *unit) diagnose(prog *program, err error) {
	var list bpfc.Diagnostics
	if !errors.As(err, &list) {
		return
	}
	src, marks := prog.String(), prog.marks
	starts := []int{0}
	for i := range len(src) {
		if src[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	for _, d := range list {
		if d.Line < 1 || d.Line > len(starts) {
			continue
		}
		pos := starts[d.Line-1] + max(d.Col, 1) - 1
		i, found := slices.BinarySearchFunc(marks, pos, func(m mark, pos int) int { return cmp.Compare(m.pos, pos) })
		if !found {
			i--
		}
		if line := starts[d.Line-1]; i < 0 || marks[i].pos < line {
			// before the first mark of its line
			if i++; i == len(marks) || strings.Contains(src[line:marks[i].pos], "\n") {
				continue
			}
		}
		m := marks[i]
		e := u.exprs[m.expr]
		// In __typeof__, which is a macro, no place is known: what is said
		// there is said again in the function.
		if vague := strings.HasPrefix(src[starts[d.Line-1]:], "__typeof__"); e.err == nil || e.err.Off < 0 {
			e.err = errorf(m.off, "%s", u.message(d.Msg))
			e.err.OtherProbe = e.args != 0
			if vague {
				e.err.Off = -1
			}
		}
	}
}

var ownNames = regexp.MustCompile(`struct s_(\d+)(?: \{[^{}]*\})?|\bf_(\w+)|\ba(\d+)\b`)

// message puts the names of the user for those that the compiler knows.
func (u *unit) message(msg string) string {
	return ownNames.ReplaceAllStringFunc(msg, func(s string) string {
		m := ownNames.FindStringSubmatch(s)
		switch {
		case m[1] != "":
			return printable(u.p.structs.cName("s_" + m[1]))
		case m[2] != "":
			return m[2]
		case m[3] != "":
			n, _ := strconv.Atoi(m[3])
			return u.p.argName(n - 1)
		}
		return s
	})
}
