package bench

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

func TestALossIsOverWhenAllAgentsRunElsewhere(t *testing.T) {
	x := &loss{run: &run{tag: "room"}, changed: make(chan struct{}, 1), suspected: map[string]time.Time{},
		started: map[string]homecoming{}}
	began := time.Now()
	event := func(kind, agent, host string, after time.Duration) {
		e := &vigilv1.Event{Kind: kind, Agent: agent, Host: host}
		if agent != "" {
			e.Room = "room"
		}
		x.note(e, began.Add(after), nil)
	}
	policy := map[string]string{"room/fast": "fast", "room/fenced": "fenced", "room/fenced.2": "fenced"}
	h := &lossHost{name: "h1"}
	for name, host := range map[string]string{"room/fast": "h1", "room/fenced": "h1", "room/fenced.2": "h1"} {
		event("agent.started", name, host, -time.Second)
	}
	check := func(what string, left int, doubt, fast, fenced time.Duration) {
		t.Helper()
		gotDoubt, homes, gotLeft := x.rehomed(h, policy, began)
		if gotLeft != left || gotDoubt != doubt || homes["fast"] != fast || homes["fenced"] != fenced {
			t.Errorf("%s: %d left, suspect after %s, homes %v", what, gotLeft, gotDoubt, homes)
		}
	}
	check("before anything has happened", 4, 0, 0, 0)
	event("host.suspect", "", "h1", 4*time.Second)
	event("host.suspect", "", "h1", 6*time.Second) // the first one counts
	event("agent.started", "room/fast", "h2", 5*time.Second)
	event("agent.started", "room/fenced", "h3", 10*time.Second)
	check("one agent is missing", 1, 4*time.Second, 5*time.Second, 10*time.Second)
	event("agent.started", "room/fenced.2", "h1", 10*time.Second)
	check("an agent was started on the dead host", 1, 4*time.Second, 5*time.Second, 10*time.Second)
	event("agent.started", "room/fenced.2", "h2", 11*time.Second)
	check("the slowest agent counts", 0, 4*time.Second, 5*time.Second, 11*time.Second)
	if x.doubted != 2 {
		t.Errorf("%d suspicions", x.doubted)
	}
	x.note(nil, began, errors.New("cut"))
	if x.broken == nil {
		t.Error("the end of the events went unnoticed")
	}
}

func TestFamilyOfAProcess(t *testing.T) {
	parents := map[int]int{10: 1, 11: 10, 12: 10, 13: 11, 20: 1, 21: 20}
	if got := family(parents, 10); !slices.Equal(got, []int{10, 11, 12, 13}) {
		t.Errorf("family of 10: %v", got)
	}
	if got := family(parents, 99); !slices.Equal(got, []int{99}) {
		t.Errorf("family of a stranger: %v", got)
	}
}

func TestAgentKeepsALedgerOnlyWhenAsked(t *testing.T) {
	cfg := client.WorkerConfig{Agent: "room/fast", Incarnation: 3}
	if err := keepLedger(t.Context(), cfg, func(string) string { return "" }); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	env := map[string]string{envLedger: dir, envHost: "h1"}
	if err := keepLedger(t.Context(), cfg, func(name string) string { return env[name] }); err != nil {
		t.Fatal(err)
	}
	lives, err := ledger.Read(dir)
	if err != nil || len(lives) != 1 || lives[0].Agent != "room/fast" || lives[0].Incarnation != 3 ||
		lives[0].Host != "h1" || lives[0].PID != os.Getpid() {
		t.Errorf("%+v, %v", lives, err)
	}
}
