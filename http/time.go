package http

import (
	"regexp"
	"time"

	"seckill/domain"
)

// rfc3339 is the form of a time. Go's parser also takes a comma for the point,
// hours of one digit, and zones that are more than a day away.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// parseTime reads a field that holds a time of RFC 3339, in any zone.
func parseTime(field, text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || !rfc3339.MatchString(text) {
		return time.Time{}, invalidField(&domain.InvalidError{Field: field, Detail: "must be a time of RFC 3339 such as 2026-11-11T20:00:00+08:00"})
	}
	return t, nil
}
