package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"seckill/load"
)

// figure reads one number of a turn.
type figure func(*Turn) float64

// row is a line of the table: a name, and what it says of a contender.
type row struct {
	name string
	cell func(contender int) string
}

// WriteTable writes the medians over all rounds as a Markdown table. The others are
// compared with the first contender and with the last.
func (r *Result) WriteTable(w io.Writer) error {
	last := len(r.Contenders) - 1
	var rows []row
	for i, buyers := range r.Buyers {
		closed := func(t *Turn) *load.Report { return t.Closed[i] }
		told := func(t *Turn) float64 { return closed(t).ToldPerSecond }
		rows = append(rows,
			row{fmt.Sprintf("**%d buyers**, told/s", buyers), r.spread(told)},
			row{"… of the " + r.Contenders[last], r.ratio(told, last)},
			row{"… of the " + r.Contenders[0], r.ratio(told, 0)},
		)
		rows = append(rows, r.latencyRows(closed)...)
		rows = append(rows, row{"server's CPU, µs a purchase", r.median("%.0f", cpu(closed))})
	}
	lone := func(t *Turn) *load.Report { return t.Lone }
	open := func(t *Turn) *load.Report { return t.Open }
	rows = append(rows, row{
		"**a lone purchase**, POST to result by SSE, p50 / p99, ms",
		r.medians("%.2f / %.2f", func(t *Turn) float64 { return lone(t).Total.P50 }, func(t *Turn) float64 { return lone(t).Total.P99 }),
	}, row{
		"**open loop** at half of its most, purchases/s",
		r.median("%.0f", func(t *Turn) float64 { return open(t).AcceptedPerSecond }),
	})
	rows = append(rows, r.latencyRows(open)...)
	rows = append(rows, row{"of which late to send, p99, ms", r.median("%.2f", func(t *Turn) float64 { return open(t).Lag.P99 })})
	rows = append(rows, r.askRows(last)...)
	rows = append(rows, r.stressRows()...)
	rows = append(rows,
		row{"**most memory**, the overload apart, MB", r.median("%.0f", memory)},
		row{"**errors**", r.total(countErrors)},
		row{"**broken rules**", r.total(countBroken)},
	)

	var text strings.Builder
	fmt.Fprintf(&text, "| median of %d rounds | %s |\n", len(r.Rounds), strings.Join(r.Contenders, " | "))
	fmt.Fprintf(&text, "|---%s|\n", strings.Repeat("|--:", len(r.Contenders)))
	for _, row := range rows {
		fmt.Fprintf(&text, "| %s |", row.name)
		for contender := range r.Contenders {
			fmt.Fprintf(&text, " %s |", row.cell(contender))
		}
		text.WriteByte('\n')
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// askRows are about what needs no decision.
func (r *Result) askRows(last int) []row {
	door := func(t *Turn) float64 { return t.Door }
	polls := func(t *Turn) float64 { return t.Polls }
	return []row{
		{"**at the door** of a sold-out sale, answers/s", r.where(door, r.median("%.0f", door))},
		{"… of the " + r.Contenders[last], r.where(door, r.ratio(door, last))},
		{"**polls** of a decided purchase, answers/s", r.where(polls, r.median("%.0f", polls))},
		{"… of the " + r.Contenders[last], r.where(polls, r.ratio(polls, last))},
	}
}

// stressRows are about many sales, and about more purchases than can be decided.
func (r *Result) stressRows() []row {
	stressed := func(t *Turn) float64 {
		if t.Many == nil {
			return 0
		}
		return 1
	}
	largest := len(r.Buyers) - 1
	many := func(t *Turn) float64 { return t.Many.ToldPerSecond }
	decided := func(t *Turn) float64 { return t.Over.DecidedPerSecond }
	rows := []row{
		{fmt.Sprintf("**%d sales at once**, told/s", manySales), r.spread(many)},
		{"… of one sale with as many buyers", r.median("%.2f", func(t *Turn) float64 { return many(t) / t.Closed[largest].ToldPerSecond })},
		{fmt.Sprintf("**overload**, %d times its most: decided/s", overload), r.spread(decided)},
		{"… of its most", r.median("%.2f", func(t *Turn) float64 { return decided(t) * overload / t.Over.Offered })},
		{"… age of the oldest undecided, most, s", r.median("%.2f", func(t *Turn) float64 { return t.Over.OldestSeconds })},
	}
	for i := range rows {
		rows[i].cell = r.where(stressed, rows[i].cell)
	}
	return rows
}

// where leaves the cells empty of contenders that have no such figure.
func (r *Result) where(of figure, cell func(int) string) func(int) string {
	return func(contender int) string {
		if median(r.values(contender, of)) == 0 {
			return ""
		}
		return cell(contender)
	}
}

func (r *Result) latencyRows(of func(*Turn) *load.Report) []row {
	const format = "%.1f / %.1f"
	return []row{
		{"POST to 202, p50 / p99, ms", r.medians(format,
			func(t *Turn) float64 { return of(t).Accept.P50 }, func(t *Turn) float64 { return of(t).Accept.P99 })},
		{"202 to result, p50 / p99, ms", r.medians(format,
			func(t *Turn) float64 { return of(t).Decide.P50 }, func(t *Turn) float64 { return of(t).Decide.P99 })},
	}
}

// values are a contender's figures, one per round, sorted.
func (r *Result) values(contender int, of figure) []float64 {
	values := make([]float64, 0, len(r.Rounds))
	for _, turns := range r.Rounds {
		values = append(values, of(turns[contender]))
	}
	slices.Sort(values)
	return values
}

func (r *Result) median(format string, of figure) func(int) string {
	return func(contender int) string { return fmt.Sprintf(format, median(r.values(contender, of))) }
}

func (r *Result) medians(format string, of, and figure) func(int) string {
	return func(contender int) string {
		return fmt.Sprintf(format, median(r.values(contender, of)), median(r.values(contender, and)))
	}
}

// spread is the median with the least and the most.
func (r *Result) spread(of figure) func(int) string {
	return func(contender int) string {
		values := r.values(contender, of)
		return fmt.Sprintf("%.0f (%.0f to %.0f)", median(values), values[0], values[len(values)-1])
	}
}

// ratio is the median of the rounds' ratios to another contender: what slowed a
// round down slowed both.
func (r *Result) ratio(of figure, other int) func(int) string {
	return func(contender int) string {
		var ratios []float64
		for _, turns := range r.Rounds {
			if base := of(turns[other]); base > 0 {
				ratios = append(ratios, of(turns[contender])/base)
			}
		}
		slices.Sort(ratios)
		return fmt.Sprintf("%.2f", median(ratios))
	}
}

// total adds up over the rounds.
func (r *Result) total(of figure) func(int) string {
	return func(contender int) string {
		sum := 0.0
		for _, value := range r.values(contender, of) {
			sum += value
		}
		return fmt.Sprintf("%.0f", sum)
	}
}

// Broken reports whether any server broke a rule.
func (r *Result) Broken() bool {
	for _, turns := range r.Rounds {
		for _, turn := range turns {
			if countBroken(turn) > 0 {
				return true
			}
		}
	}
	return false
}

func cpu(of func(*Turn) *load.Report) figure {
	return func(t *Turn) float64 {
		if usage := of(t).Server; usage != nil {
			return usage.CPUPerPurchase
		}
		return 0
	}
}

func memory(t *Turn) float64 {
	most := 0.0
	for _, report := range t.reports() {
		if report.Server != nil {
			most = max(most, float64(report.Server.PeakMemory)/1e6)
		}
	}
	return most
}

func countErrors(t *Turn) float64 {
	sum := int64(0)
	for _, report := range t.reports() {
		for _, count := range report.Errors {
			sum += count
		}
	}
	return float64(sum)
}

func countBroken(t *Turn) float64 {
	sum := 0
	reports := t.reports()
	if t.Over != nil {
		reports = append(reports, t.Over.Report)
	}
	for _, report := range reports {
		for _, rule := range report.Rules {
			sum += rule.Broken
		}
	}
	return float64(sum)
}

// median is that of sorted values; 0 of none.
func median(values []float64) float64 {
	n := len(values)
	switch {
	case n == 0:
		return 0
	case n%2 == 1:
		return values[n/2]
	default:
		return (values[n/2-1] + values[n/2]) / 2
	}
}
