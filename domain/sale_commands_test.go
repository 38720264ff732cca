package domain_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/domain"
)

const microsecond = time.Microsecond

func paused(sale domain.Sale) domain.Sale {
	sale.Pauses = append(sale.Pauses, domain.Pause{From: during})
	return sale
}

func closedByHand(sale domain.Sale) domain.Sale {
	sale.ClosedAt = during
	return sale
}

// command is a command on a sale with what it needs besides.
type command func(sale domain.Sale, now time.Time) (domain.Event, error)

func changeStock(delta int64) command {
	return func(sale domain.Sale, now time.Time) (domain.Event, error) { return sale.ChangeStock(delta, now) }
}

// reschedule moves the ends of the window that are not zero.
func reschedule(opens, closes time.Time) command {
	given := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	return func(sale domain.Sale, now time.Time) (domain.Event, error) {
		return sale.Reschedule(given(opens), given(closes), now)
	}
}

func TestSale_Commands(t *testing.T) {
	t.Parallel()
	sale := saleOf(10, 1)
	shanghai := time.FixedZone("Shanghai", 8*60*60)
	window := func(opens, closes time.Time) domain.Event {
		return domain.SaleRescheduled{OpensAt: opens, ClosesAt: closes}
	}
	before := opensAt.Add(-time.Minute)
	for name, test := range map[string]struct {
		sale    domain.Sale
		command command
		now     time.Time
		want    domain.Event // nil: the sale is so already
	}{
		"Pause":                 {sale, domain.Sale.Pause, during, domain.SalePaused{}},
		"PauseBeforeItOpens":    {sale, domain.Sale.Pause, before, domain.SalePaused{}},
		"PauseAtTheLastMoment":  {sale, domain.Sale.Pause, closesAt.Add(-microsecond), domain.SalePaused{}},
		"PausePaused":           {paused(sale), domain.Sale.Pause, during, nil},
		"Resume":                {paused(sale), domain.Sale.Resume, during, domain.SaleResumed{}},
		"ResumeWhatIsNotPaused": {sale, domain.Sale.Resume, during, nil},
		"Close":                 {sale, domain.Sale.Close, during, domain.SaleClosed{}},
		"CloseBeforeItOpens":    {sale, domain.Sale.Close, before, domain.SaleClosed{}},
		"ClosePaused":           {paused(sale), domain.Sale.Close, during, domain.SaleClosed{}},
		"CloseClosed":           {closedByHand(sale), domain.Sale.Close, during, nil},
		"CloseWhatIsOver":       {sale, domain.Sale.Close, closesAt, nil},
		"AddOne":                {sale, changeStock(1), during, domain.StockAdded{Quantity: 1}},
		"AddUpToTheLargest":     {sale, changeStock(domain.MaxStock - 10), during, domain.StockAdded{Quantity: domain.MaxStock - 10}},
		"AddToAPausedSale":      {paused(sale), changeStock(1), during, domain.StockAdded{Quantity: 1}},
		"RemoveOne":             {sale, changeStock(-1), during, domain.StockRemoved{Quantity: 1}},
		"RemoveAllThatIsFree":   {sale, changeStock(-10), during, domain.StockRemoved{Quantity: 10}},

		"OpenLater":          {sale, reschedule(opensAt.Add(microsecond), time.Time{}), before, window(opensAt.Add(microsecond), closesAt)},
		"OpenEarlier":        {sale, reschedule(before.Add(microsecond), time.Time{}), before, window(before.Add(microsecond), closesAt)},
		"OpenAtOnce":         {sale, reschedule(before.Add(-time.Hour), time.Time{}), before, window(before, closesAt)},
		"OpenInAnotherZone":  {sale, reschedule(opensAt.Add(time.Second).In(shanghai), time.Time{}), before, window(opensAt.Add(time.Second), closesAt)},
		"OpenWithinAMicro":   {sale, reschedule(opensAt.Add(microsecond-1), time.Time{}), before, nil},
		"CloseLater":         {sale, reschedule(time.Time{}, closesAt.Add(time.Hour)), during, window(opensAt, closesAt.Add(time.Hour))},
		"CloseEarlier":       {sale, reschedule(time.Time{}, during.Add(microsecond)), during, window(opensAt, during.Add(microsecond))},
		"MoveAll":            {sale, reschedule(closesAt, closesAt.Add(microsecond)), before, window(closesAt, closesAt.Add(microsecond))},
		"MovePaused":         {paused(sale), reschedule(time.Time{}, closesAt.Add(1)), during, nil},
		"AsItIs":             {sale, reschedule(opensAt.In(shanghai), closesAt.In(shanghai)), before, nil},
		"SameOpeningIfOpen":  {sale, reschedule(opensAt, closesAt.Add(time.Hour)), during, window(opensAt, closesAt.Add(time.Hour))},
		"LastMomentToReopen": {sale, reschedule(opensAt.Add(time.Second), time.Time{}), opensAt.Add(-microsecond), window(opensAt.Add(time.Second), closesAt)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := test.command(test.sale, test.now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("the event (-want +got):\n%s", diff)
			}
			if moved, ok := got.(domain.SaleRescheduled); ok && (moved.OpensAt.Location() != time.UTC || moved.ClosesAt.Location() != time.UTC) {
				t.Errorf("got %+v, want UTC: it is stored as it is written", moved)
			}
		})
	}
}

