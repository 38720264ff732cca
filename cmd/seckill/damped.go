package main

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// dampBurst is how many records of the same message are shown in dampWindow.
	dampBurst  = 5
	dampWindow = 10 * time.Second
	// dampMessages bounds how many messages are told apart.
	dampMessages = 1000
)

// dampedHandler keeps a fault that thousands of requests meet from flooding the
// log: of warnings and errors with the same message only the first few of a window
// are shown. The next one after the window says how many were not.
type dampedHandler struct {
	slog.Handler
	damper *damper
}

type damper struct {
	now func() time.Time

	mu      sync.Mutex
	windows map[string]*dampedWindow
}

type dampedWindow struct {
	since time.Time
	count int
}

func newDampedHandler(handler slog.Handler, now func() time.Time) slog.Handler {
	return dampedHandler{Handler: handler, damper: &damper{now: now, windows: make(map[string]*dampedWindow)}}
}

// Handle implements slog.Handler.
func (h dampedHandler) Handle(ctx context.Context, record slog.Record) error {
	if record.Level < slog.LevelWarn {
		return h.Handler.Handle(ctx, record)
	}
	shown, unshown := h.damper.admit(record.Message)
	if !shown {
		return nil
	}
	if unshown > 0 {
		record = record.Clone()
		record.AddAttrs(slog.Int("notShownBefore", unshown))
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (h dampedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return dampedHandler{Handler: h.Handler.WithAttrs(attrs), damper: h.damper}
}

// WithGroup implements slog.Handler.
func (h dampedHandler) WithGroup(name string) slog.Handler {
	return dampedHandler{Handler: h.Handler.WithGroup(name), damper: h.damper}
}

// admit reports whether a message is shown now, and how many were not before it.
func (d *damper) admit(message string) (shown bool, unshown int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	window, ok := d.windows[message]
	if !ok {
		if len(d.windows) == dampMessages {
			clear(d.windows)
		}
		window = &dampedWindow{since: now}
		d.windows[message] = window
	}
	if now.Sub(window.since) >= dampWindow {
		unshown = max(0, window.count-dampBurst)
		*window = dampedWindow{since: now}
	}
	window.count++
	return window.count <= dampBurst, unshown
}
