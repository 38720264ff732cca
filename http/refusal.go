package http

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"seckill/domain"
	"seckill/projections"
)

// refusalPrefix is how a request ID begins that stands for a refusal at the door.
const refusalPrefix = "refused-"

// refusal is a purchase that was refused at the door: nothing was written, its
// request ID says it all and is signed, so that it resolves on every node.
type refusal struct {
	SaleID    int64         `json:"s"`
	UserID    string        `json:"u"`
	Reason    domain.Reason `json:"r"`
	RefusedAt time.Time     `json:"t"`
}

// sign makes the request ID of a refusal.
func (s *Server) sign(r refusal) (string, error) {
	payload, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	return refusalPrefix + base64.RawURLEncoding.EncodeToString(append(s.mac("refusal", payload), payload...)), nil
}

// refused returns the purchase that a request ID of sign stands for, and false
// for any other string, or if it is not for the caller.
func (s *Server) refused(ctx context.Context, requestID string) (projections.Purchase, bool) {
	encoded, ok := strings.CutPrefix(requestID, refusalPrefix)
	if !ok {
		return projections.Purchase{}, false
	}
	token, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil || len(token) < sha256.Size || base64.RawURLEncoding.EncodeToString(token) != encoded {
		return projections.Purchase{}, false
	}
	mac, payload := token[:sha256.Size], token[sha256.Size:]
	if !hmac.Equal(mac, s.mac("refusal", payload)) {
		return projections.Purchase{}, false
	}
	var r refusal
	if err := json.Unmarshal(payload, &r); err != nil || !sees(ctx, r.UserID) {
		return projections.Purchase{}, false
	}
	return projections.Purchase{
		SaleID:    r.SaleID,
		UserID:    r.UserID,
		Quantity:  1,
		Status:    projections.StatusFailed,
		Reason:    r.Reason,
		DecidedAt: r.RefusedAt,
	}, true
}

// mac signs a payload for one purpose.
func (s *Server) mac(purpose string, payload []byte) []byte {
	mac := hmac.New(sha256.New, s.Secret)
	mac.Write([]byte(purpose + "\x00"))
	mac.Write(payload)
	return mac.Sum(nil)
}
