package duty

import (
	"slices"
	"testing"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

func allSuspects(w *world) []fsm.Command {
	return ofHosts(&w.s.View, func(h *noun.Host) []fsm.Command { return suspects(&w.s.View, h) })
}

func allSurrenders(w *world) []fsm.Command {
	return ofHosts(&w.s.View, func(h *noun.Host) []fsm.Command { return surrenders(&w.s.View, h) })
}

func allCancels(w *world) []fsm.Command {
	return ofHosts(&w.s.View, func(h *noun.Host) []fsm.Command { return cancels(&w.s.View, h) })
}

func allVoids(w *world, unheard map[string]bool) []fsm.Command {
	done := map[string]bool{}
	return ofHosts(&w.s.View, func(h *noun.Host) []fsm.Command { return voids(h, unheard, done) })
}

// heard is one server's view: gossip, then stream.
type heard [2]noun.Hearing

const (
	none   = noun.HearNothing
	alive  = noun.HearAlive
	silent = noun.HearSilent
	left   = noun.HearLeft
)

func (w *world) hear(h noun.HostID, views ...heard) {
	w.t.Helper()
	for i, v := range views {
		w.must(fsm.ReportViews{Server: string(rune('a' + i)),
			Views: []noun.HostView{{Host: h, Gossip: v[0], Stream: v[1]}}})
	}
}

func TestSuspects(t *testing.T) {
	tests := []struct {
		name    string
		suspect bool // before
		views   []heard
		want    []string
	}{
		{"nobody says anything", false, nil, nil},
		{"heard by one on its stream", false, []heard{{none, alive}}, nil},
		{"silent on its stream", false, []heard{{none, silent}}, []string{"suspect h: silent on its stream"}},
		{"silent here, its stream is elsewhere now", false, []heard{{none, silent}, {none, alive}}, nil},
		{"no stream at all is no silence", false, []heard{{none, none}, {none, none}}, nil},
		{"gossip: a minority does not hear it", false, []heard{{alive, alive}, {alive, none}, {silent, none}}, nil},
		{"gossip: a majority does not hear it", false, []heard{{alive, alive}, {silent, none},
			{silent, none}}, []string{"suspect h: silent in gossip"}},
		{"gossip: of those that gossip with it", false,
			[]heard{{none, alive}, {none, none}, {silent, none}}, []string{"suspect h: silent in gossip"}},
		{"gossip: left without a good-bye to the cluster", false,
			[]heard{{left, none}, {left, none}, {alive, none}},
			[]string{"suspect h: its daemon said good-bye in gossip"}},
		{"both", false, []heard{{silent, silent}, {silent, none}, {alive, none}},
			[]string{"suspect h: silent on its stream and in gossip"}},
		{"suspect, heard again", true, []heard{{alive, alive}, {alive, none}, {alive, none}},
			[]string{"trust h: heard again"}},
		{"suspect, and what was said against it is void: no sign of life", true, nil, nil},
		{"suspect, heard on its stream only", true, []heard{{none, alive}}, []string{"trust h: heard again"}},
		{"suspect, the reason is another now", true, []heard{{none, silent}},
			[]string{"suspect h: silent on its stream"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			h := w.host("h")
			if tt.suspect {
				w.must(fsm.SuspectHost{Host: h, Suspect: true, Reason: "before"})
			}
			w.hear(h, tt.views...)
			plan := allSuspects(w)
			if got := w.show(plan); !slices.Equal(got, tt.want) {
				t.Fatalf("planned %q, want %q", got, tt.want)
			}
			w.carry(plan)
			if again := w.show(allSuspects(w)); len(again) != 0 {
				t.Fatalf("the plan was carried out and is planned again: %q", again)
			}
		})
	}
}

// A blocked UDP port is told apart from a dead host: its beats arrive.
func TestSuspectsTellABlockedPortFromADeadHost(t *testing.T) {
	w := newWorld(t)
	h := w.host("h")
	w.hear(h, heard{silent, alive}, heard{silent, none}, heard{silent, none})
	w.carry(allSuspects(w))
	for range 30 {
		w.pass(time.Second)
		if plan := allSuspects(w); len(plan) != 0 {
			t.Fatalf("planned %q although no beat has arrived", w.show(plan))
		}
	}
	w.beat(h)
	if got, want := w.show(allSuspects(w)),
		[]string{"suspect h: gossip is blocked (UDP port?) while its beats arrive"}; !slices.Equal(got, want) {
		t.Fatalf("planned %q, want %q", got, want)
	}
	w.carry(allSuspects(w))
	w.pass(time.Second)
	if plan := allSuspects(w); len(plan) != 0 {
		t.Fatalf("planned %q again", w.show(plan))
	}
	w.hear(h, heard{alive, alive}, heard{alive, none}, heard{alive, none})
	if got, want := w.show(allSuspects(w)), []string{"trust h: heard again"}; !slices.Equal(got, want) {
		t.Fatalf("planned %q, want %q", got, want)
	}
}

func TestSuspectsAreForgottenWhenLost(t *testing.T) {
	w := newWorld(t)
	h := w.host("h")
	w.hear(h, heard{silent, silent})
	w.pass(2 * time.Minute)
	if w.s.Host(h).State != noun.HostLost {
		t.Fatalf("host is %s", w.s.Host(h).State)
	}
	if plan := allSuspects(w); len(plan) != 0 {
		t.Fatalf("planned %q for a lost host", w.show(plan))
	}
}

// Incident I17: the server that held the host's stream dies with the host. What it
// said last must not keep the host alive.
func TestI17ViewsOfUnreachableServersAreVoid(t *testing.T) {
	w := newWorld(t)
	h, other := w.host("h"), w.host("other")
	w.hear(h, heard{alive, alive}, heard{silent, none}, heard{alive, none})
	w.hear(other, heard{alive, none}, heard{alive, alive})
	if plan := allVoids(w, map[string]bool{"x": true}); len(plan) != 0 {
		t.Fatalf("planned %q for a server that has said nothing", w.show(plan))
	}
	w.hear(h, heard{alive, alive}, heard{silent, none}, heard{silent, none})
	plan := allVoids(w, map[string]bool{"a": true})
	if got, want := w.show(plan), []string{"void a"}; !slices.Equal(got, want) {
		t.Fatalf("planned %q, want %q", got, want)
	}
	w.carry(plan)
	if plan := allVoids(w, map[string]bool{"a": true}); len(plan) != 0 {
		t.Fatalf("planned %q again", w.show(plan))
	}
	if got, want := w.show(allSuspects(w)), []string{"suspect h: silent in gossip"}; !slices.Equal(got, want) {
		t.Fatalf("planned %q, want %q", got, want)
	}
}

// Lives of fast roles are given up when stream and gossip agree and no beat has
// come; those of fenced roles wait for their fence (law L7).
func TestSurrenders(t *testing.T) {
	fast := func(w *world) (noun.HostID, []string) {
		h := w.host("h")
		w.must(room("r", noun.RoleSpec{Name: "f", Policy: noun.PolicyFast}, noun.RoleSpec{Name: "x"}))
		w.carry(starts(&w.s.View, 10))
		w.accept(h)
		return h, []string{"surrender h"}
	}
	tests := []struct {
		name  string
		views []heard
		after time.Duration
		gone  bool
	}{
		{"stream and gossip agree", []heard{{silent, silent}, {silent, none}, {alive, none}}, fsm.SilentFor, true},
		{"its last beat is too young", []heard{{silent, silent}, {silent, none}, {silent, none}},
			fsm.SilentFor - time.Second, false},
		{"gossip hears it", []heard{{alive, silent}, {alive, none}, {silent, none}}, fsm.SilentFor, false},
		{"a stream hears it", []heard{{silent, silent}, {silent, alive}, {silent, none}}, fsm.SilentFor, false},
		{"nobody gossips with it", []heard{{none, silent}}, fsm.SilentFor, true},
		{"the server with its stream is gone too", []heard{{silent, none}, {silent, none}}, fsm.SilentFor, true},
		{"its daemon has left its agents running", []heard{{left, silent}, {left, none}, {left, none}},
			fsm.SilentFor, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			h, want := fast(w)
			w.pass(tt.after)
			w.hear(h, tt.views...)
			if plan := allSurrenders(w); len(plan) != 0 {
				t.Fatalf("planned %q before anybody doubts the host", w.show(plan))
			}
			w.carry(allSuspects(w))
			plan := allSurrenders(w)
			if !tt.gone {
				want = nil
				if out := w.apply(fsm.Request{Cmd: fsm.SurrenderHost{Host: h}}).Outcomes[0]; out.Code != noun.Conflict {
					t.Fatalf("the state machine let it through: %+v", out)
				}
			}
			if got := w.show(plan); !slices.Equal(got, want) {
				t.Fatalf("planned %q, want %q", got, want)
			}
			w.carry(plan)
			if got := w.s.AgentByName("r/f").Proc == noun.ProcLost; got != tt.gone {
				t.Fatalf("r/f is %s", w.s.AgentByName("r/f").Proc)
			}
			if got := w.s.AgentByName("r/x").Proc; got != noun.ProcRunning {
				t.Fatalf("L7: the fenced r/x is %s", got)
			}
			if plan := allSurrenders(w); len(plan) != 0 {
				t.Fatalf("planned %q again", w.show(plan))
			}
		})
	}
}

// L7: only what was not accepted is taken back from a host in doubt.
func TestCancelsSpareAcceptedOrders(t *testing.T) {
	w := newWorld(t)
	h := w.host("h")
	w.must(room("r", noun.RoleSpec{Name: "x", Replicas: 2}))
	w.carry(starts(&w.s.View, 10))
	if plan := allCancels(w); len(plan) != 0 {
		t.Fatalf("planned %q for a ready host", w.show(plan))
	}
	a := w.s.AgentByName("r/x")
	w.must(fsm.AcceptOrder{Host: h, Boot: "boot", Agent: a.ID, Inc: a.Inc})
	w.must(fsm.SuspectHost{Host: h, Suspect: true})
	plan := allCancels(w)
	if got, want := w.show(plan), []string{"cancel r/x.2#1"}; !slices.Equal(got, want) {
		t.Fatalf("planned %q, want %q", got, want)
	}
	w.carry(plan)
	w.host("other")
	if got, want := w.show(starts(&w.s.View, 10)), []string{"start r/x.2#2 on other"}; !slices.Equal(got, want) {
		t.Fatalf("planned %q, want %q", got, want)
	}
}
