package acceptance_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestWalkthrough runs what docs/walkthrough.md shows: a sale's whole life by curl.
func TestWalkthrough(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	s := startService(t, 1)
	command := exec.CommandContext(t.Context(), "../docs/walkthrough.sh")
	command.Env = append(os.Environ(), "SECKILL_URL="+s.nodes[0].url(""))
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, output)
	}
	rest := string(output)
	for _, want := range []string{
		`"status":"scheduled"|"status":"open"`, `"status":"succeeded"`, `"reason":"limit_exceeded"`, `"status":"paid"`, `"status":"paid"`,
		`"code":"already_paid"`, `"status":"cancelled"`, `"available":2`, `"status":"succeeded"`, `"status":"paused"`, `"code":"sale_paused"`,
		`"status":"open"`, `"stock":5`, `"code":"stock_not_available"`, `"status":"succeeded"`, `"status":"refunded"`, `"orders":[{`,
		`"events":[{`, `"status":"closed"`, `"code":"sale_closed"`, `"status":"closed"`,
	} {
		before := rest
		for either := range strings.SplitSeq(want, "|") {
			if _, after, ok := strings.Cut(before, either); ok {
				rest = after
				break
			}
		}
		if rest == before {
			t.Fatalf("%s is missing, in this place, in:\n%s", want, output)
		}
	}
	s.stop(t)
	s.requireCleanAudit(t)
}
