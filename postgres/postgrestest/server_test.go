package postgrestest

import (
	"slices"
	"strings"
	"testing"

	"seckill/migrations"
)

func TestServer(t *testing.T) {
	t.Parallel()
	server := Server(t, "max_connections=20")

	if got := query(t, server.URL(), "show max_connections"); !slices.Equal(got, []string{"20"}) {
		t.Errorf("max_connections is %s", got)
	}
	if got := query(t, server.URL(), "show fsync"); !slices.Equal(got, []string{"on"}) {
		t.Errorf("fsync is %s", got)
	}
	if err := migrations.Up(t.Context(), server.URL()); err != nil {
		t.Fatal(err)
	}
	if output, err := server.Command("pg_dump", "--schema-only", server.URL()).Output(); err != nil || !strings.Contains(string(output), "CREATE TABLE public.events") {
		t.Errorf("pg_dump: %v, %d bytes", err, len(output))
	}

	query(t, server.URL(), "create table kept as select 'kept'")
	before := server.PID()
	for name, restart := range map[string]func(){
		"Restart":      server.Restart,
		"KillAndStart": func() { server.Kill(); server.Start() },
	} {
		restart()
		if server.PID() == before {
			t.Errorf("%s: the server is the same", name)
		}
		if got := query(t, server.URL(), "table kept"); !slices.Equal(got, []string{"kept"}) {
			t.Errorf("%s: got %s", name, got)
		}
	}
}
