package main

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/gen/vigilv1"
)

// The answer was some moments on the way: the end that was asked for is the one that is shown.
func TestN34TheEndThatWasAskedForIsShown(t *testing.T) {
	s := newCanned(t)
	s.room = &vigilv1.Room{Name: "web", Paused: true, PauseBy: "alice",
		PauseEndsIn: durationpb.New(2*time.Hour - 30*time.Millisecond)}
	want := "is paused until " + testNow.Add(2*time.Hour).Format("15:04") + " (for another 2h)"
	env := map[string]string{"VIGIL_ADDR": s.addr}
	if code, out, errs := (terminalRun{env: env}).do(t, "room", "pause", "web", "--for", "2h"); code != 0 ||
		!strings.Contains(out, want) {
		t.Errorf("exit code %d, %q, %q, want %q", code, out, errs, want)
	}
}

// L9: --for and --until reach the cluster as a duration, and the answer says when it ends.
func TestN34ForAndUntilReachTheCluster(t *testing.T) {
	s := newCanned(t)
	in := durationpb.New(2 * time.Hour)
	until := " until " + testNow.Add(2*time.Hour).Format("15:04") + " (for another 2h)"
	s.agent = &vigilv1.GetAgentResponse{Agent: &vigilv1.Agent{Name: "web/b", Room: "web", Desired: "stopped",
		Why: "stopped for another 2h0m0s by alice", StopEndsIn: in, PauseEndsIn: in}}
	s.room = &vigilv1.Room{Name: "web", Paused: true, PauseBy: "alice", PauseEndsIn: in}
	s.host = &vigilv1.Host{Id: 7, Name: "w1", State: "draining", Drain: true, DrainBy: "alice", DrainEndsIn: in}
	at := testNow.Add(2 * time.Hour).Format(time.RFC3339)
	for _, tc := range []struct {
		args string
		want proto.Message
		says string
	}{
		{"agent stop web/b --for 2h",
			&vigilv1.SetAgentRequest{Agent: "web/b", Desired: "stopped", By: "alice", For: in},
			"web/b: desired stopped until 14:00, stopped for another 2h by alice"},
		{"agent stop web/b --until " + at, &vigilv1.SetAgentRequest{Agent: "web/b", Desired: "stopped", By: "alice",
			For: in}, "for another 2h"},
		{"agent stop web/b --until " + testNow.Add(2*time.Hour).Format("15:04:05"),
			&vigilv1.SetAgentRequest{Agent: "web/b", Desired: "stopped", By: "alice", For: in}, "for another 2h"},
		{"agent pause web/b --for 2h",
			&vigilv1.SetPauseRequest{Scope: "web/b", Pause: new(true), By: "alice", For: in},
			"web/b: desired"},
		{"room pause web --for 1h60m", &vigilv1.SetPauseRequest{Scope: "web", Pause: new(true), By: "alice", For: in},
			"room web is paused" + until + ": no starts"},
		{"pause --until " + at, &vigilv1.SetPauseRequest{Pause: new(true), By: "alice", For: in},
			"everything is paused" + until + ": no starts"},
		{"host drain w1 --for 2h --deadline 1h59m", &vigilv1.DrainHostRequest{Host: "w1", By: "alice", For: in,
			Deadline: durationpb.New(time.Hour + 59*time.Minute)}, "nothing runs there; it is drained" + until},
		{"host drain w1 --for 0", &vigilv1.DrainHostRequest{Host: "w1", By: "alice"}, "host w1 is drained"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			s.mu.Lock()
			s.asked = nil
			s.mu.Unlock()
			r := terminalRun{env: map[string]string{"VIGIL_ADDR": s.addr, "VIGIL_USER": "alice"}}
			code, out, errs := r.do(t, strings.Fields(tc.args)...)
			if code != 0 || errs != "" || !strings.Contains(out, tc.says) {
				t.Errorf("exit code %d, printed %q and %q, want %q", code, out, errs, tc.says)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, m := range s.asked {
				clean := proto.Clone(m)
				if f := clean.ProtoReflect().Descriptor().Fields().ByName("id"); f != nil {
					clean.ProtoReflect().Clear(f)
				}
				if proto.Equal(clean, tc.want) {
					return
				}
			}
			t.Errorf("asked %v, want %v", s.asked, tc.want)
		})
	}
}

