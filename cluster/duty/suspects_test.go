package duty

import (
	"slices"
	"testing"
	"time"

	"vigil/fsm"
)

func TestSuspects(t *testing.T) {
	tests := []struct {
		name    string
		suspect bool          // before
		sinceUp time.Duration // since the host's last beat
		here    bool
		silent  time.Duration
		want    []string
	}{
		{"ready and heard", false, 0, true, time.Second, nil},
		{"ready and silent", false, 0, true, SilentFor, []string{"suspect h"}},
		{"ready, stream elsewhere: never doubted", false, 50 * time.Second, false, 0, nil},
		{"suspect and still silent", true, 0, true, time.Minute, nil},
		{"suspect and heard again", true, 0, true, 0, []string{"trust h"}},
		{"suspect, stream elsewhere, beat just now", true, time.Second, false, 0, []string{"trust h"}},
		{"suspect, stream elsewhere, no beat", true, 6 * time.Second, false, 0, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			h := w.host("h")
			if tt.suspect {
				w.must(fsm.SuspectHost{Host: h, Suspect: true})
			}
			w.pass(tt.sinceUp)
			silence := map[fsm.HostID]time.Duration{}
			if tt.here {
				silence[h] = tt.silent
			}
			plan := Suspects(w.s, silence)
			if got := w.show(plan); !slices.Equal(got, tt.want) {
				t.Fatalf("planned %q, want %q", got, tt.want)
			}
			w.carry(plan)
			if again := w.show(Suspects(w.s, silence)); len(again) != 0 {
				t.Fatalf("the plan was carried out and is planned again: %q", again)
			}
		})
	}
}

func TestSuspectsAreForgottenWhenLost(t *testing.T) {
	w := newWorld(t)
	h := w.host("h")
	w.pass(2 * time.Minute)
	if w.s.Host(h).State != fsm.HostLost {
		t.Fatalf("host is %s", w.s.Host(h).State)
	}
	if plan := Suspects(w.s, map[fsm.HostID]time.Duration{h: time.Hour}); len(plan) != 0 {
		t.Fatalf("planned %q for a lost host", w.show(plan))
	}
}

// L7: only what was not accepted is taken back from a host in doubt.
func TestCancelsSpareAcceptedOrders(t *testing.T) {
	w := newWorld(t)
	h := w.host("h")
	w.must(room("r", fsm.RoleSpec{Name: "x", Replicas: 2}))
	w.carry(Starts(w.s, 10))
	if plan := Cancels(w.s); len(plan) != 0 {
		t.Fatalf("planned %q for a ready host", w.show(plan))
	}
	a := w.s.AgentByName("r/x")
	w.must(fsm.AcceptOrder{Host: h, Boot: "boot", Agent: a.ID, Inc: a.Inc})
	w.must(fsm.SuspectHost{Host: h, Suspect: true})
	plan := Cancels(w.s)
	if got, want := w.show(plan), []string{"cancel r/x.2#1"}; !slices.Equal(got, want) {
		t.Fatalf("planned %q, want %q", got, want)
	}
	w.carry(plan)
	w.host("other")
	if got, want := w.show(Starts(w.s, 10)), []string{"start r/x.2#2 on other"}; !slices.Equal(got, want) {
		t.Fatalf("planned %q, want %q", got, want)
	}
}
