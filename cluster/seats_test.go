package cluster

import (
	"testing"
	"time"
)

// TestVotesThatALeaderMoves is the table of what a leader does with votes by itself.
func TestVotesThatALeaderMoves(t *testing.T) {
	const limit = 10 * time.Minute
	lead := seat{id: "s1", voter: true, leader: true}
	voter := func(id string) seat { return seat{id: id, voter: true} }
	lost := func(id string) seat { return seat{id: id, voter: true, silent: limit} }
	spare := func(id string) seat { return seat{id: id, ready: true} }
	in := func(zone string, s seat) seat { s.zone = zone; return s }
	for _, c := range []struct {
		name       string
		seats      []seat
		give, take string
	}{
		{"all is well", []seat{lead, voter("s2"), voter("s3"), spare("s4")}, "", ""},
		{"a silence that is short",
			[]seat{lead, voter("s2"), {id: "s3", voter: true, silent: limit - 1}, spare("s4")}, "", ""},
		{"a standby takes the place of a lost server", []seat{lead, voter("s2"), lost("s3"), spare("s4")}, "s4", "s3"},
		{"one that is not ready does not", []seat{lead, voter("s2"), lost("s3"), {id: "s4"}}, "", ""},
		{"three votes never become two", []seat{lead, voter("s2"), lost("s3")}, "", ""},
		{"replaced by hand: four become three", []seat{lead, voter("s2"), lost("s3"), voter("s4")}, "", "s3"},
		{"of five that were wanted one is kept", []seat{lead, voter("s2"), lost("s3"), voter("s4"), voter("s5")}, "", ""},
		{"one after the other", []seat{lead, voter("s2"), lost("s3"), lost("s4"), voter("s5"), spare("s6")}, "s6", "s3"},
		{"a standby of the lost zone is the best", []seat{in("a", lead), in("b", voter("s2")), in("c", lost("s3")),
			in("d", spare("s4")), in("c", spare("s5"))}, "s5", "s3"},
		{"then one of a zone without a vote", []seat{in("a", lead), in("b", voter("s2")), in("c", lost("s3")),
			in("b", spare("s4")), in("d", spare("s5"))}, "s5", "s3"},
		{"then any", []seat{in("a", lead), in("b", voter("s2")), in("c", lost("s3")), in("b", spare("s4"))}, "s4", "s3"},
		{"two votes in one zone are spread", []seat{in("a", lead), in("b", voter("s2")),
			in("b", voter("s3")), in("c", spare("s4"))}, "s4", "s2"},
		{"the leader keeps its vote", []seat{in("a", lead), in("a", voter("s2")), in("b", voter("s3")),
			in("c", spare("s4"))}, "s4", "s2"},
		{"nothing is spread while one is silent", []seat{in("a", lead), in("a", voter("s2")),
			in("b", seat{id: "s3", voter: true, silent: 1}), in("c", spare("s4"))}, "", ""},
		{"servers that say no zone stay", []seat{lead, voter("s2"), voter("s3"), in("c", spare("s4"))}, "", ""},
	} {
		m, due := planSeats(c.seats, limit)
		if m.give != c.give || m.take != c.take || due != (c.give+c.take != "") || due && m.why == "" {
			t.Errorf("%s: got %+v, %v; want vote to %q from %q", c.name, m, due, c.give, c.take)
		}
	}
}
