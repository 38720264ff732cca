package domain

// InvalidError says that a command cannot be carried out whatever the state,
// because one of its fields is wrong.
type InvalidError struct {
	Field  string // in the camelCase of the HTTP contract
	Detail string // what the field must be
}

// Error implements error.
func (e *InvalidError) Error() string { return e.Field + " " + e.Detail }

func invalid(field, detail string) error { return &InvalidError{Field: field, Detail: detail} }