// Mistakes are found before the cluster is asked; what ends a human's word takes no end.
func TestN34MistakesAboutEnds(t *testing.T) {
	s := newCanned(t)
	past := testNow.Add(-time.Minute)
	for _, tc := range []struct{ args, says string }{
		{"agent stop web/b --for 2h --until 15:00", "not both"},
		{"agent stop web/b --for 10ms", "1s to 365d"},
		{"room pause web --for 366d", "1s to 365d"},
		{"pause --until " + past.Format(time.RFC3339), past.Format("2006-01-02 15:04:05") + " +00:00 is past"},
		{"host drain w1 --until noon", `"noon" is not a time`},
		{"host drain w1 --for 1h --deadline 1h", "before its --deadline"},
		{"agent start web/b --for 1h", "--for"},
		{"agent resume web/b --until 15:00", "--until"},
		{"room resume web --for 1h", "--for"},
		{"host undrain w1 --for 1h", "--for"},
	} {
		code, out, errs := terminalRun{env: map[string]string{"VIGIL_ADDR": s.addr}}.do(t, strings.Fields(tc.args)...)
		if code != cli.ExitUsage || out != "" || !strings.Contains(errs, tc.says) {
			t.Errorf("%s: exit code %d, %q and %q; want %d and %q", tc.args, code, out, errs, cli.ExitUsage, tc.says)
		}
	}
	if len(s.asked) != 0 {
		t.Errorf("asked %v after a mistake", s.asked)
	}
}

// The end is shown wherever what has it is shown.
func TestN34EndsAreShown(t *testing.T) {
	s := newCanned(t)
	in := durationpb.New(26 * time.Hour)
	until := "until " + testNow.Add(26*time.Hour).Format("2006-01-02 15:04") + " (for another 26h)"
	s.agent = &vigilv1.GetAgentResponse{Role: &vigilv1.RoleSpec{Name: "b"}, Agent: &vigilv1.Agent{Name: "web/b",
		Room: "web", Role: "b", Desired: "stopped", IntentBy: "bob", IntentAt: before(time.Hour), IntentWhy: "disk",
		Why: "stopped for another 26h0m0s by bob", WhyCode: "stopped", StopEndsIn: in}}
	s.room = &vigilv1.Room{Name: "web", Paused: true, PauseBy: "bob", PauseAt: before(time.Hour), PauseEndsIn: in}
	s.host = &vigilv1.Host{Name: "w1", State: "draining", Drain: true, DrainBy: "bob", DrainAt: before(time.Hour),
		DrainEndsIn: in}
	s.status = &vigilv1.StatusResponse{ClusterId: "c1", Paused: true, PauseBy: "bob", PauseAt: before(time.Hour),
		PauseEndsIn: in}
	for args, want := range map[string]string{
		"agent list":          "stopped for another 26h by bob",
		"agent show web/b":    "stopped " + until + ", by bob 1h ago: disk",
		"agent explain web/b": "stopped " + until + ", by bob 1h ago: disk",
		"room list":           "web (paused, 26h left)",
		"room show web":       "paused " + until + " by bob 1h ago; `vigil room resume web` ends it",
		"host list":           "drained by bob for another 26h",
		"host show w1":        "by bob 1h ago, without a deadline; " + until,
		"host explain w1":     "by bob 1h ago, without a deadline; " + until,
		"status":              "everything " + until + ", by bob 1h ago; no starts",
	} {
		_, out, errs := terminalRun{}.do(t, append(strings.Fields(args), "--addr", s.addr)...)
		if !strings.Contains(out, want) {
			t.Errorf("%s printed\n%s%s\nwithout %q", args, out, errs, want)
		}
	}
	s.agent.Agent.Paused, s.agent.Agent.Desired, s.agent.Agent.PauseEndsIn = true, "paused", in
	if _, out, _ := (terminalRun{}).do(t, "agent", "show", "web/b", "--addr", s.addr); !strings.Contains(out,
		"paused "+until) {
		t.Errorf("a paused agent is shown as\n%s", out)
	}
}
