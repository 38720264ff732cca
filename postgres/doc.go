// Package postgres connects the program to Postgres, and runs a private server
// where none is given, so that one command starts everything.
package postgres
