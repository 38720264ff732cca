// Package http is the service's edge: the REST API and its OpenAPI document, the
// push of results by SSE and long poll, and the pages.
package http
