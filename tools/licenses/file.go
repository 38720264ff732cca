package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// licenseFile is what files with a licence are called.
var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)([-.].*)?$`)

// minCoverage is how much of a file, in percent, has to be the text of licences that
// are known. The rest are names, years and notes of the authors.
const minCoverage = 75

// licensesOf returns the licences of a package: of all files between its folder and
// the root of its module, as code that was taken over often brings its own along.
func licensesOf(root, dir string) ([]string, error) {
	if dir != root && !strings.HasPrefix(dir, root+string(filepath.Separator)) {
		return nil, fmt.Errorf("%s is not in %s", dir, root)
	}
	var found []string
	for ; ; dir = filepath.Dir(dir) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if entry.IsDir() || !licenseFile.MatchString(entry.Name()) || strings.HasSuffix(entry.Name(), ".go") {
				continue
			}
			licenses, err := licensesIn(filepath.Join(dir, entry.Name()))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", filepath.Join(dir, entry.Name()), err)
			}
			found = append(found, licenses...)
		}
		if dir == root {
			break
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

func licensesIn(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	coverage := licensecheck.Scan(text)
	if coverage.Percent < minCoverage {
		return nil, fmt.Errorf("only %.0f %% of it is the text of a known licence", coverage.Percent)
	}
	var licenses []string
	for _, match := range coverage.Match {
		licenses = append(licenses, match.ID)
	}
	if len(licenses) == 0 {
		return nil, errors.New("it has no known licence")
	}
	return licenses, nil
}
