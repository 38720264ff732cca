package http

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// withCodes documents the problems that an operation answers, each code with an
// example, and bounds what it reads.
func withCodes(op huma.Operation, codes ...string) huma.Operation {
	op.MaxBodyBytes = maxBodyBytes
	op.BodyReadTimeout = bodyReadTimeout
	if op.Responses == nil {
		op.Responses = make(map[string]*huma.Response)
	}
	slices.Sort(codes)
	for _, code := range codes {
		p := problem(code)
		status := strconv.Itoa(p.Status)
		response, ok := op.Responses[status]
		if !ok {
			response = &huma.Response{
				Description: http.StatusText(p.Status) + ":",
				Content: map[string]*huma.MediaType{"application/problem+json": {
					Schema:   &huma.Schema{Ref: "#/components/schemas/Problem"},
					Examples: make(map[string]*huma.Example),
				}},
			}
			if p.retryAfter > 0 {
				response.Headers = map[string]*huma.Param{"Retry-After": {
					Description: "Seconds to wait before the next try.",
					Schema:      &huma.Schema{Type: huma.TypeInteger},
				}}
			}
			op.Responses[status] = response
		}
		response.Description += " `" + code + "`"
		response.Content["application/problem+json"].Examples[code] = &huma.Example{Summary: p.Detail, Value: p}
	}
	return op
}

// bodyCodes are the problems of every operation that reads a JSON body.
var bodyCodes = []string{
	"body_too_large", "invalid_json", "invalid_request", "request_timeout", "unsupported_media_type",
}

func withBody(codes ...string) []string { return append(codes, bodyCodes...) }
