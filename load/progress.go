package load

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progressInterval is how often Config.Progress is called.
const progressInterval = 250 * time.Millisecond

// Progress is how far a run has come.
type Progress struct {
	Begun    int64 // purchases sent
	Accepted int64 // answered with a 202
	Told     int64 // told their result while they waited for it
	Errors   int64
	// Share of the run that is done, 0 to 1, by time or by count, whichever is
	// further.
	Share float64
	// AcceptedPerSecond and ToldPerSecond are current.
	AcceptedPerSecond float64
	ToldPerSecond     float64
}

func (r *run) watchProgress(ctx context.Context, start, end time.Time) {
	if r.cfg.Progress == nil {
		return
	}
	before, at := Progress{}, time.Now()
	for sleep(ctx, progressInterval) {
		now, p := time.Now(), r.meter.progress()
		seconds := now.Sub(at).Seconds()
		p.AcceptedPerSecond = float64(p.Accepted-before.Accepted) / seconds
		p.ToldPerSecond = float64(p.Told-before.Told) / seconds
		if !end.IsZero() {
			p.Share = now.Sub(start).Seconds() / end.Sub(start).Seconds()
		}
		if r.cfg.Requests > 0 {
			p.Share = max(p.Share, float64(p.Begun)/float64(r.cfg.Requests))
		}
		p.Share = min(p.Share, 1)
		r.cfg.Progress(p)
		before, at = p, now
	}
}

// ProgressBar draws a run's progress on a terminal. On anything else it returns
// nil, and so draws nothing. The bar is taken away by calling remove.
func ProgressBar(file *os.File) (draw func(Progress), remove func()) {
	if !term.IsTerminal(int(file.Fd())) {
		return nil, func() {}
	}
	const steps = 1000
	bar := progressbar.NewOptions(steps,
		progressbar.OptionSetWriter(file),
		progressbar.OptionFullWidth(),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionClearOnFinish(),
	)
	draw = func(p Progress) {
		text := fmt.Sprintf("%d accepted (%.0f/s), %d told (%.0f/s)",
			p.Accepted, p.AcceptedPerSecond, p.Told, p.ToldPerSecond)
		if p.Errors > 0 {
			text += fmt.Sprintf(", %d errors", p.Errors)
		}
		bar.Describe(text)
		_ = bar.Set(int(p.Share * (steps - 1))) // short of the end: the run's end, not the bar's, finishes it
	}
	return draw, func() { _ = bar.Finish() }
}
