package http

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

// certificateBeat is how often the files of a certificate are looked at.
const certificateBeat = 2 * time.Second

// Certificate is what a server shows to clients over TLS. It is in two files, which
// may be replaced while it is in use.
type Certificate struct {
	certFile, keyFile string
	logger            *slog.Logger

	current atomic.Pointer[tls.Certificate]
	inUse   []byte // what the files held when it was read
	broken  []byte // what they hold now, if that cannot be used
	warned  bool   // of broken
}

// LoadCertificate reads the certificate chain and its key, both in PEM. It returns an
// error unless they belong together and count now. Run keeps up with the files.
func LoadCertificate(certFile, keyFile string, logger *slog.Logger) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile, logger: logger}
	pair, read, err := c.load()
	if err != nil {
		return nil, fmt.Errorf("read the TLS certificate: %w", err)
	}
	c.current.Store(pair)
	c.inUse = read
	return c, nil
}

// Run takes what comes into the files into use, until the context ends. As long as
// they hold nothing that can be used, the certificate before stays.
func (c *Certificate) Run(ctx context.Context) {
	beat := time.NewTicker(certificateBeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			c.look()
		}
	}
}

// look compares what the files hold, as their times may lie: an older file may be
// moved here, and a link led to another. It complains only of what it finds twice,
// since the files are replaced one after the other.
func (c *Certificate) look() {
	pair, read, err := c.load()
	switch {
	case bytes.Equal(read, c.inUse):
		c.broken = nil
	case err == nil:
		c.current.Store(pair)
		c.inUse, c.broken = read, nil
		c.logger.Info("a new TLS certificate is in use", "validUntil", pair.Leaf.NotAfter)
	case !bytes.Equal(read, c.broken):
		c.broken, c.warned = read, false
	case !c.warned:
		c.warned = true
		c.logger.Warn("the new TLS certificate cannot be used; the one before stays in use",
			"error", err, "validUntil", c.current.Load().Leaf.NotAfter)
	}
}

// load returns the certificate in the files, and what they hold whether it is one or not.
func (c *Certificate) load() (*tls.Certificate, []byte, error) {
	cert, certErr := os.ReadFile(c.certFile)
	key, keyErr := os.ReadFile(c.keyFile)
	read := bytes.Join([][]byte{cert, key}, []byte{0})
	if err := errors.Join(certErr, keyErr); err != nil {
		return nil, read, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, read, fmt.Errorf("%s, %s: %w", c.certFile, c.keyFile, err)
	}
	if now := time.Now(); now.Before(pair.Leaf.NotBefore) || now.After(pair.Leaf.NotAfter) {
		return nil, read, fmt.Errorf("%s: it is valid from %s until %s only", c.certFile,
			pair.Leaf.NotBefore.Format(time.RFC3339), pair.Leaf.NotAfter.Format(time.RFC3339))
	}
	return &pair, read, nil
}

// config is for a server that shows the certificate. Session tickets do not outlive a
// process, and Go replaces their keys every day.
func (c *Certificate) config() *tls.Config {
	return &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
		MinVersion:     tls.VersionTLS12,
	}
}
