package servers

import (
	"slices"
	"strings"
	"testing"

	"vigil/rpc/gen/vigilv1"
)

// TestUpgradePlan is the table of what is said before a new version comes.
func TestUpgradePlan(t *testing.T) {
	server := func(id, version string, set ...func(*vigilv1.Server)) *vigilv1.Server {
		s := &vigilv1.Server{Id: id, Voter: true, Health: "alive", Version: version}
		for _, f := range set {
			f(s)
		}
		return s
	}
	leads := func(s *vigilv1.Server) { s.Leader, s.Health = true, "" }
	standby := func(s *vigilv1.Server) { s.Voter, s.Standby = false, true }
	dead := func(s *vigilv1.Server) { s.Health = "dead" }
	apart := func(s *vigilv1.Server) { s.Diverged = true }
	host := func(name, version string) *vigilv1.Host {
		return &vigilv1.Host{Name: name, State: "ready", Version: version}
	}
	reads := func(level uint32) func(*vigilv1.Server) { return func(s *vigilv1.Server) { s.Features = level } }
	gone := &vigilv1.Host{Name: "h2", State: "left", Version: "1"}
	three := []*vigilv1.Server{server("s1", "1", leads), server("s2", "1"), server("s3", "1")}
	for _, c := range []struct {
		name     string
		servers  []*vigilv1.Server
		hosts    []*vigilv1.Host
		warnings []string
		order    string
		stop     []string // each a part of one reason
		to       target
	}{
		{"the leader last, then hosts", three, []*vigilv1.Host{host("h1", "1"), gone}, nil, "s2 s3 s1 h1", nil, target{}},
		{"standbys first", append(three[:3:3], server("s4", "1", standby)), nil, nil, "s4 s2 s3 s1", nil, target{}},
		{"who has it is done", []*vigilv1.Server{server("s1", "1", leads), server("s2", "2"), server("s3", "1")},
			[]*vigilv1.Host{host("h1", "2")}, nil, "s3 s1", nil, target{}},
		{"all have it", []*vigilv1.Server{server("s1", "2", leads), server("s2", "2"), server("s3", "2")},
			nil, nil, "", nil, target{}},
		{"not while one is down", []*vigilv1.Server{server("s1", "1", leads), server("s2", "1", dead),
			server("s3", "1")}, nil, nil, "s2 s3 s1", []string{"server s2 is dead: start it"}, target{}},
		{"not while one differs", []*vigilv1.Server{server("s1", "1", leads), server("s2", "1", apart),
			server("s3", "1")}, nil, nil, "s2 s3 s1", []string{"server s2 differs"}, target{}},
		{"not while one is behind", three, nil, []string{"server s2 is 900 log entries behind"}, "s2 s3 s1",
			[]string{"behind: wait"}, target{}},
		{"not without a leader",
			[]*vigilv1.Server{server("s1", "1"), server("s2", "1"), server("s3", "1")}, nil, nil, "s1 s2 s3",
			[]string{"no leader"}, target{}},
		{"one server pauses writes", []*vigilv1.Server{server("s1", "1", leads)}, nil, nil, "s1",
			[]string{"nothing can be written"}, target{}},
		{"unless that is accepted", []*vigilv1.Server{server("s1", "1", leads)}, nil, nil, "s1", nil, target{pause: true}},
		{"what is wrong with itself keeps no server from its upgrade",
			[]*vigilv1.Server{server("s1", "1", leads), server("s2", "1", dead), server("s3", "1")}, nil,
			[]string{"server s2 is 900 log entries behind"}, "s2 s3 s1", nil, target{itself: "s2"}},
		{"what is wrong with another one does",
			[]*vigilv1.Server{server("s1", "1", leads), server("s2", "1", dead), server("s3", "1")}, nil, nil, "s2 s3 s1",
			[]string{"server s2 is dead"}, target{itself: "s3"}},
		{"one feature level apart", []*vigilv1.Server{server("s1", "1", leads, reads(1)), server("s2", "1", reads(1)),
			server("s3", "2", reads(2))}, nil, nil, "s2 s1", nil, target{level: 2}},
		{"a name of two versions", []*vigilv1.Server{server("s1", "2", leads, reads(1)), server("s2", "2", reads(2)),
			server("s3", "2", reads(2))}, nil, nil, "s1", nil, target{level: 2}},
		{"not more than one feature level apart", []*vigilv1.Server{server("s1", "1", leads, reads(2)),
			server("s2", "1", reads(1)), server("s3", "1", reads(2))}, nil, nil, "s2 s3 s1",
			[]string{"server s2 reads feature level 1 and 2 reads 3"}, target{level: 3}},
		{"not back from a level that all read", []*vigilv1.Server{server("s1", "1", leads, reads(2)),
			server("s2", "1", reads(2)), server("s3", "1", reads(2))}, nil, nil, "s2 s3 s1",
			[]string{"exit code 78"}, target{level: 1}},
	} {
		c.to.version = "2"
		u := planUpgrade(c.to, c.servers, c.hosts, c.warnings)
		var order []string
		total := len(c.servers) + len(c.hosts)
		if slices.Contains(c.hosts, gone) {
			total-- // it gets nothing
		}
		for _, s := range u.Steps {
			order = append(order, s.Name)
		}
		if got := strings.Join(order, " "); got != c.order || u.Done != total-len(u.Steps) {
			t.Errorf("%s: the order is %q and %d are done; want %q", c.name, got, u.Done, c.order)
		}
		if len(u.Stop) != len(c.stop) {
			t.Errorf("%s: %q is why not, want %q", c.name, u.Stop, c.stop)
			continue
		}
		for i, part := range c.stop {
			if !strings.Contains(u.Stop[i], part) {
				t.Errorf("%s: %q does not say %q", c.name, u.Stop[i], part)
			}
		}
	}
}
