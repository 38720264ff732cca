package domain_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"seckill/domain"
)

func TestCheckUserID(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		id string
		ok bool
	}{
		"OneCharacter":           {"4", true},
		"Digits":                 {"42", true},
		"Space":                  {"Ann Lee", true},
		"RunesNotBytes":          {strings.Repeat("买", domain.MaxUserIDLength), true},
		"OutsideTheBasicPlane":   {strings.Repeat("🛒", domain.MaxUserIDLength), true},
		"JoinedEmoji":            {"👩‍💻", true}, // a joiner is no control character
		"ReplacementCharacter":   {"\uFFFD", true},
		"Empty":                  {"", false},
		"OneRuneTooMany":         {strings.Repeat("买", domain.MaxUserIDLength+1), false},
		"OneByteTooMany":         {strings.Repeat("a", domain.MaxUserIDLength+1), false},
		"Nul":                    {"a\x00b", false},
		"Tab":                    {"a\tb", false},
		"NewLine":                {"42\n", false},
		"Delete":                 {"a\x7f", false},
		"NextLine":               {"a\u0085", false},
		"LastControlCharacter":   {"a\u009f", false},
		"NotUTF8":                {"a\xff", false},
		"CutInTheMiddleOfARune":  {"买"[:2], false},
		"Surrogate":              {"\xed\xa0\x80", false},
		"MoreBytesThanItsLetter": {"\xc1\x81", false}, // an overlong A
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := domain.CheckUserID(test.id)
			if test.ok {
				if err != nil {
					t.Errorf("%q: %v", test.id, err)
				}
				return
			}
			invalid, ok := errors.AsType[*domain.InvalidError](err)
			if !ok || invalid.Field != "userId" {
				t.Errorf("%q: got %v, want an InvalidError of userId", test.id, err)
			}
		})
	}
}

func TestCheckUserID_AnyText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.String().Draw(t, "id")
		runes := []rune(id)
		want := len(runes) >= 1 && len(runes) <= domain.MaxUserIDLength
		for _, c := range runes {
			want = want && !unicode.Is(unicode.Cc, c)
		}
		if err := domain.CheckUserID(id); (err == nil) != want {
			t.Fatalf("%q of %d characters: got %v", id, len(runes), err)
		}
	})
}
