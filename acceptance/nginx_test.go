package acceptance_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// proxied is nginx, with the configuration that the documentation gives, in front of
// a service.
type proxied struct {
	base  string
	roots *x509.CertPool
}

// startNginx starts nginx in front of a node, or skips the test where there is none.
func startNginx(t *testing.T, upstream *node) *proxied {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		program = "/usr/sbin/nginx" // which is not in an ordinary user's PATH
	}
	if err := exec.Command(program, "-v").Run(); err != nil {
		t.Skip("there is no nginx")
	}
	dir := t.TempDir()
	p := &proxied{base: "https://" + freeAddress(t), roots: x509.NewCertPool()}
	p.certify(t, dir)
	given, err := os.ReadFile("../docs/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	server := string(given)
	for from, to := range map[string]string{
		"server 127.0.0.1:8080 ":      "server " + upstream.address + " ",
		"listen 443 ":                 "listen " + strings.TrimPrefix(p.base, "https://") + " ",
		"/etc/nginx/shop.example.":    dir + "/shop.example.",
		"server_name shop.example;\n": "\n",
	} {
		if !strings.Contains(server, from) {
			t.Fatalf("docs/nginx.conf has no %q", from)
		}
		server = strings.ReplaceAll(server, from, to)
	}
	user := ""
	if os.Getuid() == 0 {
		user = "user root;\n"
	}
	temporary := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temporary += fmt.Sprintf("%s_temp_path %s/%s;\n", kind, dir, kind)
	}
	configuration := fmt.Sprintf("daemon off;\n%spid %s/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n%s%s}\n", user, dir, temporary, server)
	path := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(path, []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	command := exec.Command(program, "-p", dir, "-c", path)
	command.Stderr = &log
	master, err := startProcess(command)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = master.Signal(os.Interrupt)
		<-master.ended
		if t.Failed() {
			t.Logf("nginx said:\n%s", &log)
		}
	})
	eventually(t, 10*time.Second, "nginx answers", func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.base, "https://"))
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return p
}

