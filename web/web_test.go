package web

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// pages are the HTML files with what their scripts speak.
var pages = map[string]struct {
	page  []byte
	words string
}{
	"index.html":    {Index, "assets/words.js"},
	"operator.html": {Operator, "assets/operator-words.js"},
}

func TestPages(t *testing.T) {
	t.Parallel()

	for name, test := range pages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			t.Run("LinksToVersionedAssetsThatExist", func(t *testing.T) {
				t.Parallel()

				links := submatches(`(?:href|src)="(/assets/[^"]*)"`, string(test.page))
				if len(links) == 0 {
					t.Fatal("no links to assets")
				}
				for _, link := range links {
					name, versioned := strings.CutPrefix(link, "/assets/"+Version+"/")
					if !versioned {
						t.Errorf("%s: not below /assets/%s/", link, Version)
					}
					mustRead(t, "assets/"+name)
				}
			})

			t.Run("LoadsEveryModuleAtOnce", func(t *testing.T) {
				t.Parallel()

				script := submatches(`script type="module" src="/assets/\w+/([^"]*)"`, string(test.page))
				want := modules(t, script)
				got := append(script, submatches(`modulepreload" href="/assets/\w+/([^"]*)"`, string(test.page))...)
				slices.Sort(got)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("modules that the page loads (-imported +page):\n%s", diff)
				}
			})

			t.Run("HasNothingInline", func(t *testing.T) {
				t.Parallel()

				for _, forbidden := range []string{`<script[^>]*>[^<]`, `<style`, `\sstyle=`, `\son\w+=`, `javascript:`} {
					if found := regexp.MustCompile(forbidden).Find(test.page); found != nil {
						t.Errorf("%q: a policy of default-src 'self' forbids it", found)
					}
				}
			})

			t.Run("SaysTheSameInBothLanguages", func(t *testing.T) {
				t.Parallel()

				chinese, english, found := strings.Cut(mustRead(t, test.words), "\n  en: {\n")
				if !found {
					t.Fatalf("%s: no table of English words", test.words)
				}
				keys := func(table string) []string {
					return submatches(`(?m)^    '?([\w.]+)'?: ['"]`, table)
				}
				if diff := cmp.Diff(keys(chinese), keys(english)); diff != "" {
					t.Errorf("the languages differ in what they can say (-zh +en):\n%s", diff)
				}
				for _, key := range submatches(`data-text="([^"]*)"`, string(test.page)) {
					if !slices.Contains(keys(english), key) {
						t.Errorf("no words for %q", key)
					}
				}
			})
		})
	}
}

func TestOperatorSaysWhatEachFieldMustBe(t *testing.T) {
	t.Parallel()

	words := mustRead(t, "assets/operator-words.js")
	fields := submatches(`<input[^>]* name="(\w+)"`, string(Operator))
	if len(fields) == 0 {
		t.Fatal("no fields")
	}
	for _, name := range fields {
		if got := strings.Count(words, "'field."+name+"': "); got != 2 {
			t.Errorf("%s: words in %d languages, want 2", name, got)
		}
	}
}

// modules are these and all that they import, directly or not, sorted.
func modules(tb testing.TB, names []string) []string {
	tb.Helper()

	all := slices.Clone(names)
	for i := 0; i < len(all); i++ {
		for _, imported := range submatches(`from '\./([^']*)'`, mustRead(tb, "assets/"+all[i])) {
			if !slices.Contains(all, imported) {
				all = append(all, imported)
			}
		}
	}
	slices.Sort(all)

	return all
}

func TestAssets(t *testing.T) {
	t.Parallel()

	t.Run("AskNobodyElse", func(t *testing.T) {
		t.Parallel()

		for _, name := range mustGlob(t, "assets/*") {
			content := strings.ReplaceAll(withoutComments(mustRead(t, name)), "http://www.w3.org/2000/svg", "") // A name, never fetched.
			if found := regexp.MustCompile(`https?://[^\s"')]*`).FindString(content); found != "" {
				t.Errorf("%s: refers to %s", name, found)
			}
		}
	})

	t.Run("ImportModulesThatExist", func(t *testing.T) {
		t.Parallel()

		for _, name := range mustGlob(t, "assets/*.js") {
			for _, module := range submatches(`from '([^']*)'`, withoutComments(mustRead(t, name))) {
				mustRead(t, path.Join("assets", module))
			}
		}
	})
}

func TestVersion(t *testing.T) {
	t.Parallel()

	one := version(fstest.MapFS{"a": {Data: []byte("1")}, "b": {Data: []byte("2")}})
	for name, other := range map[string]fstest.MapFS{
		"Content": {"a": {Data: []byte("1")}, "b": {Data: []byte("3")}},
		"Names":   {"a": {Data: []byte("1")}, "c": {Data: []byte("2")}},
		"Removed": {"a": {Data: []byte("1")}},
		"Swapped": {"a": {Data: []byte("2")}, "b": {Data: []byte("1")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if version(other) == one {
				t.Error("other files, same version")
			}
		})
	}
}

func mustGlob(tb testing.TB, pattern string) []string {
	tb.Helper()

	names, err := fs.Glob(FS, pattern)
	if err != nil || len(names) == 0 {
		tb.Fatalf("glob %s: %d files, %v", pattern, len(names), err)
	}

	return names
}

func mustRead(tb testing.TB, name string) string {
	tb.Helper()

	content, err := fs.ReadFile(FS, name)
	if err != nil {
		tb.Fatal(err)
	}

	return string(content)
}

// withoutComments leaves out the lines that are comments, which may show how to use what is there.
func withoutComments(script string) string {
	return regexp.MustCompile(`(?m)^\s*//.*$`).ReplaceAllString(script, "")
}

// submatches returns what the first group of the expression matched, each time.
func submatches(expression, text string) []string {
	var groups []string
	for _, match := range regexp.MustCompile(expression).FindAllStringSubmatch(text, -1) {
		groups = append(groups, match[1])
	}

	return groups
}
