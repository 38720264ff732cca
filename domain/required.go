package domain

import (
	"encoding/json"
	"reflect"
	"strings"
)

// missing names a field that the data of an event lacks, or is "". Required is
// what the event's type always writes, so a field that a type gets later is
// omitempty or omitzero: older data has none.
func missing(event Event, data []byte) string {
	for field, value := range reflect.ValueOf(event).Fields() {
		if !value.IsZero() {
			continue // it can only come from the data, which saves most events a second look
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if options == "" && !has(data, name) {
			return name
		}
	}
	return ""
}

// has reports whether an object has a field that is not null.
func has(data []byte, name string) bool {
	var fields map[string]*json.RawMessage // null is nil
	return json.Unmarshal(data, &fields) == nil && fields[name] != nil
}
