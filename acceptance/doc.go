// Package acceptance tests the program as its users meet it: several nodes, each a
// process of its own, on one real Postgres, with thousands of buyers who are told
// what became of their purchases, while nodes are killed or frozen and the
// database goes away.
//
// What must hold afterwards is written in rules/, one query for each rule. The
// queries are about the events, what the buyers sent and what they were told.
// They share no code with the service.
package acceptance
