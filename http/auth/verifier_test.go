package auth_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"seckill/http/auth"
)

const secret = "a secret of the tests, long enough"

// config is for tokens of the tests' issuer; the keys are to be filled in.
func config() auth.Config {
	return auth.Config{Audience: "seckill", Issuer: "https://login.example", Logger: slog.New(slog.DiscardHandler), RolesClaim: "roles"}
}

// claims are those of a token that counts, changed.
func claims(changes jwt.MapClaims) jwt.MapClaims {
	all := jwt.MapClaims{
		"aud": "seckill", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(), "iss": "https://login.example", "sub": "42",
	}
	for name, value := range changes {
		if value == nil {
			delete(all, name)
		} else {
			all[name] = value
		}
	}
	return all
}

func sign(tb testing.TB, method jwt.SigningMethod, key any, c jwt.MapClaims) string {
	tb.Helper()
	token, err := jwt.NewWithClaims(method, c).SignedString(key)
	if err != nil {
		tb.Fatal(err)
	}
	return token
}

func newVerifier(tb testing.TB, c auth.Config) *auth.Verifier {
	tb.Helper()
	v, err := auth.NewVerifier(tb.Context(), c)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func withSecret() auth.Config {
	c := config()
	c.Secret = secret
	return c
}

func ago(d time.Duration) int64 { return time.Now().Add(-d).Unix() }

func TestVerifier_Claims(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, withSecret())
	for name, test := range map[string]struct {
		changes jwt.MapClaims
		counts  bool
	}{
		"AsItShouldBe":      {nil, true},
		"Expired":           {jwt.MapClaims{"exp": ago(time.Minute)}, false},
		"JustExpired":       {jwt.MapClaims{"exp": ago(10 * time.Second)}, true}, // clocks differ
		"NeverExpires":      {jwt.MapClaims{"exp": nil}, false},
		"ExpiryIsText":      {jwt.MapClaims{"exp": "tomorrow"}, false},
		"IssuedInTheFuture": {jwt.MapClaims{"iat": ago(-time.Minute)}, false},
		"IssuedJustNow":     {jwt.MapClaims{"iat": ago(-10 * time.Second)}, true},
		"NotYet":            {jwt.MapClaims{"nbf": ago(-time.Minute)}, false},
		"OtherAudience":     {jwt.MapClaims{"aud": "another shop"}, false},
		"TwoAudiences":      {jwt.MapClaims{"aud": []string{"another shop", "seckill"}}, true},
		"NoAudience":        {jwt.MapClaims{"aud": nil}, false},
		"OtherIssuer":       {jwt.MapClaims{"iss": "https://evil.example"}, false},
		"NoIssuer":          {jwt.MapClaims{"iss": nil}, false},
		"NoSubject":         {jwt.MapClaims{"sub": nil}, false},
		"EmptySubject":      {jwt.MapClaims{"sub": ""}, false},
		"LongSubject":       {jwt.MapClaims{"sub": strings.Repeat("x", 65)}, false},
		"ControlSubject":    {jwt.MapClaims{"sub": "a\nb"}, false},
		"RolesAreANumber":   {jwt.MapClaims{"roles": 7}, false},
		"RolesHaveANumber":  {jwt.MapClaims{"roles": []any{"buyer", 7}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caller, err := v.Verify(sign(t, jwt.SigningMethodHS256, []byte(secret), claims(test.changes)))
			if test.counts && (err != nil || caller.User != "42") {
				t.Errorf("got %+v and %v, want the caller", caller, err)
			}
			if !test.counts && (!errors.Is(err, auth.ErrInvalid) || !caller.Anonymous()) {
				t.Errorf("got %+v and %v, want it refused", caller, err)
			}
		})
	}
}

