package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	lru "github.com/hashicorp/golang-lru/v2"

	"seckill/domain"
)

const (
	// leeway is how much the clocks of those who make tokens may differ from ours.
	leeway = 30 * time.Second
	// maxToken bounds what is looked at.
	maxToken = 8 << 10
	// remembered is how many verified tokens are kept, at about 300 bytes each, and
	// rememberedFor for how long: verifying one with RS256 costs some 30 µs.
	remembered    = 65_536
	rememberedFor = time.Minute
)

// ErrInvalid is returned for a token that does not count. What it wraps says why, and
// is not for the caller's eyes.
var ErrInvalid = errors.New("invalid token")

// Config says which tokens count. Exactly one source of keys must be given.
type Config struct {
	Secret  string // for HS256
	KeyFile string // PEM: public keys for RS256, ES256 and EdDSA
	JWKSURL string

	Issuer     string
	Audience   string
	RolesClaim string
	Logger     *slog.Logger
}

// Verifier verifies tokens. It may be used by many goroutines.
type Verifier struct {
	keys       keys
	parser     *jwt.Parser
	rolesClaim string
	verified   *lru.Cache[[sha256.Size]byte, verified]
}

// verified is a token that counts until then.
type verified struct {
	caller Caller
	until  time.Time
}

// NewVerifier returns a verifier. The keys of a URL are followed until the context
// ends.
func NewVerifier(ctx context.Context, c Config) (*Verifier, error) {
	if c.Issuer == "" || c.Audience == "" {
		return nil, errors.New("SECKILL_JWT_ISSUER and SECKILL_JWT_AUDIENCE must be set")
	}
	keys, err := keysOf(ctx, c)
	if err != nil {
		return nil, err
	}
	cache, err := lru.New[[sha256.Size]byte, verified](remembered)
	if err != nil {
		return nil, err
	}
	return &Verifier{
		keys: keys,
		parser: jwt.NewParser(
			jwt.WithAudience(c.Audience),
			jwt.WithExpirationRequired(),
			jwt.WithIssuedAt(),
			jwt.WithIssuer(c.Issuer),
			jwt.WithLeeway(leeway),
			jwt.WithStrictDecoding(),
			jwt.WithValidMethods(keys.methods),
		),
		rolesClaim: c.RolesClaim,
		verified:   cache,
	}, nil
}

// Verify returns who the bearer of a token is. It returns an error wrapping
// ErrInvalid for a token that does not count.
func (v *Verifier) Verify(token string) (Caller, error) {
	if len(token) > maxToken {
		return Caller{}, fmt.Errorf("%w: too long", ErrInvalid)
	}
	now := time.Now()
	hash := sha256.Sum256([]byte(token))
	if known, ok := v.verified.Get(hash); ok && now.Before(known.until) {
		return known.caller, nil
	}
	claims := jwt.MapClaims{}
	if _, err := v.parser.ParseWithClaims(token, claims, v.keys.find); err != nil {
		return Caller{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	caller, err := v.callerOf(claims)
	if err != nil {
		return Caller{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	expires, err := claims.GetExpirationTime()
	if err != nil {
		return Caller{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	until := now.Add(rememberedFor)
	if end := expires.Add(leeway); end.Before(until) {
		until = end
	}
	v.verified.Add(hash, verified{caller, until})
	return caller, nil
}

func (v *Verifier) callerOf(claims jwt.MapClaims) (Caller, error) {
	user, err := claims.GetSubject()
	if err != nil {
		return Caller{}, err
	}
	if err := domain.CheckUserID(user); err != nil {
		return Caller{}, err
	}
	roles, err := rolesOf(claims[v.rolesClaim])
	return Caller{User: user, Roles: roles}, err
}

// rolesOf reads a claim: a string, of several separated by spaces, or an array. A
// token without it is a buyer's. Roles that are not ours are somebody else's.
func rolesOf(claim any) ([]Role, error) {
	var names []string
	switch claim := claim.(type) {
	case nil:
		return []Role{Buyer}, nil
	case string:
		names = strings.Fields(claim)
	case []any:
		for _, element := range claim {
			name, ok := element.(string)
			if !ok {
				return nil, errors.New("a role is no string")
			}
			names = append(names, name)
		}
	default:
		return nil, errors.New("the roles are neither a string nor an array")
	}
	var roles []Role
	for _, name := range names {
		switch role := Role(name); role {
		case Buyer, Operator, Service:
			roles = append(roles, role)
		}
	}
	return roles, nil
}

// Mint makes a token for trying out, with a secret.
func Mint(c Config, caller Caller, lifetime time.Duration) (string, error) {
	if len(c.Secret) < minSecret {
		return "", fmt.Errorf("SECKILL_JWT_SECRET must have at least %d bytes", minSecret)
	}
	if err := domain.CheckUserID(caller.User); err != nil {
		return "", err
	}
	now := time.Now()
	return jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"aud":        c.Audience,
		"exp":        now.Add(lifetime).Unix(),
		"iat":        now.Unix(),
		"iss":        c.Issuer,
		"sub":        caller.User,
		c.RolesClaim: caller.Roles,
	}).SignedString([]byte(c.Secret))
}
