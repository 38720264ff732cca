// Package push measures how many can wait for results on one node, what each of
// them takes, and how soon all are told: by server-sent events and by WebSocket.
package push
