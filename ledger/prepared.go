package ledger

import (
	"context"
	"database/sql/driver"
	"strings"
)

// mostPrepared bounds how many statements a connection keeps, and longestKept
// how long the text of one may be: what inserts many rows at once is rarely the
// same twice.
const (
	mostPrepared = 256
	longestKept  = 8 << 10
)

// pragma begins statements that take effect when they are read, not when they
// are run: a kept one would do nothing.
const pragma = "PRAGMA"

// preparing opens SQLite connections that keep their statements: reading a text
// anew costs more than most statements do, and neither database/sql nor the
// queue's engine keeps any.
type preparing struct{ driver.Connector }

// sqliteConn is what the driver's connections are.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// sqliteStmt is what its statements are.
type sqliteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// Connect opens a connection.
func (p preparing) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	plain, capable := conn.(sqliteConn)
	if !capable {
		return conn, nil
	}
	return &preparedConn{sqliteConn: plain, kept: map[string]*keptStmt{}}, nil
}

// preparedConn is a connection with its statements. Like every connection it is
// used by one caller at a time.
type preparedConn struct {
	sqliteConn
	kept map[string]*keptStmt
}

// keptStmt is a statement. While its rows are open it is not run again.
type keptStmt struct {
	sqliteStmt
	busy bool
}

// Unwrap returns the driver's connection.
func (c *preparedConn) Unwrap() driver.Conn { return c.sqliteConn }

// Close ends the statements, then the connection.
func (c *preparedConn) Close() error {
	for text, stmt := range c.kept {
		stmt.Close()
		delete(c.kept, text)
	}
	return c.sqliteConn.Close()
}

// ExecContext runs a kept statement.
func (c *preparedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	stmt, err := c.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	if stmt == nil {
		return c.sqliteConn.ExecContext(ctx, query, args)
	}
	return stmt.ExecContext(ctx, args)
}

// QueryContext runs a kept statement, which is busy until its rows are closed.
func (c *preparedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	stmt, err := c.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	if stmt == nil {
		return c.sqliteConn.QueryContext(ctx, query, args)
	}
	rows, err := stmt.QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	stmt.busy = true
	return &keptRows{Rows: rows, stmt: stmt}, nil
}

// statement returns a kept statement that is free, or nil for one that is to be
// run without being kept.
func (c *preparedConn) statement(ctx context.Context, query string) (*keptStmt, error) {
	if stmt := c.kept[query]; stmt != nil {
		if stmt.busy {
			return nil, nil
		}
		return stmt, nil
	}
	if len(query) > longestKept || strings.HasPrefix(query, pragma) {
		return nil, nil
	}
	plain, err := c.sqliteConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	capable, is := plain.(sqliteStmt)
	if !is {
		return nil, plain.Close()
	}
	if len(c.kept) >= mostPrepared {
		c.makeRoom()
	}
	stmt := &keptStmt{sqliteStmt: capable}
	c.kept[query] = stmt
	return stmt, nil
}

// makeRoom drops any statement that is free: that there are more than fit is
// rare.
func (c *preparedConn) makeRoom() {
	for text, stmt := range c.kept {
		if !stmt.busy {
			stmt.Close()
			delete(c.kept, text)
			return
		}
	}
}

// keptRows are the rows of a kept statement.
type keptRows struct {
	driver.Rows
	stmt *keptStmt
}

// Close sets the statement free.
func (r *keptRows) Close() error {
	err := r.Rows.Close()
	r.stmt.busy = false
	return err
}
