// Package web holds the buyers' and the operator's page: an HTML file each, and the assets they load. They are plain files,
// embedded as they are; there is no build step.
//
// A file's path in FS is its path on the server, except that the page asks for its assets below /assets/<Version>/. Modules
// import each other by relative URL, so that one prefix versions them all, and the server may let everything below it be kept
// for ever: who reloads during a rush asks for the page and nothing else.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
)

//go:embed index.html operator.html assets
var files embed.FS

// FS holds the pages and the folder assets.
var FS fs.FS = files

// Version names the content of FS: it is another one as soon as any file differs.
var Version = version(FS)

// The pages, with their links to /assets/ leading below /assets/<Version>/.
var (
	Index    = page("index.html")
	Operator = page("operator.html")
)

func page(name string) []byte {
	page, err := fs.ReadFile(FS, name)
	if err != nil {
		panic(err) // Embedded: the compiler has seen it.
	}

	return bytes.ReplaceAll(page, []byte(`"/assets/`), []byte(`"/assets/`+Version+`/`))
}

func version(fsys fs.FS) string {
	hash := sha256.New()

	err := fs.WalkDir(fsys, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(fsys, path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		hash.Write([]byte(path + "\x00"))
		hash.Write(sum[:])

		return nil
	})
	if err != nil {
		panic(err) // Embedded files cannot fail to be read.
	}

	return hex.EncodeToString(hash.Sum(nil))[:12]
}
