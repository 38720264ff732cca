package http

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

type addressKey struct{}

// withPeerAddress keeps the address of a connection's peer for all of its requests.
func withPeerAddress(ctx context.Context, conn net.Conn) context.Context {
	if peer, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		return context.WithValue(ctx, addressKey{}, peer.AddrPort().Addr().Unmap())
	}
	return ctx
}

// clientAddress is where a request comes from; not valid if that is not known.
func clientAddress(ctx context.Context) netip.Addr {
	address, _ := ctx.Value(addressKey{}).(netip.Addr)
	return address
}

// behindProxies takes the client's address from X-Forwarded-For where the peer is
// a trusted proxy: the last address in it that is none. What stands before that the
// client can have written itself.
func behindProxies(trusted []netip.Prefix, next http.Handler) http.Handler {
	if len(trusted) == 0 {
		return next
	}
	isTrusted := func(address netip.Addr) bool {
		return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(address) })
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client := clientAddress(r.Context())
		forwarded := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for _, text := range slices.Backward(forwarded) {
			if !isTrusted(client) {
				break
			}
			address, err := netip.ParseAddr(strings.TrimSpace(text))
			if err != nil {
				break
			}
			client = address.Unmap().WithZone("")
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), addressKey{}, client)))
	})
}

// addressClass says how near an address is. The address itself is the client's
// own business, and events are kept for ever.
func addressClass(address netip.Addr) string {
	switch {
	case !address.IsValid():
		return ""
	case address.IsLoopback():
		return "loopback"
	case address.IsPrivate(), address.IsLinkLocalUnicast():
		return "private"
	default:
		return "public"
	}
}