func TestSale_Commands_Refused(t *testing.T) {
	t.Parallel()
	sale := saleOf(10, 1)
	before := opensAt.Add(-time.Minute)
	for name, test := range map[string]struct {
		sale    domain.Sale
		command command
		now     time.Time
		want    error
	}{
		"PauseWhatIsOver":      {sale, domain.Sale.Pause, closesAt, domain.ErrSaleClosed},
		"PauseClosed":          {closedByHand(sale), domain.Sale.Pause, during, domain.ErrSaleClosed},
		"PauseClosedAndPaused": {closedByHand(paused(sale)), domain.Sale.Pause, during, domain.ErrSaleClosed},
		"ResumeClosed":         {closedByHand(paused(sale)), domain.Sale.Resume, during, domain.ErrSaleClosed},
		"ResumeWhatIsOver":     {paused(sale), domain.Sale.Resume, closesAt, domain.ErrSaleClosed},
		"AddToClosed":          {closedByHand(sale), changeStock(1), during, domain.ErrSaleClosed},
		"RemoveFromClosed":     {closedByHand(sale), changeStock(-1), during, domain.ErrSaleClosed},
		"RescheduleClosed":     {closedByHand(sale), reschedule(time.Time{}, closesAt.Add(time.Hour)), during, domain.ErrSaleClosed},
		"ReopenWhatIsOver":     {sale, reschedule(time.Time{}, closesAt.Add(time.Hour)), closesAt, domain.ErrSaleClosed},
		"RescheduleClosedSoon": {closedByHand(sale), reschedule(opensAt.Add(time.Second), time.Time{}), before, domain.ErrSaleClosed},
		"MoveTheOpeningOnTime": {sale, reschedule(opensAt.Add(time.Second), time.Time{}), opensAt, domain.ErrSaleAlreadyOpen},
		"MoveTheOpeningLater":  {sale, reschedule(opensAt.Add(-microsecond), closesAt), during, domain.ErrSaleAlreadyOpen},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := test.command(test.sale, test.now); !errors.Is(err, test.want) {
				t.Errorf("got %v and %v, want %v", got, err, test.want)
			}
		})
	}
	for _, delta := range []int64{-11, -domain.MaxStock, math.MinInt64} {
		_, err := sale.ChangeStock(delta, during)
		if refused, ok := errors.AsType[*domain.StockNotAvailableError](err); !ok || refused.Available != 10 {
			t.Errorf("remove %d of 10: got %v, want it to say that 10 are free", delta, err)
		}
	}
}

