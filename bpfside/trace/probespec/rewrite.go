package probespec

import (
	"regexp"
	"strconv"
	"strings"
)

// bccNames are the names of bcc that have another one here.
var bccNames = []struct{ bcc, ours string }{
	{"$task->comm", "comm"}, {"$task->tgid", "pid"}, {"$task->pid", "tid"},
	{"$tgid", "pid"}, {"$pid", "tid"}, {"$PID", "pid"}, // argdist's $PID is the process, trace's $pid the thread
	{"$uid", "uid"}, {"$cpu", "cpu"},
}

// refusedNames are those that have none.
var refusedNames = []struct{ bcc, why, want string }{
	{"$retval", "a USDT probe returns nothing", "arg1, arg2, … or names"},
	{"$latency", "a USDT probe has no duration", "an argument that tells it"},
	{"$entry", "a USDT probe is no function", "arg1, arg2, … or names"},
	{"$gid", "group ids are not known", "uid"},
	{"$task", "of the task of the kernel only a few things are known", "$task->comm, comm, pid, tid, uid or cpu"},
}

// rewrite returns an expression with bcc's names replaced.
func (s *scanner) rewrite(sp span) (string, error) {
	var b strings.Builder
	in := &scanner{text: s.text, pos: sp.from}
	for in.pos < sp.to {
		c := in.peek()
		from := in.pos
		switch {
		case c == '"' || c == '\'':
			if err := in.literal(c); err != nil {
				return "", err
			}
			in.pos++
			b.WriteString(s.text[from:in.pos])
		case c == '$':
			name, n, err := s.bccName(span{from, sp.to})
			if err != nil {
				return "", err
			}
			b.WriteString(name)
			in.pos += n
		case isWord(c):
			for in.pos < sp.to && isWord(in.peek()) {
				in.pos++
			}
			word := s.text[from:in.pos]
			b.WriteString(word)
			// bcc's arg1@user tells where a pointer points; here it can be nowhere else.
			if isArg(word) && strings.HasPrefix(s.text[in.pos:sp.to], "@user") {
				in.pos += len("@user")
			}
		default:
			b.WriteByte(c)
			in.pos++
		}
	}
	return b.String(), nil
}

// bccName returns our name for one of bcc's at the beginning of the span, and how long
// that is.
func (s *scanner) bccName(sp span) (string, int, error) {
	text := s.text[sp.from:sp.to]
	begins := func(name string) bool {
		return strings.HasPrefix(text, name) && (len(text) == len(name) || !isWord(text[len(name)]))
	}
	for _, n := range bccNames {
		if begins(n.bcc) {
			return n.ours, len(n.bcc), nil
		}
	}
	for _, n := range refusedNames {
		if begins(n.bcc) {
			return "", 0, errorf(s.text, sp.from, n.want, "%s: %s", n.bcc, n.why)
		}
	}
	end := 1
	for end < len(text) && isWord(text[end]) {
		end++
	}
	return "", 0, errorf(s.text, sp.from, "pid, tid, uid, cpu, ts, comm, or an argument", "%s is not known", text[:end])
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= 0x80
}

// isArg tells whether a word is arg1, arg2 and so on.
func isArg(word string) bool {
	n, ok := strings.CutPrefix(word, "arg")
	_, err := strconv.ParseUint(n, 10, 8)
	return ok && err == nil
}

// typeWord matches the words of C's types of numbers.
var typeWord = regexp.MustCompile(`^(const|volatile|signed|unsigned|char|short|int|long|bool|_Bool|void|size_t|ssize_t|u?int(8|16|32|64|ptr)_t|(__)?[us](8|16|32|64))$`)

// isType tells whether a text is a type and not an expression: a pointer, or a type of
// numbers.
func isType(text string) bool {
	if strings.HasSuffix(text, "*") {
		return true
	}
	words := strings.Fields(text)
	for _, w := range words {
		if !typeWord.MatchString(w) {
			return false
		}
	}
	return len(words) > 0
}

// count writes a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// areExpressions writes how many expressions there are, with the verb.
func areExpressions(n int) string {
	switch n {
	case 0:
		return "are no expressions"
	case 1:
		return "is 1 expression"
	}
	return "are " + count(n, "expression")
}
