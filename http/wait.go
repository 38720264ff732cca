package http

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// maxWait is the longest long poll; a longer wish counts as this.
const maxWait = 30 * time.Second

// wait is how long a caller is willing to wait for a result.
type wait struct {
	limit   time.Duration
	applied string // for Preference-Applied, when Prefer decided
}

// parseWait reads the query's wait, which beats a Prefer header's.
func parseWait(query, prefer string) (wait, error) {
	if query != "" {
		limit, ok := parseDuration(query)
		if !ok {
			return wait{}, problem("invalid_request", &huma.ErrorDetail{
				Location: "query.wait",
				Message:  "must be a duration such as 30s, or a number of seconds, not negative",
				Value:    query,
			})
		}
		return wait{limit: limit}, nil
	}
	for _, preference := range strings.FieldsFunc(prefer, func(r rune) bool { return r == ',' || r == ';' }) {
		value, ok := strings.CutPrefix(strings.ToLower(strings.ReplaceAll(preference, " ", "")), "wait=")
		if !ok {
			continue
		}
		limit, ok := parseDuration(value)
		if !ok {
			return wait{}, problem("invalid_request", &huma.ErrorDetail{
				Location: "header.Prefer", Message: "wait must be a number of seconds, not negative", Value: prefer,
			})
		}
		return wait{limit: limit, applied: "wait=" + strconv.Itoa(int(limit.Seconds()))}, nil
	}
	return wait{}, nil
}

func parseDuration(text string) (time.Duration, bool) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if math.IsNaN(seconds) || math.IsInf(seconds, 0) || seconds < 0 {
			return 0, false
		}
		return time.Duration(min(seconds, maxWait.Seconds()) * float64(time.Second)), true
	}
	duration, err := time.ParseDuration(text)
	if err != nil || duration < 0 {
		return 0, false
	}
	return min(duration, maxWait), true
}
