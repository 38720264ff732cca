// Package auth says who a caller is: it verifies JSON Web Tokens (RFC 7519), and makes
// and checks the tickets of those who cannot send one.
package auth
