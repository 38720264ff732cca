package http

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"
)

var (
	errInvalidJSON = errors.New("invalid JSON")
	errBadNumber   = errors.New("a number is not a whole number as JSON writes one, or is out of range")
)

// strictJSON is huma's JSON, but it refuses bodies that name a field twice or are
// not UTF-8. encoding/json takes both in silence: the last of two quantities would
// win, and two different broken names would become the same.
var strictJSON = huma.Format{
	Marshal: func(w io.Writer, v any) error {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(v)
	},
	Unmarshal: func(data []byte, v any) error {
		// huma reads a body twice: into any, to validate, and into the input. The
		// first reading has looked at the bytes.
		if _, first := v.(*any); first && !jsontext.Value(data).IsValid() {
			return errInvalidJSON
		}
		err := json.Unmarshal(data, v)
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return errBadNumber // everything else was found by the validation; Go's own words are not for clients
		}
		return err
	},
}
