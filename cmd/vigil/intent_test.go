package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func (s *cannedServer) SetAgent(context.Context, *vigilv1.SetAgentRequest) (*vigilv1.Agent, error) {
	return s.agent.GetAgent(), nil
}

func (s *cannedServer) RestartAgent(context.Context, *vigilv1.RestartAgentRequest) (*vigilv1.Agent, error) {
	return s.agent.GetAgent(), nil
}

func (s *cannedServer) UnparkAgent(context.Context, *vigilv1.UnparkAgentRequest) (*vigilv1.Agent, error) {
	return s.agent.GetAgent(), nil
}

func (s *cannedServer) SetPause(context.Context, *vigilv1.SetPauseRequest) (*vigilv1.SetPauseResponse, error) {
	return &vigilv1.SetPauseResponse{Rev: 17}, nil
}

func (s *cannedServer) UnquarantineTask(context.Context, *vigilv1.UnquarantineTaskRequest) (*vigilv1.Task, error) {
	return s.task, nil
}

func (s *cannedServer) ReleaseBrake(context.Context,
	*vigilv1.ReleaseBrakeRequest) (*vigilv1.ReleaseBrakeResponse, error) {
	return &vigilv1.ReleaseBrakeResponse{}, nil
}

func (s *cannedServer) GetHost(context.Context, *vigilv1.GetHostRequest) (*vigilv1.Host, error) {
	return s.host, nil
}

func (s *cannedServer) DrainHost(context.Context, *vigilv1.DrainHostRequest) (*vigilv1.Host, error) {
	return s.host, nil
}

func (s *cannedServer) ConfirmDead(context.Context, *vigilv1.ConfirmDeadRequest) (*vigilv1.Host, error) {
	return s.host, nil
}

func (s *cannedServer) ForgetHost(context.Context, *vigilv1.ForgetHostRequest) (*vigilv1.ForgetHostResponse, error) {
	return &vigilv1.ForgetHostResponse{}, nil
}

func (s *cannedServer) GetRoom(context.Context, *vigilv1.GetRoomRequest) (*vigilv1.Room, error) {
	return s.room, nil
}

// L9: what a human says reaches the cluster with who said it and why.
func TestIntentsCarryWhoAndWhy(t *testing.T) {
	s := newCanned(t)
	s.agent = &vigilv1.GetAgentResponse{Agent: &vigilv1.Agent{Name: "web/b", Room: "web", Desired: "paused",
		Paused: true, PauseBy: "alice", Why: "paused by alice"}}
	s.task = &vigilv1.Task{Id: 7, State: vigilv1.TaskState_PENDING}
	s.room = &vigilv1.Room{Name: "web", Paused: true}
	s.status = &vigilv1.StatusResponse{ClusterId: "c1", Brake: "12 of 20 agents were lost"}
	s.host = &vigilv1.Host{Id: 7, Name: "w1", State: "draining", Drain: true, Running: 3,
		DrainLeft: durationpb.New(90 * time.Second)}
	for _, tc := range []struct {
		args string
		want proto.Message
		says string
	}{
		{"pause --why upgrade", &vigilv1.SetPauseRequest{Pause: new(true), By: "alice", Reason: "upgrade"},
			"everything is paused"},
		{"resume", &vigilv1.SetPauseRequest{Pause: new(false), By: "alice"}, "the fleet is resumed"},
		{"room pause web --why quota", &vigilv1.SetPauseRequest{Scope: "web", Pause: new(true),
			By: "alice", Reason: "quota"}, "room web is paused"},
		{"room resume web", &vigilv1.SetPauseRequest{Scope: "web", Pause: new(false), By: "alice"}, "room web"},
		{"agent pause web/b", &vigilv1.SetPauseRequest{Scope: "web/b", Pause: new(true), By: "alice"},
			"web/b: desired paused, paused by alice"},
		{"agent resume web/b", &vigilv1.SetPauseRequest{Scope: "web/b", Pause: new(false), By: "alice"},
			"web/b: desired"},
		{"agent stop web/b --why noisy",
			&vigilv1.SetAgentRequest{Agent: "web/b", Desired: "stopped", By: "alice", Reason: "noisy"},
			"web/b: desired"},
		{"agent start web/b --fresh", &vigilv1.SetAgentRequest{Agent: "web/b", Desired: "running", By: "alice",
			Fresh: true}, "its pause stays: `vigil agent resume web/b` ends it"},
		{"agent restart web/b --fresh --why lost",
			&vigilv1.RestartAgentRequest{Agent: "web/b", By: "alice", Fresh: true, Reason: "lost"}, "its pause stays"},
		{"agent unpark web/b", &vigilv1.UnparkAgentRequest{Agent: "web/b", By: "alice"}, "its pause stays"},
		{"task unquarantine 7", &vigilv1.UnquarantineTaskRequest{Task: 7, By: "alice"}, "task 7 is pending"},
		{"brake release", &vigilv1.ReleaseBrakeRequest{By: "alice"}, "the brake is released"},
		{"host drain w1 --deadline 30m", &vigilv1.DrainHostRequest{Host: "w1", By: "alice",
			Deadline: durationpb.New(30 * time.Minute)},
			"host w1 is draining: 3 agents still run there; all are stopped in 1m 30s"},
		{"host undrain w1", &vigilv1.DrainHostRequest{Host: "w1", By: "alice", Off: true},
			"host w1 is no longer drained"},
		{"host confirm-dead w1 --yes --force", &vigilv1.ConfirmDeadRequest{Host: "7", Force: true, By: "alice"},
			"host w1 is taken for dead"},
		{"host forget w1", &vigilv1.ForgetHostRequest{Host: "w1", By: "alice"}, "host w1 is forgotten"},
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
				if w, ok := m.(interface{ GetId() *vigilv1.WriteId }); ok {
					if w.GetId().GetSession() == 0 || w.GetId().GetSeq() == 0 {
						t.Errorf("%T carries no write id", m)
					}
					clean := proto.Clone(m)
					f := clean.ProtoReflect().Descriptor().Fields().ByName("id")
					clean.ProtoReflect().Clear(f)
					if proto.Equal(clean, tc.want) {
						return
					}
				}
			}
			t.Errorf("asked %v, want %v", s.asked, tc.want)
		})
	}
}

