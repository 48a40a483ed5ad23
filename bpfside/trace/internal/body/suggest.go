package body

import (
	"cmp"
	"slices"
	"strings"
)

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
		if d := distance(strings.ToLower(want), strings.ToLower(n)); d <= len(want)/3 {
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

// distance counts the letters to insert, leave out or change to get from a to b.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
