package http

import "github.com/danielgtaylor/huma/v2"

// showExamples gives each parameter of an operation the example of its schema:
// huma writes the schema's, and Swagger UI fills in the parameter's.
func showExamples(_ *huma.OpenAPI, operation *huma.Operation) {
	for _, parameter := range operation.Parameters {
		if parameter.Example == nil && len(parameter.Schema.Examples) > 0 {
			parameter.Example = parameter.Schema.Examples[0]
		}
	}
}
