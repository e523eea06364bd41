package cluster

import "time"

// Reach is what a server's API knows of who reaches whom. Safe for concurrent use.
type Reach interface {
	// Heard is when somebody else's call last came in; zero: never.
	Heard() time.Time
	// Reached is when the API of that server last answered this server. One that was
	// tried and has never answered counts as if it had when this server was started;
	// zero: it was not tried.
	Reached(id string) time.Time
}

// ReachWord is what a server answers when a leader asks who reaches its API.
type ReachWord string

// The answers.
const (
	ReachUnknown   ReachWord = "unknown"   // it has not tried, or there is no answer
	ReachGood      ReachWord = "reached"   // it reached it just now
	ReachLost      ReachWord = "unreached" // it does not, or does no more
	ReachLostHeard ReachWord = "heard"     // the same, and others reach the server that answers
)
