package backup

import "testing"

func TestFollowersComeFirstAndTheLeaderLast(t *testing.T) {
	voter := func(id string) Member { return Member{ID: id, Voter: true} }
	leader := func(id string) Member { return Member{ID: id, Voter: true, Leader: true} }
	for _, tt := range []struct {
		name    string
		members []Member
		self    string
		want    int
	}{
		{"the first follower by id", []Member{voter("c"), leader("a"), voter("b")}, "b", 0},
		{"the next one", []Member{voter("c"), leader("a"), voter("b")}, "c", 1},
		{"the leader", []Member{voter("c"), leader("a"), voter("b")}, "a", 2},
		{"a leader alone", []Member{leader("a")}, "a", 0},
		{"a standby after the voters", []Member{{ID: "a"}, leader("b"), voter("c")}, "a", 1},
		{"one that differs", []Member{{ID: "a", Voter: true, Diverged: true}, leader("b"), voter("c")}, "a", -1},
		{"the one after it", []Member{{ID: "a", Voter: true, Diverged: true}, leader("b"), voter("c")}, "c", 0},
		{"no leader", []Member{voter("a"), voter("b")}, "a", -1},
		{"no member", []Member{leader("a")}, "x", -1},
		{"nobody", nil, "a", -1},
	} {
		if got := Rank(tt.members, tt.self); got != tt.want {
			t.Errorf("%s: rank %d, want %d", tt.name, got, tt.want)
		}
	}
}