func TestMistakesAboutPausesAndHosts(t *testing.T) {
	s := newCanned(t)
	s.host = &vigilv1.Host{Name: "w1", Running: 2, State: "lost"}
	for _, tc := range []struct{ args, says string }{
		{"room pause web/b", "vigil agent pause web/b"},
		{"agent pause web", "vigil room pause web"},
		{"host drain w1 --deadline -5m", "negative"},
		{"host confirm-dead w1", "--yes"},
		{"agent stop web/b --fresh", "--fresh"},
		{"pause web", "web"},
	} {
		code, out, errs := terminalRun{env: map[string]string{"VIGIL_ADDR": s.addr}}.do(t, strings.Fields(tc.args)...)
		if code != cli.ExitUsage || out != "" || !strings.Contains(errs, tc.says) {
			t.Errorf("%s: exit code %d, %q and %q; want %d and %q", tc.args, code, out, errs, cli.ExitUsage, tc.says)
		}
	}
	for _, m := range s.asked {
		if _, ok := m.(*vigilv1.GetHostRequest); !ok {
			t.Errorf("asked %T after a mistake", m)
		}
	}
}

func TestDrainThatIsWaitedFor(t *testing.T) {
	s := newCanned(t)
	s.host = &vigilv1.Host{Name: "w1", Drain: true}
	code, out, errs := terminalRun{}.do(t, "host", "drain", "w1", "--wait", "--addr", s.addr)
	if code != 0 || out != "host w1 is drained: nothing runs there\n" {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
	s.host = &vigilv1.Host{Name: "w1"} // somebody has ended the drain meanwhile
	if code, _, errs = (terminalRun{}).do(t, "host", "drain", "w1", "--wait", "--addr",
		s.addr); code != cli.ExitFailed || !strings.Contains(errs, "ended by somebody else") {
		t.Errorf("exit code %d, %q", code, errs)
	}
	s.host = &vigilv1.Host{Name: "w1", Drain: true, Running: 4}
	code, _, errs = terminalRun{}.do(t, "host", "drain", "w1", "--wait", "--timeout", "200ms", "--addr", s.addr)
	if code != cli.ExitTimeout || !strings.Contains(errs, "4 agents still run there") {
		t.Errorf("exit code %d, %q", code, errs)
	}
}

func TestHostExplainAnswersOnOneScreen(t *testing.T) {
	s := newCanned(t)
	s.agent = &vigilv1.GetAgentResponse{Agent: &vigilv1.Agent{Name: "web/builder", Participant: "ACTIVE",
		Process: "running", Managed: true, Incarnation: "3", Host: "w2", Why: "working on task 4", Task: 4}}
	s.host = &vigilv1.Host{Name: "w2", State: "suspect",
		SuspectWhy: "gossip is blocked (UDP port?) while its beats arrive",
		Running:    1, Capacity: 8, LeaseLeft: durationpb.New(50 * time.Second), SeenAt: before(time.Hour),
		Heard: durationpb.New(3 * time.Second), Runners: []string{"claude"},
		Version: "v1", Containment: "group", GossipAddr: "10.0.0.2:7422",
		Warnings: []string{"tmux is missing: runner chat is started directly"},
		Drain:    true, DrainBy: "alice", DrainAt: before(time.Minute), DrainLeft: durationpb.New(20 * time.Minute),
		Views: []*vigilv1.HostView{{Server: "s1", Gossip: "silent", Stream: "alive"},
			{Server: "s2", Gossip: "silent", Stream: "none"}}}
	code, out, errs := terminalRun{}.do(t, "host", "explain", "w2", "--addr", s.addr)
	want := `w2: suspect: drained by alice; gossip is blocked (UDP port?) while its beats arrive

to do        let UDP and TCP through to the gossip port between it and the servers; its agents go on meanwhile
drain        by alice 1m ago, 1 agent left, all are stopped in 20m
agents       1 running, 0 starting, capacity 8
lease        ends in 50s
seen         3s ago
runners      claude
version      v1
gossip       10.0.0.2:7422
containment  group: agents share an account, or what leaves the group of its agent is found by its mark only
warning: tmux is missing: runner chat is started directly

SERVER  GOSSIP  STREAM
s1      silent  alive
s2      silent  none

AGENT        STATE   PROCESS  LIFE  HOST  TASK  UP  WHY
web/builder  ACTIVE  running     3  w2       4  -   working on task 4
`
	if code != 0 || out != want {
		t.Errorf("exit code %d %s, printed\n%s\nwant\n%s", code, errs, out, want)
	}
}

func TestExplainShowsPauseParkingAndWhatCannotBeKilled(t *testing.T) {
	s := newCanned(t)
	s.agent = &vigilv1.GetAgentResponse{Role: &vigilv1.RoleSpec{Name: "b", Desired: "running", Start: "always",
		Runner: "claude"},
		Agent: &vigilv1.Agent{Name: "web/b", Room: "web", Role: "b", Desired: "paused", Paused: true,
			PauseBy: "bob", PauseAt: before(time.Hour), PauseWhy: "quota is short",
			Process: "running", Participant: "WAITING", WhyCode: "paused", Why: "paused by bob", Parked: true,
			ParkedWhy: "usage limit for 24h0m0s",
			Stuck:     "pid 12 outlives KILL", StartFault: "program /opt/x is missing", ResumeBytes: 36}}
	_, out, _ := terminalRun{}.do(t, "agent", "explain", "web/b", "--addr", s.addr)
	for _, want := range []string{"to do         `vigil agent resume web/b`",
		"wanted        paused, by bob 1h ago: quota is short\n",
		"process       unkillable", "parked        usage limit for 24h\n", "unkillable    pid 12 outlives KILL\n",
		"start fails   program /opt/x is missing\n", "resume value  36 B for the next life"} {
		if !strings.Contains(out, want) {
			t.Errorf("printed\n%s\nwithout %q", out, want)
		}
	}
	_, out, _ = terminalRun{}.do(t, "agent", "show", "web/b", "--addr", s.addr)
	for _, want := range []string{"paused, by bob 1h ago: quota is short", "pid 12 outlives KILL",
		"36 B for the next life", "program /opt/x is missing"} {
		if !strings.Contains(out, want) {
			t.Errorf("show printed\n%s\nwithout %q", out, want)
		}
	}
}

func TestStatusShowsPauseBrakeAndHosts(t *testing.T) {
	s := newCanned(t)
	s.status = &vigilv1.StatusResponse{ClusterId: "c1", Hosts: 5, HostsReady: 2,
		HostStates: map[string]uint32{"ready": 2, "suspect": 1, "lost": 1, "draining": 1},
		Paused:     true, PauseBy: "alice", PauseAt: before(2 * time.Hour),
		PauseWhy: "quota", Brake: "12 of 20 agents were lost in 30s; no starts elsewhere for 1m0s"}
	_, out, _ := terminalRun{}.do(t, "status", "--addr", s.addr)
	for _, want := range []string{
		"paused         everything, by alice 2h ago (quota); " +
			"no starts, no task is claimed; `vigil resume` ends it\n",
		"brake          12 of 20 agents were lost in 30s; no starts elsewhere for 1m\n",
		"hosts          2 ready of 5 (1 suspect, 1 lost, 1 draining)\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("printed\n%s\nwithout %q", out, want)
		}
	}
	_, out, _ = terminalRun{}.do(t, "brake", "show", "--addr", s.addr)
	if !strings.HasPrefix(out, "the brake is set: 12 of 20") || !strings.Contains(out, "vigil brake release") {
		t.Errorf("brake show: %q", out)
	}
	s.status = &vigilv1.StatusResponse{}
	if _, out, _ = (terminalRun{}).do(t, "brake", "show", "--json", "--addr",
		s.addr); out != `{"set":false}`+"\n" {
		t.Errorf("brake show: %q", out)
	}
}

