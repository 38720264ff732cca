package domain_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/domain"
)

// optional are the fields that an event can be without. All others are required.
var optional = map[string][]string{
	"PurchaseRejected": {"existingOrderId", "existingRequestId"},
}

// fieldsOf are the fields of the data in stored.
func fieldsOf(t *testing.T, eventType string) map[string]json.RawMessage {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(stored[eventType].data), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

// An event that lacks what it is about is no event of nothing to nobody. Some are
// about nothing but the sale.
func TestDecode_Nothing(t *testing.T) {
	t.Parallel()
	for name := range stored {
		if len(fieldsOf(t, name)) == 0 {
			continue
		}
		for _, data := range []string{`null`, `{}`} {
			if event, ok := domain.Decode(name, []byte(data)).(domain.Unreadable); !ok || event.Type != name || event.Err == nil {
				t.Errorf("%s of %s: got %+v, want Unreadable", name, data, domain.Decode(name, []byte(data)))
			}
		}
	}
}

// Whatever fields are left out or null: the event is readable exactly when it has
// the required ones.
func TestDecode_SomeFields(t *testing.T) {
	t.Parallel()
	for name := range stored {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := fieldsOf(t, name)
			names := slices.Sorted(maps.Keys(all))
			for subset := range 1 << len(names) {
				without, withNull, complete := maps.Clone(all), maps.Clone(all), true
				for i, lost := range names {
					if subset>>i&1 == 1 {
						delete(without, lost)
						withNull[lost] = json.RawMessage("null")
						complete = complete && slices.Contains(optional[name], lost)
					}
				}
				for _, fields := range []map[string]json.RawMessage{without, withNull} {
					data, err := json.Marshal(fields)
					if err != nil {
						t.Fatal(err)
					}
					event := domain.Decode(name, data)
					if _, unreadable := event.(domain.Unreadable); unreadable == complete {
						t.Errorf("%s: got %+v, want it to be readable: %t", data, event, complete)
					}
				}
			}
		})
	}
}

// What is there may be zero: goods that cost nothing, or have no name.
func TestDecode_ZeroIsSomething(t *testing.T) {
	t.Parallel()
	scheduled := stored["SaleScheduled"].event.(domain.SaleScheduled)
	scheduled.Name, scheduled.Price = "", 0
	confirmed := stored["PurchaseConfirmed"].event.(domain.PurchaseConfirmed)
	confirmed.Amount = 0
	for _, want := range []domain.Event{scheduled, confirmed, domain.PurchaseRejected{Reason: domain.ReasonSoldOut}} {
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, domain.Decode(want.EventType(), data)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", data, diff)
		}
	}
}
