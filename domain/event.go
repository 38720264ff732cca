package domain

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Event is something that happened to a sale or a purchase. Its JSON form is
// the data column of the event store, so field names and meanings never change;
// a new shape gets a new type or is upcast in Decode.
type Event interface {
	// EventType is the name under which the event is stored.
	EventType() string
}

// Decode turns stored data back into the event of the given type, or into an
// Unreadable.
func Decode(eventType string, data []byte) Event {
	switch eventType {
	case "PurchaseRequested":
		return decode[PurchaseRequested](data)
	case "PurchaseConfirmed":
		return decode[PurchaseConfirmed](data)
	case "PurchaseRejected":
		return decode[PurchaseRejected](data)
	case "PurchasesTurnedAway":
		return decode[PurchasesTurnedAway](data)
	case "OrderPaid":
		return decode[OrderPaid](data)
	case "OrderCancelled":
		return decode[OrderCancelled](data)
	case "OrderExpired":
		return decode[OrderExpired](data)
	case "OrderRefunded":
		return decode[OrderRefunded](data)
	case "SaleScheduled":
		return decode[SaleScheduled](data)
	case "SaleRescheduled":
		return decode[SaleRescheduled](data)
	case "SalePaused":
		return decode[SalePaused](data)
	case "SaleResumed":
		return decode[SaleResumed](data)
	case "SaleClosed":
		return decode[SaleClosed](data)
	case "StockAdded":
		return decode[StockAdded](data)
	case "StockRemoved":
		return decode[StockRemoved](data)
	default:
		return Unreadable{Type: eventType, Err: errUnknownType}
	}
}

var errUnknownType = errors.New("unknown event type")

func decode[E Event](data []byte) Event {
	var event E
	if err := json.Unmarshal(data, &event); err != nil {
		return Unreadable{Type: event.EventType(), Err: err}
	}
	if name := missing(event, data); name != "" {
		return Unreadable{Type: event.EventType(), Err: fmt.Errorf("%s is missing", name)}
	}
	return event
}
