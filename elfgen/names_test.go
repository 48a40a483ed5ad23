package elfgen

import (
	"strings"
	"testing"
)

func TestSymbolNames(t *testing.T) {
	for _, row := range []struct{ provider, probe, want string }{
		{"shop", "sold", "shop__sold"},
		{"my-app", "a.b", "my_x2d_app__a_x2e_b"},
		{"2fast", "4you", "_x32_fast__4you"},
		{"a", "_x2d_", "a___x5f_x2d_"},
		{"a", "-", "a___x2d_"},
		{"a", "_x2d-", "a___x5f_x2d_x2d_"},
		{"a", "_xyz", "a___xyz"},
	} {
		if got := string(appendSymbol(nil, row.provider, row.probe)); got != row.want {
			t.Errorf("%s:%s: %q, want %q", row.provider, row.probe, got, row.want)
		}
	}
}

// decode is the inverse of appendIdentifier, found independently: an escape
// means its byte, everything else itself.
func decode(s string) string {
	const hex = "0123456789abcdef"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if i+4 < len(s) && s[i] == '_' && s[i+1] == 'x' && s[i+4] == '_' {
			hi, lo := strings.IndexByte(hex, s[i+2]), strings.IndexByte(hex, s[i+3])
			if hi >= 0 && lo >= 0 {
				b.WriteByte(byte(hi<<4 | lo))
				i += 4
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Different names have different symbols: each can be turned back.
func FuzzIdentifier(f *testing.F) {
	for _, s := range []string{"a", "-", "_x2d_", "_x2d-", "__x5f_", "_x5f_x2d_", "9", "_x", "_x2", "_x2d", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id := string(appendIdentifier(nil, s, true))
		if len(id) <= MaxName {
			if why := identifierFault(id); why != "" {
				t.Errorf("%q becomes %q: %s", s, id, why)
			}
		}
		if back := decode(id); back != s {
			t.Errorf("%q becomes %q becomes %q", s, id, back)
		}
	})
}
