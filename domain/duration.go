package domain

import (
	"encoding/json"
	"fmt"
	"time"
)

// Duration is a time.Duration that reads and writes itself in JSON as Go writes
// durations but without trailing zero units: "15m"; "15m0s" reads the same.
type Duration time.Duration

// MarshalJSON implements json.Marshaler.
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(d.String())
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("parse duration %q: %w", text, err)
	}
	*d = Duration(parsed)
	return nil
}

// String writes the duration without trailing zero units: "15m", "1h30m", "0s".
func (d Duration) String() string {
	text := time.Duration(d).String()
	if len(text) > 2 && text[len(text)-2:] == "0s" && text[len(text)-3] == 'm' {
		text = text[:len(text)-2]
	}
	if len(text) > 2 && text[len(text)-2:] == "0m" && text[len(text)-3] == 'h' {
		text = text[:len(text)-2]
	}
	return text
}
