// Package spelling tells how far two names are from each other, for messages that ask
// "did you mean". How near is near enough is for its callers to say.
package spelling

// Distance is the number of bytes to insert, drop or replace to turn a into b
// (Levenshtein). It takes time in proportion to the product of the lengths.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
