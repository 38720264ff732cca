// Package postgrestest gives tests a real Postgres: a fresh, migrated database
// for each test by New, or a whole server to kill and restart by Server. A
// package that uses New calls Main from its TestMain:
//
//	func TestMain(m *testing.M) { postgrestest.Main(m) }
package postgrestest
