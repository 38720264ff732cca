package load

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// WriteText writes the report for people to read.
func (r *Report) WriteText(w io.Writer) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s, %s, measured for %.1f s\n\n", r.Target, r.Load, r.Seconds)
	fmt.Fprintf(&text, "accepted  %10.1f/s   (%d of %d)\n", r.AcceptedPerSecond, r.Accepted, r.Begun)
	fmt.Fprintf(&text, "told      %10.1f/s   (%d)\n\n", r.ToldPerSecond, r.Told)
	r.writeLatencies(&text)
	writeCounts(&text, "outcomes", r.Outcomes)
	writeCounts(&text, "errors", r.Errors)
	writeUsage(&text, "server", r.Server)
	writeUsage(&text, "client", r.Client)
	r.writeRules(&text)
	_, err := text.WriteTo(w)
	return err
}

func (r *Report) writeLatencies(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "latency, ms\tp50\tp90\tp99\tp99.9\tmax\tmean\tcount\t")
	for _, row := range []struct {
		name string
		Latency
	}{
		{"POST to 202", r.Accept},
		{"202 to result", r.Decide},
		{"POST to result", r.Total},
		{"late to send", r.Lag},
	} {
		if row.Count > 0 {
			fmt.Fprintf(table, "%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%d\t\n",
				row.name, row.P50, row.P90, row.P99, row.P999, row.Max, row.Mean, row.Count)
		}
	}
	table.Flush()
}

// writeCounts writes the most frequent first.
func writeCounts(w io.Writer, title string, counts map[string]int64) {
	if len(counts) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", title)
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for _, name := range names {
		fmt.Fprintf(w, "%10d  %s\n", counts[name], name)
	}
}

func writeUsage(w io.Writer, who string, u *Usage) {
	if u == nil {
		return
	}
	fmt.Fprintf(w, "\n%s: %.2f cores, %.0f µs a purchase, %.0f MB at most",
		who, u.Cores, u.CPUPerPurchase, float64(u.PeakMemory)/1e6)
}

func (r *Report) writeRules(w io.Writer) {
	fmt.Fprint(w, "\n\nrules\n")
	for _, rule := range r.Rules {
		verdict := "kept"
		switch {
		case rule.Broken > 0:
			verdict = "BROKEN"
		case rule.Skipped != "":
			verdict = "unknown"
		}
		fmt.Fprintf(w, "%10s  %s", verdict, rule.Name)
		if rule.Broken > 0 {
			fmt.Fprintf(w, " (%d times)", rule.Broken)
		}
		if rule.Skipped != "" {
			fmt.Fprintf(w, " (%s)", rule.Skipped)
		}
		fmt.Fprintln(w)
		for _, example := range rule.Examples {
			fmt.Fprintf(w, "%10s  - %s\n", "", example)
		}
	}
}
