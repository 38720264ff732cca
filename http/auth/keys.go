package auth

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"
)

const (
	// minSecret is as long as the hash of HS256 (RFC 7518, 3.2).
	minSecret = 32
	// jwksRefresh is how often the keys of a URL are read again, and jwksUnknown how
	// often at most because of a key that is not among them: anybody can name one.
	jwksRefresh = 5 * time.Minute
	jwksUnknown = 10 * time.Second
	jwksTimeout = 5 * time.Second
)

// keys are what tokens are verified with: each kind of key with its algorithms only,
// so that a public key is never taken for a secret.
type keys struct {
	methods []string
	find    jwt.Keyfunc
}

func keysOf(ctx context.Context, c Config) (keys, error) {
	switch {
	case c.given() != 1:
		return keys{}, errors.New("exactly one of SECKILL_JWT_SECRET, SECKILL_JWT_KEY_FILE and SECKILL_JWKS_URL must be set")
	case c.KeyFile != "":
		return fileKeys(c.KeyFile)
	case c.JWKSURL != "":
		return urlKeys(ctx, c.JWKSURL, c.Logger)
	case len(c.Secret) < minSecret:
		return keys{}, fmt.Errorf("SECKILL_JWT_SECRET must have at least %d bytes", minSecret)
	default:
		secret := []byte(c.Secret)
		return keys{methods: []string{"HS256"}, find: func(*jwt.Token) (any, error) { return secret, nil }}, nil
	}
}

func (c Config) given() int {
	count := 0
	for _, source := range []string{c.Secret, c.KeyFile, c.JWKSURL} {
		if source != "" {
			count++
		}
	}
	return count
}

// fileKeys reads public keys, or certificates, in PEM.
func fileKeys(path string) (keys, error) {
	rest, err := os.ReadFile(path)
	if err != nil {
		return keys{}, fmt.Errorf("read the keys for tokens: %w", err)
	}
	byMethod := make(map[string][]jwt.VerificationKey)
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		key, err := publicKey(block)
		if err != nil {
			return keys{}, fmt.Errorf("%s: %w", path, err)
		}
		method, err := methodOf(key)
		if err != nil {
			return keys{}, fmt.Errorf("%s: %w", path, err)
		}
		byMethod[method] = append(byMethod[method], key)
	}
	if len(byMethod) == 0 || len(bytes.TrimSpace(rest)) > 0 {
		return keys{}, fmt.Errorf("%s: want public keys in PEM", path)
	}
	k := keys{find: func(token *jwt.Token) (any, error) {
		return jwt.VerificationKeySet{Keys: byMethod[token.Method.Alg()]}, nil
	}}
	for method := range byMethod {
		k.methods = append(k.methods, method)
	}
	return k, nil
}

func publicKey(block *pem.Block) (any, error) {
	switch block.Type {
	case "PUBLIC KEY":
		return x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		return x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		return certificate.PublicKey, nil
	default:
		return nil, fmt.Errorf("a %q is no public key", block.Type)
	}
}

func methodOf(key any) (string, error) {
	switch key := key.(type) {
	case *rsa.PublicKey:
		if key.Size() < 256 {
			return "", errors.New("an RSA key must have at least 2048 bits")
		}
		return "RS256", nil
	case *ecdsa.PublicKey:
		if key.Curve.Params().BitSize != 256 {
			return "", errors.New("an ECDSA key must be of the curve P-256")
		}
		return "ES256", nil
	case ed25519.PublicKey:
		return "EdDSA", nil
	default:
		return "", fmt.Errorf("keys of the kind %T are not known", key)
	}
}

// urlKeys follows a JWK set (RFC 7517). While it cannot be read, the keys that are
// known count.
func urlKeys(ctx context.Context, url string, logger *slog.Logger) (keys, error) {
	find, err := keyfunc.NewDefaultOverrideCtx(ctx, []string{url}, keyfunc.Override{
		HTTPTimeout:       jwksTimeout,
		RateLimitWaitMax:  time.Millisecond, // refused at once, not held
		RefreshInterval:   jwksRefresh,
		RefreshUnknownKID: rate.NewLimiter(rate.Every(jwksUnknown), 1),
		RefreshErrorHandlerFunc: func(string) func(context.Context, error) {
			return func(_ context.Context, err error) { logger.Warn("could not read the keys for tokens", "error", err) }
		},
	})
	if err != nil {
		return keys{}, fmt.Errorf("follow the keys for tokens: %w", err)
	}
	return keys{methods: []string{"RS256", "ES256", "EdDSA"}, find: find.Keyfunc}, nil
}
