package ledger

import (
	"reflect"
	"strconv"
	"strings"
)

// operand writes many rows as the source of one statement, of the cells row by
// row. Their columns are named column1, column2, …; cells are texts or whole
// numbers.
//
// SQLite gets VALUES (?,?),(?,?): it looks every name of an argument up among all
// before it, so there they have none. PostgreSQL gets an array for each column,
// so that the text is the same for any number of rows and is read once.
func (s *Store) operand(columns int, cells []any) (text string, args []any) {
	if s.sqlite {
		row := "(" + strings.Repeat("?,", columns-1) + "?)"
		return "VALUES " + strings.Repeat(row+",", len(cells)/columns-1) + row, cells
	}
	var arrays, names strings.Builder
	for column := range columns {
		if column > 0 {
			arrays.WriteByte(',')
			names.WriteByte(',')
		}
		number := strconv.Itoa(column + 1)
		names.WriteString("column" + number)
		if reflect.TypeOf(cells[column]).Kind() == reflect.String {
			arrays.WriteString("$" + number + "::text[]")
			args = append(args, columnOf(cells, column, columns, reflect.Value.String))
		} else {
			arrays.WriteString("$" + number + "::bigint[]")
			args = append(args, columnOf(cells, column, columns, reflect.Value.Int))
		}
	}
	return "SELECT * FROM unnest(" + arrays.String() + ") AS u(" + names.String() + ")", args
}

func columnOf[T any](cells []any, column, columns int, read func(reflect.Value) T) []T {
	values := make([]T, 0, len(cells)/columns)
	for i := column; i < len(cells); i += columns {
		values = append(values, read(reflect.ValueOf(cells[i])))
	}
	return values
}

// insertNew begins a statement that inserts what is not there yet: it ends in ON
// CONFLICT DO NOTHING. With OR IGNORE, nothing that it meets can end it halfway, so
// SQLite does not copy every page that it changes: a fifth of accepting a batch.
func (s *Store) insertNew() string {
	if s.sqlite {
		return "INSERT OR IGNORE INTO"
	}
	return "INSERT INTO"
}

// among writes a condition that a column is one of some texts.
func (s *Store) among(from int, texts []string) (condition string, args []any) {
	if s.sqlite {
		return "IN (" + list(from, len(texts)) + ")", anys(texts)
	}
	return "= ANY($" + strconv.Itoa(from) + ")", []any{texts}
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
