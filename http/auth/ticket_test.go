package auth_test

import (
	"testing"
	"time"

	"seckill/http/auth"
)

const requestID = "01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f"

func TestTickets(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)
	tickets, others := auth.NewTickets([]byte(secret)), auth.NewTickets([]byte("another secret"))
	ticket := tickets.Make("用户42", requestID, now)
	for name, test := range map[string]struct {
		tickets auth.Tickets
		ticket  string
		request string
		at      time.Time
		counts  bool
	}{
		"AsItShouldBe":   {tickets, ticket, requestID, now.Add(auth.TicketLifetime - time.Second), true},
		"Expired":        {tickets, ticket, requestID, now.Add(auth.TicketLifetime), false},
		"AnotherRequest": {tickets, ticket, requestID[1:] + "0", now, false},
		"AnotherSecret":  {others, ticket, requestID, now, false},
		"Cut":            {tickets, ticket[:len(ticket)-1], requestID, now, false},
		"Longer":         {tickets, ticket + "AAAA", requestID, now, false},
		"Empty":          {tickets, "", requestID, now, false},
		"NoUser":         {tickets, tickets.Make("", requestID, now), requestID, now, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			user, ok := test.tickets.User(test.ticket, test.request, test.at)
			if ok != test.counts || ok && user != "用户42" {
				t.Errorf("got %q and %t", user, ok)
			}
		})
	}
}

// Only what was made is somebody's.
func FuzzTickets(f *testing.F) {
	now := time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)
	tickets := auth.NewTickets([]byte(secret))
	good := tickets.Make("42", requestID, now)
	f.Add(good)
	f.Add(tickets.Make("42", requestID, now.Add(-time.Hour)))
	f.Add("")
	f.Fuzz(func(t *testing.T, ticket string) {
		if user, ok := tickets.User(ticket, requestID, now); ok && ticket != good {
			t.Errorf("%q is a ticket of %q", ticket, user)
		}
	})
}
