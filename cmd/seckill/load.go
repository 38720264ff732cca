package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"seckill/load"
)

// errRulesBroken makes the program fail after a report that says which.
var errRulesBroken = errors.New("the service broke a rule")

// LoadCmd drives a running service with buyers and checks what they were told.
type LoadCmd struct {
	Target         string `default:"http://127.0.0.1:8080" help:"The service's base URL. Only loopback addresses, unless --i-own-this-server is given."`
	IOwnThisServer bool   `name:"i-own-this-server" help:"Load a server that is not on this machine. It is yours, or you were asked to."`

	Sale         []int64 `help:"A sale to buy from; may be repeated. Without any, new sales are created." placeholder:"ID"`
	NewSales     int     `default:"1" help:"How many sales to create."`
	Stock        int64   `default:"1000" help:"Units of each created sale."`
	PerUserLimit int     `default:"1" help:"Units that one user may hold of a created sale."`

	Buyers      int           `help:"Closed loop: so many buyers, each of whom buys, waits for the result, and buys again as a new user (default 50)." xor:"loop"`
	Think       time.Duration `help:"Closed loop: how long a buyer rests between two purchases."`
	Rate        float64       `help:"Open loop: so many purchases per second, whether or not the service keeps up." xor:"loop"`
	Ramp        time.Duration `help:"Open loop: rise evenly to --rate for so long."`
	MaxInFlight int           `default:"5000" help:"Open loop: unfinished purchases at most; others that are due wait, on the clock."`

	Duration time.Duration `help:"How long to measure (default 10s, or no limit with --requests)."`
	Requests int64         `help:"How many purchases to begin at most."`
	Warmup   time.Duration `help:"How long to load before measuring."`

	Follow       load.Follow   `default:"long-poll" enum:"long-poll,none,short-poll,sse,ws" help:"How buyers learn their result: ${enum}."`
	PollInterval time.Duration `default:"200ms" help:"How often to ask, with --follow short-poll."`
	Quantity     int           `default:"1" help:"Units per purchase."`
	Repeat       float64       `help:"Share (0 to 1) of purchases by the same user as the one before." placeholder:"SHARE"`
	DoubleClick  float64       `help:"Share of purchases sent twice at once with one Idempotency-Key." placeholder:"SHARE"`
	Leave        float64       `help:"Share of buyers who close the connection before their result comes." placeholder:"SHARE"`

	Timeout   time.Duration `default:"60s" help:"How long one purchase may take, with its result."`
	Settle    time.Duration `default:"30s" help:"How long to wait, after the load, for results that nobody stayed for."`
	Sample    int           `default:"200" help:"How many requests to read again and compare with what was told."`
	ServerPID int           `name:"server-pid" help:"The server's process, whose CPU and memory to report. Default: the one that listens on the target's port, where that can be seen." placeholder:"PID"`

	JSON bool   `name:"json" help:"Report in JSON."`
	Plot string `help:"Draw throughput and latency over time into this .html or .png file." placeholder:"FILE" type:"path"`
}

// Run loads, reports, and fails if a rule was broken.
func (c *LoadCmd) Run(ctx context.Context) error {
	if err := load.CheckPlotName(c.Plot); err != nil {
		return err
	}
	progress, clearProgress := load.ProgressBar(os.Stderr)
	report, err := load.Run(ctx, c.config(progress))
	clearProgress()
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	if err := c.write(report); err != nil {
		return err
	}
	if report.Broken() {
		return errRulesBroken
	}
	return ctx.Err()
}

func (c *LoadCmd) write(report *load.Report) error {
	if c.Plot != "" {
		if err := report.WritePlot(c.Plot); err != nil {
			return fmt.Errorf("plot: %w", err)
		}
	}
	if !c.JSON {
		return report.WriteText(os.Stdout)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(report)
}

func (c *LoadCmd) config(progress func(load.Progress)) load.Config {
	return load.Config{
		Target:       c.Target,
		AllowRemote:  c.IOwnThisServer,
		Sales:        c.Sale,
		NewSales:     c.NewSales,
		Stock:        c.Stock,
		PerUserLimit: c.PerUserLimit,
		Buyers:       c.Buyers,
		Think:        c.Think,
		Rate:         c.Rate,
		Ramp:         c.Ramp,
		MaxInFlight:  c.MaxInFlight,
		Duration:     c.Duration,
		Requests:     c.Requests,
		Warmup:       c.Warmup,
		Follow:       c.Follow,
		PollInterval: c.PollInterval,
		Quantity:     c.Quantity,
		Repeat:       c.Repeat,
		DoubleClick:  c.DoubleClick,
		Leave:        c.Leave,
		Timeout:      c.Timeout,
		Settle:       c.Settle,
		Sample:       c.Sample,
		ServerPID:    c.ServerPID,
		Progress:     progress,
	}
}
