package domain

import (
	"fmt"
	"strings"
)

// Order numbers have 40 bits, written as eight digits and a check digit.
const (
	orderDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // Crockford's base 32: no I, L, O, U
	// MaxOrderSequence is the last order that can be numbered.
	MaxOrderSequence = 1<<40 - 1
)

// OrderID is the readable number of the n-th order, for example "4KE-APG-W26":
// distinct for every n from 0 to MaxOrderSequence, without look-alike
// characters, with a check digit last. The order of the numbers does not show
// how many orders there are. It panics when n is out of range.
func OrderID(n int64) string {
	if n < 0 || n > MaxOrderSequence {
		panic(fmt.Sprintf("order sequence %d is out of range", n))
	}
	bits := scatter(uint64(n))
	id := make([]byte, 0, 11)
	check := byte(0)
	for i := range 8 {
		digit := byte(bits>>(35-5*i)) & 31
		check = damm(check, digit)
		id = append(id, orderDigits[digit])
		if i == 2 || i == 5 {
			id = append(id, '-')
		}
	}
	return string(append(id, orderDigits[check]))
}

// IsOrderID reports whether a text has the form and the check digit of an order
// ID. That such an order exists is another question.
func IsOrderID(text string) bool {
	if len(text) != 11 || text[3] != '-' || text[7] != '-' {
		return false
	}
	check := byte(0)
	for i := range len(text) {
		if i == 3 || i == 7 {
			continue
		}
		digit := strings.IndexByte(orderDigits, text[i])
		if digit < 0 {
			return false
		}
		check = damm(check, byte(digit))
	}
	return check == 0
}

// scatter permutes the 40-bit numbers by a Feistel network of four rounds, so
// that consecutive orders get numbers that look unrelated. It hides the count
// from the curious; it is no secret.
func scatter(n uint64) uint64 {
	const half = 1<<20 - 1
	left, right := n>>20, n&half
	for round := range uint64(4) {
		mixed := (right + round + 1) * 0x9E3779B97F4A7C15 // 2^64 / golden ratio (Knuth, TAOCP 6.4)
		left, right = right, left^(mixed>>44)
	}
	return left<<20 | right
}

// damm takes one step of Damm's check digit over GF(32): x∘y = 2(x⊕y). It
// detects every wrong digit and every swap of neighbours (H. M. Damm, "Total
// anti-symmetrische Quasigruppen", 2004).
func damm(interim, digit byte) byte {
	x := (interim ^ digit) << 1
	if x&32 != 0 {
		x ^= 0b100101 // x^5 + x^2 + 1
	}
	return x
}