func TestDurationsOfTheClusterAreTidied(t *testing.T) {
	for text, want := range map[string]string{
		"24h0m0s": "24h", "1m0s": "1m", "1h30m0s": "1h 30m", "1h0m5s": "1h 5s", "10s": "10s",
		"from 100ms to 168h0m0s, or 0s": "from 100ms to 7d, or 0s", "for 120h0m0s by ann": "for 5d by ann",
		"v10m0ss": "v10m0ss", "90s (1m30s)": "90s (1m 30s)", "ended 2m15s ago": "ended 2m 15s ago",
		`write "10800s"`: `write "10800s"`, "5m, 1h30m or 2d": "5m, 1h30m or 2d", "50h0m0s": "50h",
	} {
		if got := term.Tidy(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// Tables of long names fit a screen of 100 columns.
func TestListsFitAHundredColumns(t *testing.T) {
	s := newCanned(t)
	long := strings.Repeat("very-long-", 6) + "name"
	s.host = &vigilv1.Host{Name: "ip-10-0-0-1.eu-central-1.compute.internal", State: "returning", Running: 250,
		Starting: 4, Capacity: 1000,
		LeaseLeft: durationpb.New(59 * time.Second), SeenAt: before(59 * time.Minute),
		Runners: []string{long, long}, Labels: map[string]string{"zone": long},
		SteadyIn: durationpb.New(9*time.Minute + 59*time.Second), Pressure: long}
	s.agent = &vigilv1.GetAgentResponse{Agent: &vigilv1.Agent{Name: long + "/" + long + ".12",
		Participant: "DISCONNECTED", Process: "running", Stuck: "x",
		Incarnation: "12.345", Host: s.host.GetName(), Task: 123456,
		Up: durationpb.New(9*time.Hour + 59*time.Minute), Why: long + long}}
	s.room = &vigilv1.Room{Name: long, Paused: true, ChangedBy: long, CreatedAt: before(59 * time.Minute),
		Roles: []*vigilv1.Role{{Spec: &vigilv1.RoleSpec{Name: long},
			Tasks: map[string]uint32{"PENDING": 1, "IN_PROGRESS": 1, "QUARANTINED": 1}}}}
	s.task = &vigilv1.Task{Id: 123456, Room: long, Role: long, Holder: long, Title: long,
		State: vigilv1.TaskState_QUARANTINED}
	for _, noun := range []string{"host", "agent", "room", "task"} {
		_, out, errs := terminalRun{width: 100}.do(t, noun, "list", "--addr", s.addr)
		if out == "" {
			t.Fatalf("%s list failed: %s", noun, errs)
		}
		for _, line := range strings.Split(out, "\n") {
			if n := utf8.RuneCountInString(line); n > 100 {
				t.Errorf("%s list: a line of %d columns: %s", noun, n, line)
			}
		}
	}
}

func TestHelpNamesTheNewVerbs(t *testing.T) {
	for args, verbs := range map[string]string{
		"--help":       "pause resume brake",
		"agent --help": "pause resume unpark restart start stop", "room --help": "pause resume",
		"task --help": "unquarantine",
		"host --help": "explain drain undrain confirm-dead forget", "brake --help": "show release",
	} {
		_, out, _ := terminalRun{}.do(t, strings.Fields(args)...)
		for _, verb := range strings.Fields(verbs) {
			if !strings.Contains(out, fmt.Sprintf("\n  %s ", verb)) {
				t.Errorf("%s does not name %s:\n%s", args, verb, out)
			}
		}
	}
}
