package ledger

import (
	"strconv"
	"strings"
)

// values writes the VALUES list of a statement that inserts many rows at once:
// ($1,$2),($3,$4). SQLite looks every name up among all before it, so there the
// arguments have none: (?,?),(?,?).
func (s *Store) values(rows, columns int) string {
	var b strings.Builder
	n := 0
	for row := range rows {
		if row > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('(')
		for column := range columns {
			if column > 0 {
				b.WriteByte(',')
			}
			if n++; s.sqlite {
				b.WriteByte('?')
				continue
			}
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(n))
		}
		b.WriteByte(')')
	}
	return b.String()
}

// list writes $from,$from+1,… for count arguments of an IN list.
func list(from, count int) string {
	var b strings.Builder
	for i := range count {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(from + i))
	}
	return b.String()
}

func anys[T any](items []T) []any {
	out := make([]any, len(items))
	for i, item := range items {
		out[i] = item
	}
	return out
}
