package domain_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"seckill/domain"
)

// stored are all events as they stand in the store. What is here never changes:
// histories are read for ever.
var stored = map[string]struct {
	event domain.Event
	data  string
}{
	"PurchaseRequested": {
		domain.PurchaseRequested{UserID: "42", Quantity: 2},
		`{"userId":"42","quantity":2}`,
	},
	"PurchaseConfirmed": {
		domain.PurchaseConfirmed{
			OrderID:  "7K4-M29-QXP",
			Quantity: 2,
			Amount:   399_800,
			Currency: "CNY",
			PayBy:    time.Date(2026, 11, 11, 0, 15, 0, 123456000, time.UTC),
		},
		`{"orderId":"7K4-M29-QXP","quantity":2,"amount":399800,"currency":"CNY","payBy":"2026-11-11T00:15:00.123456Z"}`,
	},
	"PurchaseRejected": {
		domain.PurchaseRejected{
			Reason:            domain.ReasonLimitExceeded,
			ExistingRequestID: uuid.MustParse("01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f"),
			ExistingOrderID:   "7K4-M29-QXP",
		},
		`{"reason":"limit_exceeded","existingRequestId":"01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f","existingOrderId":"7K4-M29-QXP"}`,
	},
	"PurchasesTurnedAway": {
		domain.PurchasesTurnedAway{Reason: domain.ReasonSoldOut, Count: 12_345},
		`{"reason":"sold_out","count":12345}`,
	},
	"OrderPaid": {
		domain.OrderPaid{PaymentReference: "wx-2026-0001", Amount: 399_800},
		`{"paymentReference":"wx-2026-0001","amount":399800}`,
	},
	"OrderCancelled": {domain.OrderCancelled{Quantity: 2}, `{"quantity":2}`},
	"OrderExpired":   {domain.OrderExpired{Quantity: 2}, `{"quantity":2}`},
	"OrderRefunded": {
		domain.OrderRefunded{Quantity: 2, Restock: false, PaymentReference: "wx-2026-0002"},
		`{"quantity":2,"restock":false,"paymentReference":"wx-2026-0002"}`,
	},
	"SaleScheduled": {
		domain.SaleScheduled{
			GoodsID:        2002,
			Name:           "秒杀 <1>",
			Price:          199_900,
			Currency:       "CNY",
			Stock:          300,
			PerUserLimit:   1,
			OpensAt:        time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC),
			ClosesAt:       time.Date(2026, 11, 11, 1, 0, 0, 1000, time.UTC),
			PaymentTimeout: domain.Duration(15 * time.Minute),
		},
		`{"goodsId":2002,"name":"秒杀 \u003c1\u003e","price":199900,"currency":"CNY","stock":300,"perUserLimit":1,` +
			`"opensAt":"2026-11-11T00:00:00Z","closesAt":"2026-11-11T01:00:00.000001Z","paymentTimeout":"15m"}`,
	},
	"SaleRescheduled": {
		domain.SaleRescheduled{
			OpensAt:  time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC),
			ClosesAt: time.Date(2026, 11, 11, 1, 0, 0, 1000, time.UTC),
		},
		`{"opensAt":"2026-11-11T00:00:00Z","closesAt":"2026-11-11T01:00:00.000001Z"}`,
	},
	"SalePaused":   {domain.SalePaused{}, `{}`},
	"SaleResumed":  {domain.SaleResumed{}, `{}`},
	"SaleClosed":   {domain.SaleClosed{}, `{}`},
	"StockAdded":   {domain.StockAdded{Quantity: 2_000_000_000}, `{"quantity":2000000000}`},
	"StockRemoved": {domain.StockRemoved{Quantity: 7}, `{"quantity":7}`},
}