func TestVerifier_Roles(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, withSecret())
	for name, test := range map[string]struct {
		claim any
		want  []auth.Role
	}{
		"None":    {nil, []auth.Role{auth.Buyer}},
		"One":     {"operator", []auth.Role{auth.Operator}},
		"Two":     {"buyer service", []auth.Role{auth.Buyer, auth.Service}},
		"Array":   {[]string{"operator", "admin"}, []auth.Role{auth.Operator}},
		"Foreign": {"admin", nil},
		"Empty":   {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caller, err := v.Verify(sign(t, jwt.SigningMethodHS256, []byte(secret), claims(jwt.MapClaims{"roles": test.claim})))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, caller.Roles); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// pemOf is a public key as it stands in a file.
func pemOf(t *testing.T, public any) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func newRSA(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// A key counts for its own algorithm only, and a signature for its own key.
func TestVerifier_Keys(t *testing.T) {
	t.Parallel()
	rsaKey, otherRSA := newRSA(t), newRSA(t)
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	edPublic, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public := pemOf(t, rsaKey.Public())
	path := filepath.Join(t.TempDir(), "keys.pem")
	all := append(append(public, pemOf(t, ecKey.Public())...), pemOf(t, edPublic)...)
	if err := os.WriteFile(path, all, 0o600); err != nil {
		t.Fatal(err)
	}
	byFile := config()
	byFile.KeyFile = path
	file, shared := newVerifier(t, byFile), newVerifier(t, withSecret())
	good := claims(nil)
	unsigned := sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, good)
	signed := sign(t, jwt.SigningMethodRS256, rsaKey, good)
	parts := strings.Split(signed, ".")
	payload, err := json.Marshal(claims(jwt.MapClaims{"sub": "43"}))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		verifier *auth.Verifier
		token    string
		counts   bool
	}{
		"HS256":            {shared, sign(t, jwt.SigningMethodHS256, []byte(secret), good), true},
		"RS256":            {file, signed, true},
		"ES256":            {file, sign(t, jwt.SigningMethodES256, ecKey, good), true},
		"EdDSA":            {file, sign(t, jwt.SigningMethodEdDSA, edKey, good), true},
		"OtherSecret":      {shared, sign(t, jwt.SigningMethodHS256, []byte("a guess"), good), false},
		"HS512":            {shared, sign(t, jwt.SigningMethodHS512, []byte(secret), good), false},
		"OtherKey":         {file, sign(t, jwt.SigningMethodRS256, otherRSA, good), false},
		"RS512":            {file, sign(t, jwt.SigningMethodRS512, rsaKey, good), false},
		"None":             {file, unsigned, false},
		"NoneForASecret":   {shared, unsigned, false},
		"PublicAsSecret":   {file, sign(t, jwt.SigningMethodHS256, public, good), false}, // key confusion
		"AnotherPayload":   {file, parts[0] + "." + base64.RawURLEncoding.EncodeToString(payload) + "." + parts[2], false},
		"NoSignature":      {file, parts[0] + "." + parts[1] + ".", false},
		"TwoParts":         {file, parts[0] + "." + parts[1], false},
		"Padding":          {file, signed + "=", false},
		"Empty":            {file, "", false},
		"Nonsense":         {file, "a.b.c", false},
		"LongerThanNeeded": {shared, sign(t, jwt.SigningMethodHS256, []byte(secret), claims(jwt.MapClaims{"x": strings.Repeat("x", 10_000)})), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 2 { // the second time from what is remembered
				caller, err := test.verifier.Verify(test.token)
				if test.counts != (err == nil) || test.counts == caller.Anonymous() {
					t.Errorf("got %+v and %v", caller, err)
				}
			}
		})
	}
}

// jwks is a server that publishes keys, until it is down.
type jwks struct {
	*httptest.Server

	keys atomic.Value // []byte
	down atomic.Bool
	asks atomic.Int64
}

func (j *jwks) publish(t *testing.T, keys map[string]crypto.PublicKey) {
	t.Helper()
	set := jwkset.NewMemoryStorage()
	for id, key := range keys {
		jwk, err := jwkset.NewJWKFromKey(key, jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{KID: id}})
		if err != nil {
			t.Fatal(err)
		}
		if err := set.KeyWrite(t.Context(), jwk); err != nil {
			t.Fatal(err)
		}
	}
	published, err := set.JSONPublic(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	j.keys.Store([]byte(published))
}

