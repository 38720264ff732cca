package http

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"
)

// cursorMAC is how many bytes of the signature a cursor carries: enough that nobody
// makes one up, and all that would be won is another place in the same list.
const cursorMAC = 16

// signCursor writes a place in a list, for the next call. It fits that list only.
func (s *Server) signCursor(list string, place any) string {
	payload, _ := json.Marshal(place) // numbers, strings and times always encode
	return base64.RawURLEncoding.EncodeToString(append(s.mac("cursor of "+list, payload)[:cursorMAC], payload...))
}

// readCursor reads what signCursor wrote into place, and leaves place as it is for
// an empty cursor. Any other text is a problem.
func (s *Server) readCursor(list, cursor string, place any) error {
	if cursor == "" {
		return nil
	}
	token, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(token) < cursorMAC ||
		!hmac.Equal(token[:cursorMAC], s.mac("cursor of "+list, token[cursorMAC:])[:cursorMAC]) ||
		json.Unmarshal(token[cursorMAC:], place) != nil {
		return problem("invalid_request", &huma.ErrorDetail{
			Location: "query.cursor", Message: "must be the next of an earlier answer to the same question", Value: cursor,
		})
	}
	return nil
}
