package http

import (
	"context"
	"encoding/json"
	"regexp"
)

var traceparentPattern = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// requestMetadata is what is kept beside an event that a caller caused: who acted,
// the W3C trace that the call belongs to, and where it came from.
func requestMetadata(ctx context.Context, actor, traceparent string) []byte {
	metadata := struct {
		Actor        string `json:"actor,omitempty"`
		Traceparent  string `json:"traceparent,omitempty"`
		AddressClass string `json:"addressClass,omitempty"`
	}{Actor: actor}
	if traceparentPattern.MatchString(traceparent) {
		metadata.Traceparent = traceparent
	}
	metadata.AddressClass = addressClass(clientAddress(ctx))
	encoded, _ := json.Marshal(metadata) // strings always encode
	return encoded
}
