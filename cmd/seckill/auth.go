package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"

	"seckill/http/auth"
)

const (
	authTrust = "trust"
	authJWT   = "jwt"
)

// TokenSettings say which tokens count. The secret is not among them: it comes from the
// environment only, where no list of processes shows it.
type TokenSettings struct {
	JWTKeyFile    string `name:"jwt-key-file" env:"SECKILL_JWT_KEY_FILE" type:"path" help:"Public keys in PEM that tokens are verified with: RS256, ES256, EdDSA. (For HS256 set SECKILL_JWT_SECRET in the environment.)"`
	JWKSURL       string `name:"jwks-url" env:"SECKILL_JWKS_URL" help:"Where the keys that tokens are verified with are published (JWK set)."`
	JWTIssuer     string `name:"jwt-issuer" env:"SECKILL_JWT_ISSUER" help:"Who must have issued a token."`
	JWTAudience   string `name:"jwt-audience" env:"SECKILL_JWT_AUDIENCE" help:"Whom a token must be for."`
	JWTRolesClaim string `name:"jwt-roles-claim" env:"SECKILL_JWT_ROLES_CLAIM" default:"roles" help:"The claim with the roles: buyer, operator, service. Without it a token is a buyer's."`
}

func (s *TokenSettings) config(logger *slog.Logger) auth.Config {
	return auth.Config{
		Audience:   s.JWTAudience,
		Issuer:     s.JWTIssuer,
		JWKSURL:    s.JWKSURL,
		KeyFile:    s.JWTKeyFile,
		Logger:     logger,
		RolesClaim: s.JWTRolesClaim,
		Secret:     os.Getenv("SECKILL_JWT_SECRET"),
	}
}

// verifier is what tokens are verified by, or nil in trust mode. That is for this
// machine only, unless somebody says by a long name that it is not.
func (c *ServeCmd) verifier(ctx context.Context, listener net.Listener, logger *slog.Logger) (*auth.Verifier, error) {
	if c.Auth == authJWT {
		verifier, err := auth.NewVerifier(ctx, c.config(logger))
		if err != nil {
			return nil, fmt.Errorf("SECKILL_AUTH=jwt: %w", err)
		}
		return verifier, nil
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if !c.TrustEveryone && (!ok || !address.IP.IsLoopback()) {
		return nil, errors.New("SECKILL_AUTH=trust lets whoever can connect buy in any name and act as the operator, so it listens on 127.0.0.1 only; " +
			"set SECKILL_AUTH=jwt, or say --trust-everyone-who-can-connect")
	}
	return nil, nil //nolint:nilnil // which is trust mode
}
