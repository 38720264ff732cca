package main

import (
	"slices"
	"strings"
	"testing"
)

func TestLastWords(t *testing.T) {
	t.Parallel()
	var words lastWords
	for range 1_000 {
		if n, err := words.Write([]byte("0123456789")); n != 10 || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := words.Write([]byte("the end")); err != nil {
		t.Fatal(err)
	}
	if text := string(words.text); len(text) != 4<<10 || !strings.HasSuffix(text, "789the end") {
		t.Errorf("%d bytes, ending in %q", len(text), text[len(text)-20:])
	}
}

func TestWithoutSettings(t *testing.T) {
	t.Parallel()
	got := withoutSettings([]string{"PATH=/bin", "SECKILL_MAX_BATCH=1", "DATABASE_URL=postgres://elsewhere", "HOME=/root"})
	if want := []string{"PATH=/bin", "HOME=/root"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
