package cluster

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// N12: while servers are down, each change of state is one line of the log: that a server cannot
// be reached, that nobody leads, that the server is back.
func TestN12ADeadServerIsOneLine(t *testing.T) {
	var out bytes.Buffer
	l := newRaftLog(hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: &out}))
	b := raft.Server{Suffrage: raft.Voter, ID: "b", Address: "10.0.0.2:7421"}
	c := raft.Server{Suffrage: raft.Voter, ID: "c", Address: "10.0.0.3:7421"}
	refused := errors.New("connection refused")
	lines := func(of string, want ...string) {
		t.Helper()
		got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		out.Reset()
		if len(got) != len(want) {
			t.Fatalf("%s: %d lines, want %d:\n%s", of, len(got), len(want), strings.Join(got, "\n"))
		}
		for i, w := range want {
			if !strings.Contains(got[i], w) {
				t.Errorf("%s: line %q lacks %q", of, got[i], w)
			}
		}
	}
	l.Info("entering leader state", "leader", "a")
	l.Info("pipelining replication", "peer", b)
	l.Info("pipelining replication", "peer", c)
	lines("a leader", "entering leader state")
	for range 130 {
		l.Info("aborting pipeline replication", "peer", c)
		l.Error("failed to heartbeat to", "peer", c.Address, "backoff time", 10, "error", refused)
		l.Error("failed to appendEntries to", "peer", c, "error", refused)
		l.Warn("failed to contact", "server-id", c.ID, "time", 300)
	}
	lines("one is down", "server cannot be reached: peer=10.0.0.3:7421 error=\"connection refused\"")
	l.Info("pipelining replication", "peer", c)
	lines("it is back", "server is back: peer=10.0.0.3:7421 after=")
	l.Error("failed to heartbeat to", "peer", c.Address, "backoff time", 10, "error", refused)
	lines("down again", "server cannot be reached")
	l.Warn("failed to contact quorum of nodes, stepping down")
	l.Info("entering follower state", "follower", "a", "leader-address", raft.ServerAddress(""), "leader-id", "")
	for range 50 {
		l.Warn("heartbeat timeout reached, starting election", "last-leader-addr", "", "last-leader-id", "")
		l.Info("entering candidate state", "node", "a", "term", 3)
		l.Error("failed to make requestVote RPC", "target", b, "error", refused, "term", 3)
		l.Error("failed to make requestVote RPC", "target", c, "error", refused, "term", 3)
		l.Info("pre-vote campaign failed, waiting for election timeout", "term", 3)
		l.Warn("Election timeout reached, restarting election")
	}
	lines("no majority", "stepping down", "entering follower state", "stands for election",
		"server cannot be reached: peer=10.0.0.2:7421",
		`no majority answers, nobody leads: unreached=["10.0.0.2:7421", "10.0.0.3:7421"]`)
	if _, down := l.since("10.0.0.2:7421"); !down {
		t.Error("b is not known to be down")
	}
	l.Info("entering follower state", "follower", "a", "leader-address", b.Address, "leader-id", b.ID)
	lines("another leads", "entering follower state")
	l.Error("failed to get log", "index", 7, "error", refused)
	l.Error("failed to get log", "index", 7, "error", refused)
	lines("what is about no server stays", "failed to get log", "failed to get log")
}
