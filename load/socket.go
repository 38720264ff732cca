package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
)

// listenSocket follows a request by WebSocket: the messages are those of the
// server-sent events.
func (s *session) listenSocket(ctx context.Context, link string) (purchase, time.Time, error) {
	to, err := s.link(link)
	if err != nil {
		return purchase{}, time.Time{}, err
	}
	conn, _, err := websocket.Dial(ctx, to.String(), &websocket.DialOptions{
		HTTPClient: s.target.sockets,
	})
	if err != nil {
		return purchase{}, time.Time{}, err
	}
	defer conn.CloseNow()
	for {
		_, data, err := conn.Read(ctx)
		if closed := (websocket.CloseError{}); errors.As(err, &closed) {
			return purchase{}, time.Time{}, errNoResult
		}
		if err != nil {
			return purchase{}, time.Time{}, err
		}
		var p purchase
		if err := json.Unmarshal(data, &p); err != nil {
			return purchase{}, time.Time{}, fmt.Errorf("%w: %w", errMalformed, err)
		}
		if p.decided() {
			told := time.Now()
			_ = conn.Close(websocket.StatusNormalClosure, "") // the result is known
			return p, told, nil
		}
	}
}