func TestEvent_Stored(t *testing.T) {
	t.Parallel()
	for name, want := range stored {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := want.event.EventType(); got != name {
				t.Errorf("it is stored as %s", got)
			}
			data, err := json.Marshal(want.event)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.data, string(data)); diff != "" {
				t.Errorf("its data (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.event, domain.Decode(name, []byte(want.data))); diff != "" {
				t.Errorf("it reads as another event (-want +got):\n%s", diff)
			}
		})
	}
}

// Only limit_exceeded refers to another purchase; what does not apply is absent.
func TestPurchaseRejected_WithoutReference(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(domain.PurchaseRejected{Reason: domain.ReasonSoldOut})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(data), `{"reason":"sold_out"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// An event that nobody decodes would be lost to every reader: each type of the
// package must stand in stored, where it is read back.
func TestEvent_AllAreStored(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		for _, name := range eventTypes(t, file.Name()) {
			found++
			if _, ok := stored[name]; !ok && name != "Unreadable" {
				t.Errorf("%s: %s is an event that this test does not know", file.Name(), name)
			}
		}
	}
	if want := len(stored) + 1; found != want {
		t.Errorf("the package has %d types of events, want %d", found, want)
	}
}

// eventTypes are the types with a method EventType that a file declares.
func eventTypes(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, declaration := range file.Decls {
		method, ok := declaration.(*ast.FuncDecl)
		if !ok || method.Recv == nil || method.Name.Name != "EventType" {
			continue
		}
		if receiver, ok := method.Recv.List[0].Type.(*ast.Ident); ok {
			names = append(names, receiver.Name)
		}
	}
	return names
}

func TestDecode_Unreadable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ eventType, data string }{
		"UnknownType":       {"PurchaseForgotten", `{}`},
		"NoType":            {"", `{}`},
		"TypeInOtherCase":   {"purchaserequested", `{"userId":"42","quantity":1}`},
		"NotJSON":           {"PurchaseRequested", `{"userId":`},
		"Empty":             {"PurchaseRequested", ``},
		"NotAnObject":       {"PurchaseRequested", `["42",1]`},
		"NumberForText":     {"PurchaseRequested", `{"userId":42,"quantity":1}`},
		"TextForNumber":     {"PurchaseRequested", `{"userId":"42","quantity":"1"}`},
		"FractionForNumber": {"PurchaseConfirmed", `{"quantity":1.5}`},
		"NotATime":          {"PurchaseConfirmed", `{"payBy":"tomorrow"}`},
		"NotAUUID":          {"PurchaseRejected", `{"reason":"limit_exceeded","existingRequestId":"42"}`},
		"NotADuration":      {"SaleScheduled", `{"paymentTimeout":"15"}`},
		"NumberTooLarge":    {"SaleScheduled", `{"stock":9223372036854775808}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			event, ok := domain.Decode(test.eventType, []byte(test.data)).(domain.Unreadable)
			if !ok {
				t.Fatalf("got %+v, want Unreadable", domain.Decode(test.eventType, []byte(test.data)))
			}
			if event.EventType() != test.eventType || event.Err == nil {
				t.Errorf("got %+v, want it to keep the type %q and say why", event, test.eventType)
			}
		})
	}
}

// Folds pass over an event that cannot be read.
func TestUnreadable_ChangesNothing(t *testing.T) {
	t.Parallel()
	unreadable := domain.Decode("PurchaseForgotten", []byte(`{}`))
	sale, held := saleOf(10, 1), domain.Holding{Quantity: 1, RequestID: uuid.New(), OrderID: orderID}
	saleBefore, heldBefore := sale, held
	sale.Apply(unreadable)
	held.Apply(uuid.New(), unreadable)
	sale.ApplyChange(unreadable, during)
	if !cmp.Equal(sale, saleBefore) || held != heldBefore {
		t.Errorf("the sale is %+v and the holding %+v, want them as they were", sale, held)
	}
}

func TestInvalidError(t *testing.T) {
	t.Parallel()
	err := domain.CheckUserID("")
	if got, want := err.Error(), "userId must not be empty"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
