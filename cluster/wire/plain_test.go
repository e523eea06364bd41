package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

var errOther = errors.New("of another cluster")

// end is one end of the wire, with what the test wants to see of it.
type end struct {
	*Transport
	addr     string
	rejected chan string // what failed, who, why
}

func listen(t testing.TB, id string, change func(*Config)) *end {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &end{addr: l.Addr().String(), rejected: make(chan string, 64)}
	cfg := Config{ID: id, Advertise: e.addr, Listener: l, Logger: hclog.NewNullLogger(),
		Cluster: func() string { return "blue" },
		Learn: func(cluster string) error {
			if cluster != "blue" {
				return errOther
			}
			return nil
		},
		Answer: func(from, line string) string {
			if word, ok := strings.CutPrefix(line, "ask "); ok {
				return word + " " + from
			}
			return ""
		},
		Revoked: func(Peer) bool { return false },
		Reject: func(what, who string, err error) {
			select {
			case e.rejected <- fmt.Sprintf("%s|%s|%v", what, who, err):
			default:
			}
		},
	}
	if change != nil {
		change(&cfg)
	}
	e.Transport = Listen(cfg)
	t.Cleanup(func() { e.Close() })
	return e
}

// reject waits for the next one who was turned away.
func (e *end) reject(t *testing.T) string {
	t.Helper()
	select {
	case why := <-e.rejected:
		return why
	case <-time.After(time.Minute):
		t.Fatal("nobody was turned away")
		return ""
	}
}

// vote asks another end for a vote, as the server that the header names.
func (e *end) vote(from, id, addr string) (*raft.RequestVoteResponse, error) {
	resp := &raft.RequestVoteResponse{}
	err := e.RequestVote(raft.ServerID(id), raft.ServerAddress(addr), &raft.RequestVoteRequest{
		RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(from), Addr: []byte(e.addr)},
		Term:      7}, resp)
	return resp, err
}

// answerVotes grants each vote until the test ends.
func (e *end) answerVotes(t *testing.T) {
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	go func() {
		for {
			select {
			case <-done:
				return
			case rpc := <-e.Consumer():
				rpc.Respond(&raft.RequestVoteResponse{Term: 7, Granted: true}, nil)
			}
		}
	}()
}

// A connection counts only after its greeting.
func TestPeersOfOtherClustersAreTurnedAway(t *testing.T) {
	e := listen(t, "a", nil)
	for first, want := range map[string]string{
		Greeting + " green\n":     errOther.Error(),
		"vigil-raft/9 blue\n":     "does not speak " + Greeting,
		strings.Repeat("x", 9000): "no line within",
		"cut off":                 "no greeting",
	} {
		c, err := net.Dial("tcp", e.addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte(first)); err != nil {
			t.Fatal(err)
		}
		if first == "cut off" {
			c.Close()
		}
		if got := e.reject(t); !strings.Contains(got, want) || !strings.HasPrefix(got, atGreeting+"|127.0.0.1|") {
			t.Errorf("%.20q: %s", first, got)
		}
		c.Close()
	}
}

func TestRequestsAndQuestionsArrive(t *testing.T) {
	a, b := listen(t, "a", nil), listen(t, "b", nil)
	b.answerVotes(t)
	if got, err := a.Ask("b", b.addr, "ask how"); err != nil || got != "how" {
		t.Errorf("question: %q, %v", got, err)
	}
	if got, err := a.Ask("b", b.addr, "a word"); err == nil {
		t.Errorf("no question: %q", got)
	}
	for range 3 { // the second and third over the connection of the first
		if resp, err := a.vote("a", "b", b.addr); err != nil || !resp.Granted {
			t.Errorf("vote: %+v, %v", resp, err)
		}
	}
	beats := make(chan uint64, 1)
	b.SetHeartbeatHandler(func(rpc raft.RPC) {
		beats <- rpc.Command.(*raft.AppendEntriesRequest).Term
		rpc.Respond(&raft.AppendEntriesResponse{Success: true}, nil)
	})
	var resp raft.AppendEntriesResponse
	beat := &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ID: []byte("a"), Addr: []byte(a.addr)}, Term: 9}
	if err := a.AppendEntries("b", raft.ServerAddress(b.addr), beat, &resp); err != nil || !resp.Success {
		t.Errorf("heartbeat: %+v, %v", resp, err)
	}
	if term := <-beats; term != 9 {
		t.Errorf("heartbeat of term %d", term)
	}
}

// A snapshot follows its request on the same connection.
func TestSnapshotArrivesWhole(t *testing.T) {
	a, b := listen(t, "a", nil), listen(t, "b", nil)
	want := bytes.Repeat([]byte("snapshot"), 100_000)
	got := make(chan []byte, 1)
	go func() {
		rpc := <-b.Consumer()
		data, _ := io.ReadAll(rpc.Reader)
		got <- data
		rpc.Respond(&raft.InstallSnapshotResponse{Success: true}, nil)
	}()
	var resp raft.InstallSnapshotResponse
	err := a.InstallSnapshot("b", raft.ServerAddress(b.addr),
		&raft.InstallSnapshotRequest{Size: int64(len(want))}, &resp, bytes.NewReader(want))
	if err != nil || !resp.Success || !bytes.Equal(<-got, want) {
		t.Errorf("snapshot: %+v, %v", resp, err)
	}
}

// The end of the transport ends what is being sent: raft waits for it.
func TestClosedTransportEndsWhatIsSent(t *testing.T) {
	a, b := listen(t, "a", nil), listen(t, "b", nil)
	ended := make(chan error, 1)
	go func() {
		_, err := a.vote("a", "b", b.addr) // for an answer that does not come
		ended <- err
	}()
	<-b.Consumer()
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("the request was answered")
	}
	if _, err := a.vote("a", "b", b.addr); err == nil {
		t.Error("a closed transport dials")
	}
}

// Whoever opens connections and says nothing takes no more than its share of those being opened.
func TestSilentConnectionsAreBounded(t *testing.T) {
	e := listen(t, "a", nil)
	var conns []net.Conn
	for range mostFrom + 1 {
		c, err := net.Dial("tcp", e.addr)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	if got := e.reject(t); !strings.HasPrefix(got, atCrowd+"|127.0.0.1|") {
		t.Error(got)
	}
	for _, c := range conns {
		c.Close()
	}
	b := listen(t, "b", nil)
	for { // until the place of those who are gone is free
		got, err := b.Ask("a", e.addr, "ask again")
		if err == nil && got == "again" {
			return
		}
	}
}
