package domain_test

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"seckill/domain"
)

func TestDuration_String(t *testing.T) {
	t.Parallel()
	for want, duration := range map[string]time.Duration{
		"0s":       0,
		"1s":       time.Second,
		"10s":      10 * time.Second,
		"1m":       time.Minute,
		"10m":      10 * time.Minute,
		"15m":      15 * time.Minute,
		"15m30s":   15*time.Minute + 30*time.Second,
		"1h":       time.Hour,
		"1h10m":    time.Hour + 10*time.Minute,
		"1h0m10s":  time.Hour + 10*time.Second,
		"1h30m":    90 * time.Minute,
		"720h":     720 * time.Hour,
		"1.5s":     1500 * time.Millisecond,
		"1m0.5s":   time.Minute + 500*time.Millisecond,
		"100ms":    100 * time.Millisecond,
		"1m0.001s": time.Minute + time.Millisecond,
		"-15m":     -15 * time.Minute,
		"1ns":      1,
	} {
		if got := domain.Duration(duration).String(); got != want {
			t.Errorf("%d is written %q, want %q", duration, got, want)
		}
	}
}

func TestDuration_RoundTrip(t *testing.T) {
	t.Parallel()
	units := []time.Duration{1, time.Microsecond, time.Millisecond, time.Second, time.Minute, time.Hour}
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom(units).Draw(t, "unit")
		want := domain.Duration(rapid.Int64Range(-1000, 1000).Draw(t, "count") * int64(unit))
		if rapid.Bool().Draw(t, "any") {
			want = domain.Duration(rapid.Int64().Draw(t, "duration"))
		}
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got domain.Duration
		if err := json.Unmarshal(text, &got); err != nil || got != want {
			t.Fatalf("%d is written %s and read as %d (%v)", want, text, got, err)
		}
	})
}

func TestDuration_UnmarshalJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		`"15m"`:    15 * time.Minute,
		`"15m0s"`:  15 * time.Minute,
		`"900s"`:   15 * time.Minute,
		`"0.25h"`:  15 * time.Minute,
		`"1h0m0s"`: time.Hour,
	} {
		var got domain.Duration
		if err := json.Unmarshal([]byte(text), &got); err != nil || time.Duration(got) != want {
			t.Errorf("%s reads as %s (%v), want %s", text, got, err, want)
		}
	}
	for _, text := range []string{`""`, `"15"`, `"15 minutes"`, `900`, `null`, `{}`, `"9999999999h"`} {
		var got domain.Duration
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s reads as %s, want an error", text, got)
		}
	}
}
