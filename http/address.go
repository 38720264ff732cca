package http

import (
	"context"
	"net"
	"net/netip"
)

type addressClassKey struct{}

// withAddressClass keeps the class of a connection's peer for all of its requests.
func withAddressClass(ctx context.Context, conn net.Conn) context.Context {
	if peer, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		return context.WithValue(ctx, addressClassKey{}, addressClass(peer.AddrPort().Addr()))
	}
	return ctx
}

// addressClass says how near an address is. The address itself is the client's
// own business, and events are kept for ever.
func addressClass(address netip.Addr) string {
	address = address.Unmap()
	switch {
	case address.IsLoopback():
		return "loopback"
	case address.IsPrivate(), address.IsLinkLocalUnicast():
		return "private"
	default:
		return "public"
	}
}