func startJWKS(t *testing.T) *jwks {
	t.Helper()
	j := &jwks{}
	j.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		j.asks.Add(1)
		if j.down.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(j.keys.Load().([]byte))
	}))
	t.Cleanup(j.Close)
	return j
}

// New keys count as soon as one is used; what is known counts while the keys cannot be
// read; and who names keys that do not exist does not make us ask for them each time.
func TestVerifier_JWKS(t *testing.T) {
	t.Parallel()
	j := startJWKS(t)
	old, fresh := newRSA(t), newRSA(t)
	j.publish(t, map[string]crypto.PublicKey{"old": old.Public()})
	c := config()
	c.JWKSURL = j.URL
	v := newVerifier(t, c)
	by := func(id string, key *rsa.PrivateKey, user string) string {
		token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims(jwt.MapClaims{"sub": user}))
		token.Header["kid"] = id
		signed, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	if _, err := v.Verify(by("old", old, "1")); err != nil {
		t.Fatal(err)
	}

	j.publish(t, map[string]crypto.PublicKey{"fresh": fresh.Public()})
	if _, err := v.Verify(by("fresh", fresh, "2")); err != nil {
		t.Errorf("after the rotation: %v", err)
	}
	if _, err := v.Verify(by("old", old, "3")); !errors.Is(err, auth.ErrInvalid) {
		t.Errorf("a key that was taken back: %v, want it refused", err)
	}

	j.down.Store(true)
	asks := j.asks.Load()
	for range 1_000 {
		if _, err := v.Verify(by("made up", old, "4")); !errors.Is(err, auth.ErrInvalid) {
			t.Fatalf("a key that does not exist: %v, want it refused", err)
		}
	}
	if more := j.asks.Load() - asks; more > 1 {
		t.Errorf("%d requests because of keys that do not exist, want one at most", more)
	}
	if _, err := v.Verify(by("fresh", fresh, "5")); err != nil {
		t.Errorf("while the keys cannot be read: %v", err)
	}
}

func TestNewVerifier_Settings(t *testing.T) {
	t.Parallel()
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Skip("this version of Go makes no weak keys:", err)
	}
	path := filepath.Join(t.TempDir(), "weak.pem")
	if err := os.WriteFile(path, pemOf(t, weak.Public()), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*auth.Config){
		"NoKeys":      func(c *auth.Config) { c.Secret = "" },
		"TwoSources":  func(c *auth.Config) { c.KeyFile = path },
		"ShortSecret": func(c *auth.Config) { c.Secret = "secret" },
		"NoIssuer":    func(c *auth.Config) { c.Issuer = "" },
		"NoAudience":  func(c *auth.Config) { c.Audience = "" },
		"WeakKey":     func(c *auth.Config) { c.Secret, c.KeyFile = "", path },
		"NoFile":      func(c *auth.Config) { c.Secret, c.KeyFile = "", path+"x" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := withSecret()
			change(&c)
			if _, err := auth.NewVerifier(t.Context(), c); err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("got %v, want an error that does not give the secret away", err)
			}
		})
	}
}

func TestMint(t *testing.T) {
	t.Parallel()
	want := auth.Caller{User: "42", Roles: []auth.Role{auth.Operator, auth.Buyer}}
	token, err := auth.Mint(withSecret(), want, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	got, err := newVerifier(t, withSecret()).Verify(token)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Nothing that is not signed is anybody.
func FuzzVerifier(f *testing.F) {
	v := newVerifier(f, withSecret())
	good := sign(f, jwt.SigningMethodHS256, []byte(secret), claims(nil))
	f.Add(good)
	f.Add(sign(f, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, claims(nil)))
	f.Add("eyJhbGciOiJIUzI1NiJ9.e30.")
	f.Fuzz(func(t *testing.T, token string) {
		if caller, err := v.Verify(token); token != good && (err == nil || !caller.Anonymous()) {
			t.Errorf("%q is %+v", token, caller)
		}
	})
}
