package http_test

import (
	stdhttp "net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"seckill/http"
)

// Several servers of one process are made at the same time and answer beside
// each other: they share nothing.
func TestNewServer_SideBySide(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			server, err := http.NewServer(http.Config{Hub: newHub(), Logger: quiet(), Secret: secret})
			if err != nil {
				t.Error(err)
				return
			}
			recorder := httptest.NewRecorder()
			request := httptest.NewRequestWithContext(t.Context(), stdhttp.MethodPost, "/sales", strings.NewReader("{}"))
			server.Handler().ServeHTTP(recorder, request)
			if recorder.Code != stdhttp.StatusUnprocessableEntity || !strings.Contains(recorder.Body.String(), `"code":"invalid_request"`) {
				t.Errorf("got %d %s, want a problem", recorder.Code, recorder.Body)
			}
		})
	}
	all.Wait()
}
