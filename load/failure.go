package load

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
)

// errorKind names an error such that errors of one kind have one name.
func errorKind(err error) string {
	refused := (*refusal)(nil)
	switch {
	case errors.As(err, &refused):
		return refused.kind()
	case errors.Is(err, errNoResult):
		return errNoResult.Error()
	case errors.Is(err, errMalformed):
		return errMalformed.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "cut off at the end of the run"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "network: connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "network: connection reset"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "network: too many open files on the client"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "network: no free local port"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "network: connection closed"
	default:
		return "network: " + err.Error()
	}
}

// mayBeAccepted reports whether an error leaves open what became of a purchase.
func mayBeAccepted(err error) bool {
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		return refused.ambiguous()
	}
	return !neverSent(err)
}

// neverSent reports whether an error means that the service saw nothing.
func neverSent(err error) bool {
	op := (*net.OpError)(nil)
	return errors.As(err, &op) && op.Op == "dial"
}
