// Package queries is the project's SQL and what sqlc makes of it. The *.sql files
// are the source; the *.sql.go files are generated and committed.
package queries
