// Command licenses fails if a package that a module builds or tests with is under a
// licence that the project has not agreed to, or under none that can be told. It is
// given the module's folder, and prints what it found.
//
//	go run -C tools ./licenses ..
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// allowed are the licences, by SPDX identifier, that let the program be given away
// under terms of one's own choice. MPL-2.0 asks that changes to the files under it
// stay open; none are changed here.
var allowed = []string{
	"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "Unlicense", "Zlib",
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "licenses: the folder of a module is wanted")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

// run prints how many modules there are of each licence, and returns an error that
// names every package whose licence is not allowed.
func run(w io.Writer, folder string) error {
	packages, err := list(folder)
	if err != nil {
		return err
	}
	modules := make(map[string]map[string]bool) // by licence
	var refused []error
	for _, p := range packages {
		licenses, err := licensesOf(p.Module.Dir, p.Dir)
		if err == nil {
			err = check(licenses)
		}
		if err != nil {
			refused = append(refused, fmt.Errorf("%s of %s %s: %w", p.ImportPath, p.Module.Path, p.Module.Version, err))
			continue
		}
		for _, id := range licenses {
			if modules[id] == nil {
				modules[id] = make(map[string]bool)
			}
			modules[id][p.Module.Path] = true
		}
	}
	if len(refused) > 0 {
		return errors.Join(refused...)
	}
	for _, id := range slices.Sorted(maps.Keys(modules)) {
		fmt.Fprintf(w, "%-13s %d modules\n", id, len(modules[id]))
	}
	return nil
}

// check returns an error unless there are licences and all are allowed. Of code that
// may be used under one of several the file names them all: that is for people to
// decide, and to write down here.
func check(licenses []string) error {
	if len(licenses) == 0 {
		return errors.New("no licence is to be found")
	}
	for _, id := range licenses {
		if !slices.Contains(allowed, id) {
			return fmt.Errorf("the licence %s is not among those allowed", id)
		}
	}
	return nil
}

// dependency is a package of another module.
type dependency struct {
	Dir        string
	ImportPath string
	Module     *struct {
		Dir, Path, Version string
		Main               bool
	}
}

// list returns what the module's packages and their tests are built of beside the
// standard library and the module itself.
func list(folder string) ([]dependency, error) {
	cmd := exec.Command("go", "list", "-deps", "-test", "-json=Dir,ImportPath,Module", "./...")
	cmd.Dir = folder
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	var packages []dependency
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p dependency
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read the list of packages: %w", err)
		}
		if p.Module != nil && !p.Module.Main {
			packages = append(packages, p)
		}
	}
	if len(packages) == 0 {
		return nil, errors.New("there are no packages of others: is this the right folder?")
	}
	return packages, nil
}
