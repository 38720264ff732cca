package main

import (
	"fmt"
	"log/slog"
	"time"

	"seckill/http/auth"
)

// TokenCmd makes a token for trying out.
type TokenCmd struct {
	TokenSettings

	User string        `required:"" help:"Who the bearer is (sub)."`
	Role []string      `default:"buyer" enum:"buyer,operator,service" help:"What the bearer may do."`
	TTL  time.Duration `name:"ttl" default:"1h" help:"How long the token counts."`
}

// Run prints the token.
func (c *TokenCmd) Run() error {
	caller := auth.Caller{User: c.User}
	for _, role := range c.Role {
		caller.Roles = append(caller.Roles, auth.Role(role))
	}
	token, err := auth.Mint(c.config(slog.New(slog.DiscardHandler)), caller, c.TTL)
	if err != nil {
		return err
	}
	fmt.Println(token)
	return nil
}
