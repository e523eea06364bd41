package main

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
)

func TestExplainAnswersOnOneScreen(t *testing.T) {
	s := newCanned(t)
	s.agent = &vigilv1.GetAgentResponse{
		Agent: &vigilv1.Agent{Name: "web/builder.2", Desired: "running", IntentBy: "alice",
			IntentAt: before(2 * time.Hour), Incarnation: "7",
			Process: "none", Participant: "DISCONNECTED", Managed: true, Failures: 3,
			NotBefore: durationpb.New(42 * time.Second),
			Why:       "back-off after failure 3", WhyCode: "back_off", WhyLeft: durationpb.New(42 * time.Second),
			LastExit: &vigilv1.Exit{Incarnation: "7", At: before(12 * time.Second),
				Kind: "crash", Signal: "killed", Task: 12, Host: "w1",
				Reason: "out of memory", Tail: "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"}},
		Role:  &vigilv1.RoleSpec{Name: "builder", Desired: "running", Start: "always", Runner: "claude"},
		Hosts: []*vigilv1.HostFit{{Host: "w1", Fits: true}, {Host: "w2", Reason: "lacks label gpu=yes"}},
		Events: []*vigilv1.Event{{Kind: "agent.exited", Agent: "web/builder.2", Text: "killed"},
			{Kind: "task.recovered", Agent: "web/builder.2", Task: 12, Text: "its holder died"}},
	}
	code, out, errs := terminalRun{}.do(t, "agent", "explain", "web/builder.2", "--addr", s.addr)
	want := `web/builder.2: back-off after failure 3; in 42s

to do        wait, or ` + "`vigil agent unpark web/builder.2`" + `
wanted       running, by alice 2h ago
declared     running, start always
runner       claude
process      none, life 7
in the room  DISCONNECTED
order        none open
failures     3 in a row, no start before 42s from now

last death crash, signal killed, 12s ago, life 7 on w1, held task 12: out of memory
  | two
  | three
  | four
  | five
  | six
  | seven

HOST  NEXT START  BECAUSE
w1    possible    -
w2    no          lacks label gpu=yes

recent events
          agent.exited          web/builder.2       killed
          task.recovered        web/builder.2       task 12: its holder died
`
	if code != 0 || out != want {
		t.Errorf("exit code %d %s, printed\n%s\nwant\n%s", code, errs, out, want)
	}
}

func TestStatusOnOneScreen(t *testing.T) {
	s := newCanned(t)
	s.status = &vigilv1.StatusResponse{ClusterId: "c1", Leader: "s1", LeaderAddr: "a:7420", Term: 3, Index: 99,
		Clock: durationpb.New(90 * time.Second),
		Rooms: 2, Agents: 5, AgentsLive: 4, AgentsWanted: 6, AgentsRunning: 5, Hosts: 2, HostsReady: 1,
		Waiters: 3, Tasks: map[string]uint64{"PENDING": 2, "IN_PROGRESS": 1, "QUEUED": 0},
		Servers: []*vigilv1.Server{{Id: "s1", Leader: true, Voter: true, ApiAddr: "a:7420", RaftAddr: "a:7421",
			Version: "v1", Health: "alive"}, {Id: "s2", Diverged: true}},
		Warnings: []string{"host w2 is suspect"}}
	_, out, _ := terminalRun{}.do(t, "status", "--addr", s.addr)
	want := `cluster        c1
leader         s1 (a:7420), term 3
clock          1m 30s, log index 99, epoch 0
hosts          1 ready of 2
agents         6 should run, 5 run; 4 live of 5, in 2 rooms
tasks          2 pending, 1 in progress
waiting calls  3

SERVER  ROLE     API     RAFT    VERSION  HEALTH
s1      leader   a:7420  a:7421  v1       alive
s2      learner  -       -       -        diverged: its state differs from the majority's, rebuild it

warning: host w2 is suspect
`
	if out != want {
		t.Errorf("printed\n%s\nwant\n%s", out, want)
	}
}

func TestEventsEndWithTheNewest(t *testing.T) {
	s := newCanned(t)
	s.events = []*vigilv1.Event{{Seq: 1, Kind: "room.applied", Room: "web"},
		{Seq: 2, Kind: "task.created", Room: "web", Task: 1, Text: "builder"}}
	code, out, _ := terminalRun{}.do(t, "events", "--addr", s.addr)
	if want := "          room.applied          web\n" +
		"          task.created          web                 task 1: builder\n"; code != 0 || out != want {
		t.Errorf("exit code %d, printed\n%swant\n%s", code, out, want)
	}
}

func TestNamesAreOfferedToTheShell(t *testing.T) {
	s := newCanned(t)
	s.agent = &vigilv1.GetAgentResponse{Agent: &vigilv1.Agent{Name: "web/builder"}}
	_, out, _ := terminalRun{}.do(t, "__complete", "--addr", s.addr, "agent", "explain", "web/b")
	if !strings.HasPrefix(out, "web/builder\n:4") {
		t.Errorf("offered %q", out)
	}
}
