package domain

import "strings"

// OrderIDChecks reports whether an order number's digits agree with its check
// digit, which is last: together they leave nothing.
func OrderIDChecks(id string) bool {
	check := byte(0)
	for _, c := range strings.ReplaceAll(id, "-", "") {
		check = damm(check, byte(strings.IndexRune(orderDigits, c)))
	}
	return check == 0
}
