package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	isc = `Copyright 2030 An Author

Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted, provided that the above copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.
`
	anythingGoes = `DO WHAT THE FUCK YOU WANT TO PUBLIC LICENSE
Version 2, December 2004

Copyright (C) 2004 Sam Hocevar <sam@hocevar.net>

Everyone is permitted to copy and distribute verbatim or modified copies of this license document, and changing it is allowed as long as the name is changed.

DO WHAT THE FUCK YOU WANT TO PUBLIC LICENSE
TERMS AND CONDITIONS FOR COPYING, DISTRIBUTION AND MODIFICATION

0. You just DO WHAT THE FUCK YOU WANT TO.
`
)

func TestLicenses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		files   map[string]string
		want    []string
		refused string
	}{
		{"Allowed", map[string]string{"LICENSE": isc}, []string{"ISC"}, ""},
		{"Unfamiliar", map[string]string{"LICENSE.txt": anythingGoes}, []string{"WTFPL"}, "not among those allowed"},
		{"OfTheCodeTakenOver", map[string]string{"LICENSE": isc, "internal/other/COPYING": anythingGoes}, []string{"ISC", "WTFPL"}, "not among those allowed"},
		{"None", map[string]string{"README": isc}, nil, "no licence"},
		{"Unreadable", map[string]string{"LICENSE": "All rights reserved. " + strings.Repeat("Do not copy. ", 100)}, nil, "known licence"},
		{"MoreThanALicence", map[string]string{"LICENSE": isc + strings.Repeat("Nor may it be used for selling telephones. ", 100)}, nil, "known licence"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			dir := filepath.Join(root, "internal", "other")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			for name, text := range test.files {
				if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := licensesOf(root, dir)
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if err == nil {
				err = check(got)
			}
			if (err == nil) != (test.refused == "") || err != nil && !strings.Contains(err.Error(), test.refused) {
				t.Errorf("got %v, want %q", err, test.refused)
			}
		})
	}
}
