package purchasing

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// panicError is a panic in the deciding of a batch, turned into an error.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// isDeterministic reports whether an error will come again however often the
// same is tried: a panic, data that the database cannot take (SQLSTATE class 22)
// or that breaks a constraint (23). Time-outs, deadlocks and lost connections are
// not of the kind.
func isDeterministic(err error) bool {
	if _, ok := errors.AsType[*panicError](err); ok {
		return true
	}
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && len(pgErr.Code) == 5 && (pgErr.Code[:2] == "22" || pgErr.Code[:2] == "23")
}
