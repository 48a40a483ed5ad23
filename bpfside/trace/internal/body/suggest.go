package body

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nopfire/nopfire/internal/spelling"
)

// maxNear is the longest name that is compared with others: names are hostile, and
// the time is quadratic.
const maxNear = 64

// maxListed is how many names a message lists.
const maxListed = 12

// suggest returns what follows "x is not known": the names that are near, or else
// all, behind has; or none.
func suggest(want, has, none string, names []string) string {
	if len(names) == 0 {
		return ": " + none
	}
	type candidate struct {
		name string
		d    int
	}
	var close []candidate
	for _, n := range names {
		if len(want) > maxNear || len(n) > maxNear {
			continue
		}
		if d := spelling.Distance(strings.ToLower(want), strings.ToLower(n)); d <= len(want)/3 {
			close = append(close, candidate{n, d})
		}
	}
	slices.SortStableFunc(close, func(a, b candidate) int { return cmp.Compare(a.d, b.d) })
	s := ""
	if len(close) > 0 {
		s = ": did you mean " + close[0].name + "?"
	}
	list := names
	more := ""
	if len(list) > maxListed {
		list, more = list[:maxListed], ", …"
	}
	sep := ": "
	if s != "" {
		sep = " "
	}
	return s + sep + has + " " + strings.Join(list, ", ") + more
}
