package main

import (
	"bufio"
	"io"
	"strings"
	"unicode/utf8"
)

// maxCell is the width up to which a cell makes its column wider: a longer one
// sticks out.
const maxCell = 60

// A table lays text out in columns. All cells are in one piece of memory, as there
// may be a million of them.
type table struct {
	columns int
	text    []byte
	ends    []uint32 // of each cell in text, row by row
	width   []int    // of each column but the last
}

// newTable returns a table with room for a number of rows.
func newTable(columns, rows int) *table {
	const usualRow = 72
	return &table{
		columns: columns, width: make([]int, columns-1),
		text: make([]byte, 0, usualRow*rows), ends: make([]uint32, 0, columns*rows),
	}
}

// add adds the next cell of a row.
func (t *table) add(s string) {
	if col := len(t.ends) % t.columns; col < len(t.width) {
		t.width[col] = max(t.width[col], min(utf8.RuneCountInString(s), maxCell))
	}
	t.text = append(t.text, s...)
	t.ends = append(t.ends, uint32(len(t.text)))
}

// write prints the table: the head dim, the first cell of a row in colour.
func (t *table) write(out io.Writer, color palette) error {
	w := bufio.NewWriterSize(out, 64<<10)
	var line []byte
	from := uint32(0)
	for row := 0; row < len(t.ends); row += t.columns {
		line = line[:0]
		first := 0 // the end of the first cell in the line
		for col, end := range t.ends[row : row+t.columns] {
			cell := t.text[from:end]
			line = append(line, cell...)
			from = end
			if col < len(t.width) {
				for range t.width[col] - utf8.RuneCount(cell) {
					line = append(line, ' ')
				}
				if col == 0 {
					first = len(line)
				}
				line = append(line, "  "...)
			}
		}
		switch {
		case !bool(color):
			w.Write(line)
		case row == 0:
			w.WriteString(color.dim(string(line)))
		default:
			w.WriteString(color.cyan(string(line[:first])))
			w.Write(line[first:])
		}
		w.WriteByte('\n')
	}
	return w.Flush() // has the first error of all writes
}

// joinTypes writes arguments as "name type, name type", "-" for none.
func joinTypes(n int, param func(int) (name, typ string)) string {
	if n == 0 {
		return "-"
	}
	var b strings.Builder
	b.Grow(16 * n)
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		name, typ := param(i)
		b.WriteString(printable(name))
		b.WriteByte(' ')
		b.WriteString(printable(typ))
	}
	return b.String()
}
