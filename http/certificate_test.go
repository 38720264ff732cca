package http_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/http"
)

// pair is a certificate for 127.0.0.1 that vouches for itself, with its key, in PEM.
type pair struct {
	name      string
	cert, key []byte
}

func issue(t *testing.T, name string, from, until time.Time) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		BasicConstraintsValid: true,
		DNSNames:              []string{"memory"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		NotAfter:              until,
		NotBefore:             from,
		SerialNumber:          big.NewInt(time.Now().UnixNano()),
		Subject:               pkix.Name{CommonName: name},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pair{
		name: name,
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
	}
}

// valid issues a certificate that counts now.
func valid(t *testing.T, name string) pair {
	t.Helper()
	return issue(t, name, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
}

// certificateFiles are where a server finds its certificate.
type certificateFiles struct{ dir string }

func (f certificateFiles) cert() string { return filepath.Join(f.dir, "tls.crt") }

func (f certificateFiles) key() string { return filepath.Join(f.dir, "tls.key") }

// put replaces the files as tools do, each in one step.
func (f certificateFiles) put(t *testing.T, cert, key []byte) {
	t.Helper()
	for path, content := range map[string][]byte{f.cert(): cert, f.key(): key} {
		if err := os.WriteFile(path+".new", content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
}

// loadCertificate keeps up with the files until the test ends.
func loadCertificate(t *testing.T, files certificateFiles, logger *slog.Logger) *http.Certificate {
	t.Helper()
	certificate, err := http.LoadCertificate(files.cert(), files.key(), logger)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { certificate.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return certificate
}

// certificateOf returns one in files of its own, and a client's settings that trust it.
func certificateOf(t *testing.T, p pair) (*http.Certificate, *tls.Config) {
	t.Helper()
	files := certificateFiles{t.TempDir()}
	files.put(t, p.cert, p.key)
	return loadCertificate(t, files, quiet()), &tls.Config{RootCAs: rootsOf(p)}
}

func rootsOf(pairs ...pair) *x509.CertPool {
	roots := x509.NewCertPool()
	for _, p := range pairs {
		roots.AppendCertsFromPEM(p.cert)
	}
	return roots
}

// shown is the name of the certificate that a server shows to a new connection.
func shown(t *testing.T, address string, roots *x509.CertPool) string {
	t.Helper()
	conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
}

// journal is a log that a test reads.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

func (j *journal) count(words string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.text.String(), words)
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// A certificate that is replaced is shown to new connections; those that are open stay.
// What cannot be used is complained of once, and the one before goes on to be shown.
func TestCertificate_Replaced(t *testing.T) {
	t.Parallel()
	var log journal
	files := certificateFiles{t.TempDir()}
	first, second, third := valid(t, "first"), valid(t, "second"), valid(t, "third")
	old := issue(t, "old", time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour))
	roots := rootsOf(first, second, third, old)
	files.put(t, first.cert, first.key)
	certificate := loadCertificate(t, files, log.logger())
	c := serveTLS(t, newServerWith(t, http.Config{Certificate: certificate}), &tls.Config{RootCAs: roots})
	address := strings.TrimPrefix(c.base, "https://")
	c.get(t, "/healthz").is(t, 200)
	if got := shown(t, address, roots); got != "first" {
		t.Fatalf("the certificate is the %s", got)
	}

	files.put(t, second.cert, second.key)
	eventually(t, "the second certificate is shown", func() bool { return shown(t, address, roots) == "second" })

	complaints := 0
	for what, broken := range map[string]pair{
		"a key of another": {cert: third.cert, key: first.key}, "nothing": {}, "what is over": old, "no certificate": {cert: []byte("none"), key: third.key},
	} {
		files.put(t, broken.cert, broken.key)
		complaints++
		eventually(t, "it complains of "+what, func() bool { return log.count("cannot be used") == complaints })
		if got := shown(t, address, roots); got != "second" {
			t.Errorf("with %s in the files the certificate is the %s", what, got)
		}
	}
	if err := os.Remove(files.key()); err != nil {
		t.Fatal(err)
	}
	complaints++
	eventually(t, "it complains of a missing file", func() bool { return log.count("cannot be used") == complaints })

	files.put(t, third.cert, third.key)
	eventually(t, "the third certificate is shown", func() bool { return shown(t, address, roots) == "third" })
	if got := log.count("cannot be used"); got != complaints {
		t.Errorf("it complained %d times, want %d", got, complaints)
	}
	if got := log.count("PRIVATE"); got > 0 {
		t.Error("the key is in the log")
	}
	response, err := c.send(t.Context(), "GET", "/healthz", "")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got := response.TLS.PeerCertificates[0].Subject.CommonName; got != "first" {
		t.Errorf("the connection was cut: a new one has the %s", got)
	}
}

// A server does not start with a certificate that clients would refuse.
func TestLoadCertificate_Unusable(t *testing.T) {
	t.Parallel()
	good, other := valid(t, "good"), valid(t, "other")
	for name, p := range map[string]pair{
		"Mismatch": {cert: good.cert, key: other.key},
		"Over":     issue(t, "over", time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)),
		"ToCome":   issue(t, "to come", time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)),
		"Empty":    {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := certificateFiles{t.TempDir()}
			files.put(t, p.cert, p.key)
			if _, err := http.LoadCertificate(files.cert(), files.key(), quiet()); err == nil || strings.Contains(err.Error(), "PRIVATE") {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := http.LoadCertificate("none", "none", quiet()); err == nil {
		t.Error("it is there without files")
	}
}
