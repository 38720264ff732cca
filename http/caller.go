package http

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"seckill/domain"
	"seckill/http/auth"
)

// In trust mode nobody says who calls: everybody has every role, and names the buyer.
// With a Verifier a caller has a token, in the header or in a cookie, and each operation
// asks for the roles that stand in its description.

// tokenCookie holds the token of a page of the same origin. The prefix has browsers
// accept it over TLS only, and from no other host.
const tokenCookie = "__Host-seckill"

// The ways to say who one is, as the API's description names them.
const (
	bearerScheme = "bearer"
	ticketScheme = "ticket"
)

var securitySchemes = map[string]*huma.SecurityScheme{
	bearerScheme: {
		Type: "http", Scheme: "bearer", BearerFormat: "JWT",
		Description: "A JSON Web Token, in the header or in the cookie " + tokenCookie + ". In trust mode nothing is asked for.",
	},
	ticketScheme: {
		Type: "apiKey", In: "query", Name: "ticket",
		Description: "For EventSource and WebSocket: the links of a purchase carry it.",
	},
}

// withRoles documents that an operation is for callers who have one of the roles; what
// is documented is enforced.
func withRoles(op huma.Operation, roles ...auth.Role) huma.Operation {
	var scopes []string
	for _, role := range roles {
		scopes = append(scopes, string(role))
	}
	op.Security = []map[string][]string{{bearerScheme: scopes}}
	return withCodes(op, "unauthorized", "forbidden")
}

// withTicket lets who has a ticket call it, too.
func withTicket(op huma.Operation) huma.Operation {
	op.Security = append(op.Security, map[string][]string{ticketScheme: {}})
	return op
}

type callerKey struct{}

// callerOf is who calls, and false in trust mode.
func callerOf(ctx context.Context) (auth.Caller, bool) {
	caller, ok := ctx.Value(callerKey{}).(auth.Caller)
	return caller, ok
}

// identify finds out who calls. A token that does not count is as good as none: what
// is for everybody stays so.
func (s *Server) identify(next http.Handler) http.Handler {
	if s.Verifier == nil {
		return next
	}
	crossOrigin := http.NewCrossOriginProtection()
	for _, origin := range s.Origins {
		if err := crossOrigin.AddTrustedOrigin(origin); err != nil {
			panic(err) // CheckOrigin accepts no such
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !isBearer {
			if cookie, err := r.Cookie(tokenCookie); err == nil && crossOrigin.Check(r) == nil {
				token = cookie.Value
			} else {
				token = ""
			}
		}
		var caller auth.Caller
		if token != "" {
			var err error
			if caller, err = s.Verifier.Verify(token); err != nil {
				s.logger.DebugContext(r.Context(), "refused a token", "error", err)
			}
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
	})
}

// authorize enforces what the description of an operation says.
func (s *Server) authorize(ctx huma.Context, next func(huma.Context)) {
	security := ctx.Operation().Security
	if len(security) == 0 {
		next(ctx)
		return
	}
	caller, on := callerOf(ctx.Context())
	if !on {
		next(ctx)
		return
	}
	var roles []auth.Role
	for _, scheme := range security {
		for _, scope := range scheme[bearerScheme] {
			roles = append(roles, auth.Role(scope))
		}
		if _, ok := scheme[ticketScheme]; ok && caller.Anonymous() {
			if user, ok := s.tickets.User(ctx.Query(ticketScheme), ctx.Param("requestId"), time.Now()); ok {
				caller = auth.Caller{User: user, Roles: []auth.Role{auth.Buyer}}
				ctx = huma.WithValue(ctx, callerKey{}, caller)
			}
		}
	}
	if err := may(ctx.Context(), roles...); err != nil {
		_, w := humago.Unwrap(ctx)
		err.write(w)
		return
	}
	next(ctx)
}

// may returns a problem unless the caller has one of the roles.
func may(ctx context.Context, roles ...auth.Role) *Problem {
	caller, on := callerOf(ctx)
	switch {
	case !on:
		return nil
	case caller.Anonymous():
		return problem("unauthorized")
	case !caller.HasAny(roles...):
		return problem("forbidden")
	default:
		return nil
	}
}

// sees reports whether a caller may see what belongs to a user.
func sees(ctx context.Context, user string) bool {
	caller, on := callerOf(ctx)
	return !on || caller.User == user || caller.HasAny(auth.Operator)
}

// actor is the user that a call is about: the one it names, who must be the caller, or
// whom the caller may act for; else the caller.
func actor(ctx context.Context, named string, actsFor ...auth.Role) (string, error) {
	caller, on := callerOf(ctx)
	switch {
	case !on && named == "":
		return "", problem("user_required")
	case on && named == "":
		return caller.User, nil
	case on && named != caller.User && !caller.HasAny(actsFor...):
		return "", problem("forbidden")
	default:
		return named, nil
	}
}

// queriedUser is who a list is about.
func queriedUser(ctx context.Context, named string) (string, error) {
	user, err := actor(ctx, named, auth.Operator)
	if err != nil {
		return "", err
	}
	if invalid, ok := errors.AsType[*domain.InvalidError](domain.CheckUserID(user)); ok {
		return "", problem("invalid_request", &huma.ErrorDetail{Location: "query.userId", Message: invalid.Detail})
	}
	return user, nil
}

// me says who calls.
type me struct {
	Auth   string      `json:"auth" enum:"trust,jwt" doc:"trust: everybody names the buyer." example:"jwt"`
	UserID string      `json:"userId,omitempty" doc:"Absent where it is not known who calls." example:"42"`
	Roles  []auth.Role `json:"roles,omitempty" example:"[\"buyer\"]"`
}

type meAnswer struct {
	CacheControl string `header:"Cache-Control"`
	Body         me
}

func (s *Server) registerMe() {
	huma.Register(s.api, withCodes(huma.Operation{
		OperationID: "get-me",
		Method:      http.MethodGet,
		Path:        "/me",
		Summary:     "Who calls",
		Description: "For pages, which cannot read their cookie.",
		Tags:        []string{"purchases"},
		Responses: map[string]*huma.Response{"200": {
			Description: "Who calls.",
			Content:     exampleContent("#/components/schemas/Me", me{Auth: "jwt", UserID: "42", Roles: []auth.Role{auth.Buyer}}),
		}},
	}), func(ctx context.Context, _ *struct{}) (*meAnswer, error) {
		caller, on := callerOf(ctx)
		answer := &meAnswer{CacheControl: "no-store", Body: me{Auth: "trust"}}
		if on {
			answer.Body = me{Auth: "jwt", UserID: caller.User, Roles: caller.Roles}
		}
		return answer, nil
	})
}

// shown is a purchase as its buyer is shown it. With a Verifier the links by which it
// can be followed carry a ticket, as long as there is something to follow.
func (s *Server) shown(ctx context.Context, body PurchaseBody) PurchaseBody {
	if _, on := callerOf(ctx); on && body.Success == nil {
		ticket := fmt.Sprintf("?%s=%s", ticketScheme, s.tickets.Make(body.UserID, body.RequestID, time.Now()))
		body.Links.Events += ticket
		body.Links.WS += ticket
	}
	return body
}
