package http

import (
	"encoding/json"
	"regexp"
)

var traceparentPattern = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// requestMetadata is what is kept beside an event that a caller caused: who acted
// and the W3C trace that the call belongs to.
func requestMetadata(actor, traceparent string) []byte {
	metadata := struct {
		Actor       string `json:"actor,omitempty"`
		Traceparent string `json:"traceparent,omitempty"`
	}{Actor: actor}
	if traceparentPattern.MatchString(traceparent) {
		metadata.Traceparent = traceparent
	}
	encoded, _ := json.Marshal(metadata) // two strings always encode
	return encoded
}
