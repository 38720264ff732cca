package acceptance_test

import (
	"errors"
	"io"
	"strings"
	"syscall"
)

// trouble is a kind of failed call.
type trouble struct{ kind, how, node string }

// addFailure counts a call of a node that failed.
func (l *ledger) addFailure(how, node string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(err, errContract) {
		l.wrong[err.Error()]++
		return
	}
	l.troubles[trouble{kindOf(err), how, node}]++
}

// kindOf names an error that a buyer has to live with.
func kindOf(err error) string {
	answered, ok := errors.AsType[*problem](err)
	var timeout interface{ Timeout() bool }
	switch {
	case ok:
		return answered.Error()
	case errors.As(err, &timeout) && timeout.Timeout():
		return "time-out"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		strings.Contains(err.Error(), "server closed idle connection"): // net/http does not export it
		return "connection cut"
	default:
		return err.Error()
	}
}

// count is how often a kind of trouble has been met.
func (l *ledger) count(kind string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	total := 0
	for met, times := range l.troubles {
		if met.kind == kind {
			total += times
		}
	}
	return total
}