// certify makes a certificate for this machine.
func (p *proxied) certify(t *testing.T, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		NotAfter:     time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	p.roots.AppendCertsFromPEM(certificate)
	for name, content := range map[string][]byte{
		"shop.example.crt": certificate,
		"shop.example.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// client is a browser that speaks one protocol, from an address of its own.
func (p *proxied) client(t *testing.T, http2 bool, address string) *http.Client {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{
		DialContext:       dialer.DialContext,
		ForceAttemptHTTP2: http2,
		TLSClientConfig:   &tls.Config{RootCAs: p.roots},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 90 * time.Second}
}

// open asks for an address and returns the answer, whose body may still come.
func (p *proxied) open(ctx context.Context, client *http.Client, method, path, body string, headers ...string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, p.base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	return client.Do(request)
}

func (p *proxied) buy(t *testing.T, client *http.Client, saleID int64, user string, headers ...string) purchase {
	t.Helper()
	response, err := p.open(t.Context(), client, http.MethodPost, fmt.Sprintf("/sales/%d/purchases", saleID), fmt.Sprintf(`{"userId":%q}`, user), headers...)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var accepted purchase
	if err := decode(response, &accepted); err != nil || response.StatusCode != http.StatusAccepted {
		t.Fatalf("got %s and %v", response.Status, err)
	}
	return accepted
}

// undecidedFor is for how long the purchases of the test behind nginx wait: longer
// than the longest poll, and two signs of life.
const undecidedFor = 32 * time.Second

// Behind nginx, as the documentation sets it up, buyers are told at once by every
// means, also after a long silence; and they have their own addresses.
func TestNginx(t *testing.T) {
	s := startService(t, 1)
	n := s.nodes[0]
	n.terminate(t)
	n.awaitExit(t, graceWithin)
	n.env = append(n.env, "SECKILL_TRUSTED_PROXIES=127.0.0.1/32")
	n.start(t)
	s.awaitReady(t)
	p := startNginx(t, n)
	sale := s.schedule(t, plan{Stock: 100, PerUserLimit: 1})
	held := s.holdSale(t, sale)

	var waiting sync.WaitGroup
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		client := p.client(t, http2, "127.0.0.9")
		bought := p.buy(t, client, sale, name)
		waiting.Go(func() { p.pollInVain(t, client, bought.RequestID) })
		waiting.Go(func() { p.pollInTime(t, client, bought.RequestID) })
		streams := 1
		if http2 {
			streams = 20 // on one connection
		}
		for range streams {
			waiting.Go(func() { p.listen(t, client, name, bought.RequestID) })
		}
		waiting.Go(func() { p.watch(t, client, sale) })
		if !http2 {
			waiting.Go(func() { p.listenSocket(t, client, bought.RequestID) })
		}
	}
	time.AfterFunc(undecidedFor, held.release)
	waiting.Wait()

	forged := p.buy(t, p.client(t, false, "127.0.0.9"), sale, "forger", "X-Forwarded-For: 203.0.113.7")
	var class string
	if err := s.db.QueryRow(t.Context(), "select metadata->>'addressClass' from events where stream_id = $1 and version = 1", forged.RequestID).Scan(&class); err != nil {
		t.Fatal(err)
	}
	if class != "loopback" {
		t.Errorf("the client of a forged header is taken for %s", class)
	}
	s.settle(t)
	s.stop(t)
	s.requireCleanAudit(t)
}

// pollInVain holds a poll for as long as the service does.
func (p *proxied) pollInVain(t *testing.T, client *http.Client, requestID string) {
	t.Helper()
	began := time.Now()
	p.poll(t, client, requestID, "processing")
	if took := time.Since(began); took < 29*time.Second {
		t.Errorf("a long poll was held for %s only", took)
	}
}

// pollInTime asks in time to be told.
func (p *proxied) pollInTime(t *testing.T, client *http.Client, requestID string) {
	t.Helper()
	time.Sleep(undecidedFor - 10*time.Second)
	p.poll(t, client, requestID, succeeded)
}

// poll asks for a purchase, and waits as long as it may for what is expected.
func (p *proxied) poll(t *testing.T, client *http.Client, requestID, want string) {
	t.Helper()
	response, err := p.open(t.Context(), client, http.MethodGet, "/purchases/"+requestID+"?wait=30s", "")
	if err != nil {
		t.Errorf("a long poll: %v", err)
		return
	}
	defer response.Body.Close()
	var told purchase
	if err := decode(response, &told); err != nil || told.Status != want {
		t.Errorf("a long poll answered %s, %+v and %v; want %s", response.Status, told, err, want)
	}
}

// listen follows a purchase by server-sent events.
func (p *proxied) listen(t *testing.T, client *http.Client, protocol, requestID string) {
	t.Helper()
	began := time.Now()
	response, err := p.open(t.Context(), client, http.MethodGet, "/purchases/"+requestID+"/events", "")
	if err != nil {
		t.Errorf("a stream: %v", err)
		return
	}
	defer response.Body.Close()
	if response.Proto != protocol {
		t.Errorf("a stream by %s, want %s", response.Proto, protocol)
	}
	stream := bufio.NewReader(response.Body)
	first, err := readEvent(stream)
	if err != nil || first.decided() || time.Since(began) > 5*time.Second {
		t.Errorf("the first event: %+v and %v after %s", first, err, time.Since(began))
	}
	last, err := readEvent(stream)
	if err != nil || last.Status != "succeeded" {
		t.Errorf("the second event: %+v and %v", last, err)
	}
}

// watch is shown a sale as it is, and what is sold in the end.
func (p *proxied) watch(t *testing.T, client *http.Client, saleID int64) {
	t.Helper()
	ctx, leave := context.WithTimeout(t.Context(), undecidedFor+20*time.Second)
	defer leave()
	response, err := p.open(ctx, client, http.MethodGet, fmt.Sprintf("/sales/%d/events", saleID), "")
	if err != nil {
		t.Errorf("a sale's stream: %v", err)
		return
	}
	defer response.Body.Close()
	began := time.Now()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			var shown struct{ Available int64 }
			if err := json.Unmarshal([]byte(data), &shown); err != nil {
				t.Error(err)
			}
			if shown.Available < 100 {
				if early := undecidedFor - time.Since(began); early > 5*time.Second {
					t.Errorf("a unit was sold %s too early", early)
				}
				return
			}
		}
	}
	t.Error("the watcher was not shown that something was sold")
}

// listenSocket follows a purchase by WebSocket.
func (p *proxied) listenSocket(t *testing.T, client *http.Client, requestID string) {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), p.base+"/purchases/"+requestID+"/ws", &websocket.DialOptions{
		HTTPClient: client,
		HTTPHeader: http.Header{"Origin": {p.base}},
	})
	if err != nil {
		t.Errorf("a socket: %v", err)
		return
	}
	defer conn.CloseNow()
	var told []string
	for {
		_, data, err := conn.Read(t.Context())
		if websocket.CloseStatus(err) == websocket.StatusNormalClosure {
			break
		}
		if err != nil {
			t.Errorf("a socket: %v", err)
			return
		}
		var message purchase
		if err := json.NewDecoder(bytes.NewReader(data)).Decode(&message); err != nil && err != io.EOF {
			t.Error(err)
		}
		told = append(told, message.Status)
	}
	if got := strings.Join(told, " "); got != "processing succeeded" {
		t.Errorf("a socket was sent %q", got)
	}
}
