package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestDampedHandler(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Unix(0, 0)
	logger := slog.New(newDampedHandler(slog.NewTextHandler(&out, nil), func() time.Time { return now }))
	shown := func() int {
		defer out.Reset()
		return strings.Count(out.String(), "\n")
	}

	for range 1000 {
		logger.With("lane", "decide_1").Error("the database is gone", "error", errors.New("refused"))
	}
	if got := shown(); got != 5 {
		t.Errorf("%d lines of a flood, want 5", got)
	}
	logger.Warn("something else")
	if got := shown(); got != 1 {
		t.Errorf("%d lines of another message, want 1", got)
	}
	for range 20 {
		logger.Info("the database is gone")
	}
	if got := shown(); got != 20 {
		t.Errorf("%d lines of information, want all 20", got)
	}

	now = now.Add(10 * time.Second)
	logger.Error("the database is gone")
	if line := out.String(); !strings.Contains(line, "notShownBefore=995") {
		t.Errorf("after the window it says %q, want how many were not shown", line)
	}
	shown()
	for i := range 10_000 { // told apart in bounded memory
		record := slog.NewRecord(now, slog.LevelWarn, fmt.Sprint("message ", i), 0)
		if err := logger.Handler().Handle(t.Context(), record); err != nil {
			t.Fatal(err)
		}
	}
	if got := shown(); got != 10_000 {
		t.Errorf("%d lines of distinct messages, want all 10000", got)
	}
}
