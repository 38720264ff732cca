package domain_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"seckill/domain"
)

const orderAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // no I, L, O, U

var orderPattern = regexp.MustCompile(`^[0-9A-HJKMNP-TV-Z]{3}-[0-9A-HJKMNP-TV-Z]{3}-[0-9A-HJKMNP-TV-Z]{3}$`)

// The numbers stand in events and on receipts: they never change.
func TestOrderID_NeverChanges(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0:                       "AB9-SJJ-86J",
		1:                       "4KE-APG-W26",
		2:                       "WVJ-MN9-7B3",
		1_000_000:               "CMT-PDR-64G",
		domain.MaxOrderSequence: "5YA-MX7-C3G",
	} {
		if got := domain.OrderID(n); got != want {
			t.Errorf("order %d has the number %s, want %s", n, got, want)
		}
	}
}

func TestOrderID_Distinct(t *testing.T) {
	t.Parallel()
	const count = 100_000
	seen := make(map[string]int64, 3*count)
	for _, first := range []int64{0, domain.MaxOrderSequence/2 - count/2, domain.MaxOrderSequence - count + 1} {
		for n := first; n < first+count; n++ {
			id := domain.OrderID(n)
			if other, ok := seen[id]; ok {
				t.Fatalf("orders %d and %d have the number %s", other, n, id)
			}
			seen[id] = n
		}
	}
}

func TestOrderID_Format(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := domain.OrderID(drawSequence(t))
		if !orderPattern.MatchString(id) {
			t.Fatalf("got %q, want three groups of three digits without look-alikes", id)
		}
	})
}

func drawSequence(t *rapid.T) int64 {
	return rapid.Int64Range(0, domain.MaxOrderSequence).Draw(t, "n")
}

// A number that is read out or typed wrong is noticed: each single wrong digit and
// each swap of neighbours.
func TestIsOrderID_CheckDigit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := domain.OrderID(drawSequence(t))
		if !domain.IsOrderID(id) {
			t.Fatalf("%s does not agree with its own check digit", id)
		}
		places := []int{0, 1, 2, 4, 5, 6, 8, 9, 10} // between the hyphens
		for n, i := range places {
			for _, digit := range []byte(orderAlphabet) {
				wrong := []byte(id)
				wrong[i] = digit
				if digit != id[i] && domain.IsOrderID(string(wrong)) {
					t.Fatalf("%s passes for %s", wrong, id)
				}
			}
			for _, stranger := range []byte("ILOUabcz- \x00\xff") {
				wrong := []byte(id)
				wrong[i] = stranger
				if domain.IsOrderID(string(wrong)) {
					t.Fatalf("%q passes, with what is no digit", wrong)
				}
			}
			if n == 0 || id[places[n-1]] == id[i] {
				continue
			}
			swapped := []byte(id)
			swapped[places[n-1]], swapped[i] = id[i], id[places[n-1]]
			if domain.IsOrderID(string(swapped)) {
				t.Fatalf("%s passes for %s", swapped, id)
			}
		}
	})
}

func TestIsOrderID_Form(t *testing.T) {
	t.Parallel()
	id := domain.OrderID(1) // 4KE-APG-W26
	for name, text := range map[string]string{
		"Empty":            "",
		"WithoutHyphens":   strings.ReplaceAll(id, "-", ""),
		"HyphenElsewhere":  "4KEA-PG-W26",
		"FirstSeparator":   strings.Replace(id, "-", "_", 1),
		"LastSeparator":    id[:7] + "_" + id[8:],
		"LowerCase":        strings.ToLower(id),
		"TooShort":         id[:10],
		"TooLong":          id + "0",
		"SpaceAtTheEnd":    id + " ",
		"LookAlikes":       "ILO-UUU-LIO",
		"NotUTF8":          "\xff" + id[1:],
		"HyphensForDigits": "-----------",
		"Nul":              "\x00" + id[1:],
	} {
		if domain.IsOrderID(text) {
			t.Errorf("%s: %q passes", name, text)
		}
	}
}

// How many orders there are is not to be read from two of their numbers:
// consecutive ones go up and down as if by chance.
func TestOrderID_HidesTheCount(t *testing.T) {
	t.Parallel()
	const count = 10_000
	up := 0
	for n := range int64(count) {
		if domain.OrderID(n) < domain.OrderID(n+1) {
			up++
		}
	}
	if up < count*45/100 || up > count*55/100 {
		t.Errorf("of %d numbers %d are larger than the one before, want about half", count, up)
	}
}

func TestOrderID_OutOfRange(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{-1 << 63, -1, domain.MaxOrderSequence + 1, 1<<63 - 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("order %d got a number, want a panic", n)
				}
			}()
			domain.OrderID(n)
		}()
	}
}
