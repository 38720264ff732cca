package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"
)

// TicketLifetime is how long a ticket counts: as long as a page may try to follow one
// purchase.
const TicketLifetime = 10 * time.Minute

// Tickets are for EventSource and WebSocket, which cannot send a token: who has one may
// follow one request, as the user who was given it.
type Tickets struct{ secret []byte }

// NewTickets returns tickets that every node with the same secret accepts.
func NewTickets(secret []byte) Tickets { return Tickets{secret} }

const (
	expirySize = 8
	// maxTicket bounds what is looked at: a user's name has 64 characters at most.
	maxTicket = 512
)

// Make returns a ticket for a user to follow a request: when it expires, a signature,
// and the user.
func (t Tickets) Make(user, requestID string, now time.Time) string {
	expiry := binary.BigEndian.AppendUint64(nil, uint64(now.Add(TicketLifetime).Unix()))
	ticket := append(expiry, t.mac(user, requestID, expiry)...)
	return base64.RawURLEncoding.EncodeToString(append(ticket, user...))
}

// User returns whose ticket it is, and false unless it counts for the request now.
func (t Tickets) User(ticket, requestID string, now time.Time) (user string, ok bool) {
	if len(ticket) > maxTicket {
		return "", false
	}
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(ticket)
	if err != nil || len(decoded) <= expirySize+sha256.Size {
		return "", false
	}
	expiry, mac := decoded[:expirySize], decoded[expirySize:expirySize+sha256.Size]
	user = string(decoded[expirySize+sha256.Size:])
	inTime := now.Unix() < int64(binary.BigEndian.Uint64(expiry))
	return user, hmac.Equal(mac, t.mac(user, requestID, expiry)) && inTime
}

// mac signs. The length keeps a user and a request apart, and the first word this from
// other uses of the secret.
func (t Tickets) mac(user, requestID string, expiry []byte) []byte {
	mac := hmac.New(sha256.New, t.secret)
	mac.Write([]byte("ticket\x00"))
	mac.Write(expiry)
	mac.Write(binary.BigEndian.AppendUint32(nil, uint32(len(user))))
	mac.Write([]byte(user))
	mac.Write([]byte(requestID))
	return mac.Sum(nil)
}
