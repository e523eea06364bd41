package rpc

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
)

// L9: what a human sets for a time is shown with its end wherever it is shown, by gRPC and HTTP, and
// is gone from there when it is over.
func TestN34EndsAreShownUntilTheyCome(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	w.register("k1", "h1")
	hour := durationpb.New(time.Hour)
	for _, scope := range []string{"", "demo", "demo/builder"} {
		if _, err := w.fleet(1).SetPause(within(t), &vigilv1.SetPauseRequest{Scope: scope, Pause: new(true), By: "ann",
			For: hour}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.fleet(1).SetAgent(within(t), &vigilv1.SetAgentRequest{Agent: "demo/builder", Desired: "stopped",
		By: "ann", For: durationpb.New(2 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	status, h, _ := w.call(1, "POST", "/v1/hosts/h1:drain", `{"by":"ann","for":"3600s","deadline":"60s"}`)
	if status != 200 || h["drain_ends_in"] != "3600s" {
		t.Fatalf("drain over HTTP: %d %v", status, h)
	}
	seen := func() (ends [5]time.Duration, g *vigilv1.Agent) {
		t.Helper()
		st, err := w.cluster(0).Status(within(t), &vigilv1.StatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		room, err := w.fleet(0).GetRoom(within(t), &vigilv1.GetRoomRequest{Room: "demo"})
		if err != nil {
			t.Fatal(err)
		}
		list, err := w.fleet(0).ListAgents(within(t), &vigilv1.ListAgentsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		g = list.GetAgents()[0]
		for i, d := range []*durationpb.Duration{st.GetPauseEndsIn(), room.GetPauseEndsIn(), g.GetPauseEndsIn(),
			w.hostNamed("h1").GetDrainEndsIn(), g.GetStopEndsIn()} {
			if ends[i] = -1; d != nil {
				ends[i] = d.AsDuration()
			}
		}
		return ends, g
	}
	ends, g := seen()
	if ends != [5]time.Duration{time.Hour, time.Hour, time.Hour, time.Hour, 2 * time.Hour} ||
		g.GetWhyLeft().AsDuration() != 2*time.Hour ||
		!strings.Contains(g.GetWhy(), "stopped for another 2h0m0s by ann") {
		t.Errorf("they end in %v; the agent is %v", ends, g)
	}
	rows, err := w.fleet(1).ListDeadlines(within(t), &vigilv1.ListDeadlinesRequest{Agent: "demo/builder"})
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]string{}
	for _, d := range rows.GetDeadlines() {
		of[d.GetOf()] += d.GetKind() + ";"
	}
	if of["cluster"] != "end of the pause;" || of["room demo"] != "end of the pause;" ||
		of["agent demo/builder"] != "end of the pause;end of the stop;" {
		t.Errorf("deadlines: %v", of)
	}
	w.advance(time.Hour)
	if ends, g = seen(); ends != [5]time.Duration{-1, -1, -1, -1, time.Hour} || g.GetPaused() ||
		w.hostNamed("h1").GetDrain() {
		t.Errorf("after an hour they end in %v; the agent is %v", ends, g)
	}
	w.advance(time.Hour)
	if ends, g = seen(); ends[4] != -1 || g.GetDesired() != "running" {
		t.Errorf("after two hours the stop ends in %s; the agent is %v", ends[4], g)
	}
}

// What cannot last, or for so long, is refused with what is possible.
func TestN34ImpossibleEndsAreRefused(t *testing.T) {
	second := durationpb.New(time.Second)
	for _, tc := range []struct {
		name string
		err  func() error
		says string
	}{
		{"too short", func() error {
			_, err := setPauseCmd(&vigilv1.SetPauseRequest{Pause: new(true), For: durationpb.New(time.Second - 1)})
			return err
		}, "1s to 365 days"},
		{"nothing", func() error {
			_, err := setAgentCmd(&vigilv1.SetAgentRequest{Agent: "a/b", Desired: "stopped",
				For: &durationpb.Duration{}})
			return err
		}, "1s to 365 days"},
		{"a resume", func() error {
			_, err := setPauseCmd(&vigilv1.SetPauseRequest{Pause: new(false), For: second})
			return err
		}, "a pause that ends is over at once"},
		{"a start", func() error {
			_, err := setAgentCmd(&vigilv1.SetAgentRequest{Agent: "a/b", Desired: "running", For: second})
			return err
		}, "a stop that ends is over at once"},
	} {
		if err := tc.err(); codeOf(err) != "invalid" || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}
