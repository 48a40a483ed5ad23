package elfgen

import "strconv"

// appendSymbol appends the symbol of a probe: PROVIDER__PROBE as a C
// identifier, so that a debugger can name it.
func appendSymbol(dst []byte, provider, probe string) []byte {
	dst = appendIdentifier(dst, provider, true)
	dst = append(dst, "__"...)
	return appendIdentifier(dst, probe, false)
}

// appendIdentifier appends s with every byte that a C identifier may not have
// replaced by _xHH_. Different strings stay different: an underscore that
// would start such a sequence is replaced as well.
func appendIdentifier(dst []byte, s string, first bool) []byte {
	const hex = "0123456789abcdef"
	for i := range len(s) {
		c := s[i]
		keep := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' ||
			'0' <= c && c <= '9' && !(first && i == 0) ||
			c == '_' && !startsEscape(s[i:])
		if keep {
			dst = append(dst, c)
			continue
		}
		dst = append(dst, '_', 'x', hex[c>>4], hex[c&15], '_')
	}
	return dst
}

// startsEscape tells whether s starts with "_x" and two lower-case hexadecimal
// digits.
func startsEscape(s string) bool {
	return len(s) >= 4 && s[1] == 'x' && isHex(s[2]) && isHex(s[3])
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }

// identifier returns s as a C identifier.
func identifier(s string) string {
	if identifierFault(s) == "" {
		return s
	}
	return string(appendIdentifier(nil, s, true))
}

// paramName returns the name of the parameter at place 0 or 1 of an argument:
// its own name or argN, counted from 1, and for the length of a []byte that with _len.
func paramName(args []ArgSpec, index, place int) string {
	name := args[index].Name
	if name == "" {
		if index < len(argNames) {
			name = argNames[index]
		} else {
			name = "arg" + strconv.Itoa(index+1)
		}
	}
	if place == 1 {
		name += "_len"
	}
	return name
}

var argNames = [MaxArgs]string{
	"arg1", "arg2", "arg3", "arg4", "arg5", "arg6",
	"arg7", "arg8", "arg9", "arg10", "arg11", "arg12",
}
