package load

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestSession_ReadResult(t *testing.T) {
	t.Parallel()
	const result = `{"requestId":"r1","status":"succeeded","orderId":"o1"}`
	for _, test := range []struct {
		name   string
		stream string
		want   error
	}{
		{name: "AfterProcessing", stream: "event: processing\nid: 1\ndata: {\"status\":\"processing\"}\n\nevent: result\nid: 2\ndata: " + result + "\n\n"},
		{name: "AtOnce", stream: "event: result\ndata: " + result + "\n\n"},
		{name: "AfterComments", stream: ": hello\n\n: still here\n\nevent: result\ndata: " + result + "\n\n"},
		{name: "FieldsInAnyOrder", stream: "data: " + result + "\nid: 2\nevent: result\n\n"},
		{name: "NoSpaces", stream: "event:result\ndata:" + result + "\n\n"},
		{name: "CRLF", stream: "event: result\r\ndata: " + result + "\r\n\r\n"},
		{name: "DataInLines", stream: "event: result\ndata: {\"requestId\":\"r1\",\ndata: \"status\":\"succeeded\",\"orderId\":\"o1\"}\n\n"},
		{name: "EndsEarly", stream: "event: processing\ndata: {}\n\n", want: errNoResult},
		{name: "EndsInTheMiddle", stream: "event: result\ndata: " + result, want: errNoResult},
		{name: "Empty", want: errNoResult},
		{name: "NotJSON", stream: "event: result\ndata: you won\n\n", want: errMalformed},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var s session
			p, err := s.readResult(iotest.OneByteReader(strings.NewReader(test.stream)))
			if !errors.Is(err, test.want) {
				t.Fatalf("readResult = %v, want %v", err, test.want)
			}
			if test.want == nil && (p.RequestID != "r1" || p.Status != statusSucceeded || p.OrderID != "o1") {
				t.Errorf("readResult = %+v", p)
			}
		})
	}
}

// TestSession_Listen_StreamStaysOpen expects the result although the stream goes
// on after it.
func TestSession_Listen_StreamStaysOpen(t *testing.T) {
	t.Parallel()
	target, err := resolveTarget(t.Context(), serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("event: result\ndata: {\"status\":\"failed\"}\n\n"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})), false)
	if err != nil {
		t.Fatal(err)
	}
	s := target.newSession()
	defer s.close()
	start := time.Now()
	p, told, err := s.listen(t.Context(), "/")
	if err != nil || p.Status != "failed" {
		t.Fatalf("listen = %+v, %v", p, err)
	}
	if took := told.Sub(start); took >= streamEnd {
		t.Errorf("told after %v: the wait for the stream's end was counted", took)
	}
}