func TestSale_Commands_Invalid(t *testing.T) {
	t.Parallel()
	sale := saleOf(10, 1)
	before := opensAt.Add(-time.Minute)
	for name, test := range map[string]struct {
		command command
		now     time.Time
		field   string
	}{
		"StockAsItIs":         {changeStock(0), during, "delta"},
		"StockBeyondLargest":  {changeStock(domain.MaxStock - 9), during, "delta"},
		"StockOverflows":      {changeStock(math.MaxInt64), during, "delta"},
		"ClosesNow":           {reschedule(time.Time{}, during), during, "closesAt"},
		"ClosesInThePast":     {reschedule(time.Time{}, during.Add(-microsecond)), during, "closesAt"},
		"ClosesAsItOpens":     {reschedule(time.Time{}, opensAt), before, "closesAt"},
		"ClosesBeforeItOpens": {reschedule(closesAt.Add(time.Hour), closesAt.Add(time.Hour-microsecond)), before, "closesAt"},
		"OpensAsItCloses":     {reschedule(closesAt, time.Time{}), before, "opensAt"},
		"OpensBefore1970":     {reschedule(time.Unix(-1, 0), time.Time{}), before, "opensAt"},
		"ClosesAfter9999":     {reschedule(time.Time{}, time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -60*60))), before, "closesAt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := test.command(sale, test.now)
			if invalid, ok := errors.AsType[*domain.InvalidError](err); !ok || invalid.Field != test.field {
				t.Errorf("got %v and %v, want an InvalidError of %s", got, err, test.field)
			}
		})
	}
}

// Closed comes before scheduled, that before paused, that before sold out.
func TestSale_Status_ByHand(t *testing.T) {
	t.Parallel()
	before := opensAt.Add(-time.Minute)
	for name, test := range map[string]struct {
		sale domain.Sale
		now  time.Time
		want domain.SaleStatus
	}{
		"Paused":            {paused(saleOf(1, 1)), during, domain.SaleStatusPaused},
		"PausedWithoutUnit": {paused(saleOf(0, 1)), during, domain.SaleStatusPaused},
		"PausedBefore":      {paused(saleOf(1, 1)), before, domain.SaleStatusScheduled},
		"PausedAndOver":     {paused(saleOf(1, 1)), closesAt, domain.SaleStatusClosed},
		"Closed":            {closedByHand(saleOf(1, 1)), during, domain.SaleStatusClosed},
		"ClosedBefore":      {closedByHand(saleOf(1, 1)), before, domain.SaleStatusClosed},
		"ClosedAndPaused":   {closedByHand(paused(saleOf(0, 1))), during, domain.SaleStatusClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.sale.Status(test.now); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// A request is judged by when it was accepted, to the microsecond, whenever it is
// decided: before a pause, in it, after it, before the sale was closed and after.
func TestSale_Decide_PausesAndClosing(t *testing.T) {
	t.Parallel()
	sale := saleOf(10, 1)
	from, until, again, closed := during, during.Add(time.Second), during.Add(time.Minute), during.Add(2*time.Minute)
	sale.ApplyChange(domain.SalePaused{}, from)
	sale.ApplyChange(domain.SaleResumed{}, until)
	sale.ApplyChange(domain.SalePaused{}, again)
	sale.ApplyChange(domain.SaleClosed{}, closed)
	for name, test := range map[string]struct {
		acceptedAt time.Time
		want       domain.Reason
	}{
		"BeforeThePause":     {from.Add(-microsecond), ""},
		"AsThePauseBegins":   {from, domain.ReasonSalePaused},
		"AtTheEndOfThePause": {until.Add(-microsecond), domain.ReasonSalePaused},
		"AsItIsResumed":      {until, ""},
		"BetweenThePauses":   {again.Add(-microsecond), ""},
		"InTheSecondPause":   {again.Add(time.Second), domain.ReasonSalePaused},
		"BeforeItIsClosed":   {closed.Add(-microsecond), domain.ReasonSalePaused},
		"AsItIsClosed":       {closed, domain.ReasonSaleClosed},
		"BeforeItOpens":      {opensAt.Add(-microsecond), domain.ReasonSaleNotOpen},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := request(1)
			p.AcceptedAt = test.acceptedAt
			if got := reasonOf(t, sale.Decide(p, domain.Holding{}, orderID, closesAt.Add(time.Hour))); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
