package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
)

// ErrNotLoopback is returned, before anything is sent, for a target that is not
// on this machine's loopback interface, unless Config.AllowRemote is set.
var ErrNotLoopback = errors.New("not a loopback address")

// target is a base URL and the addresses its host had when it was checked. Only
// those are ever dialed, so a name cannot come to mean another machine later.
type target struct {
	base    *url.URL
	addrs   []netip.AddrPort
	sockets *http.Client // opens WebSockets
}

// resolveTarget returns an error wrapping ErrNotLoopback if any address of the
// host is not a loopback address and remote is false.
func resolveTarget(ctx context.Context, rawURL string, remote bool) (target, error) {
	base, err := url.Parse(rawURL)
	if err != nil {
		return target{}, fmt.Errorf("parse target: %w", err)
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "" {
		return target{}, fmt.Errorf("target %q: want a URL such as http://127.0.0.1:8080", rawURL)
	}
	service := base.Port()
	if service == "" {
		service = base.Scheme
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", service)
	if err != nil {
		return target{}, fmt.Errorf("target's port: %w", err)
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", base.Hostname())
	if err != nil {
		return target{}, fmt.Errorf("resolve target: %w", err)
	}
	t := target{base: base.JoinPath("/")} // requests need a path that begins with a slash
	for _, addr := range addrs {
		addr = addr.Unmap()
		if !addr.IsLoopback() && !remote {
			return target{}, fmt.Errorf("%s is %s: %w", base.Hostname(), addr, ErrNotLoopback)
		}
		t.addrs = append(t.addrs, netip.AddrPortFrom(addr, uint16(port)))
	}
	t.sockets = &http.Client{Transport: &http.Transport{DialContext: t.dial}}
	return t, nil
}

// dial connects to the target whatever address is asked for.
func (t target) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	var dialer net.Dialer
	var errs []error
	for _, addr := range t.addrs {
		conn, err := dialer.DialContext(ctx, network, addr.String())
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// loopback reports whether the service runs on this machine.
func (t target) loopback() bool {
	for _, addr := range t.addrs {
		if !addr.Addr().IsLoopback() {
			return false
		}
	}
	return true
}

func (t target) port() uint16 { return t.addrs[0].Port() }
