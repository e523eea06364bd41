package hostile

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"time"

	"github.com/hashicorp/raft"
)

// greeting opens every connection for the log, and is the protocol in the handshake.
const greeting = "vigil-raft/1"

// RaftPort is what somebody has who is at the port of the log of a server without being one.
type RaftPort struct {
	Who     string      // for the tally: a stranger, a host
	TLS     *tls.Config // what it shows; nil: it speaks in clear
	Addr    string      // of the port
	Cluster string      // its id, which is no secret
	As      string      // the server that it says to be
	Of      string      // the server that is there
}

// layer makes it a raft.StreamLayer to which nobody connects.
type layer struct {
	*RaftPort
	over chan struct{}
}

func (l layer) Accept() (net.Conn, error) { <-l.over; return nil, net.ErrClosed }
func (l layer) Close() error              { close(l.over); return nil }
func (l layer) Addr() net.Addr            { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// Dial opens a connection and greets as a server would.
func (l layer) Dial(_ raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return l.dial(timeout)
}

func (p *RaftPort) dial(timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", p.Addr, timeout)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(timeout)) // a connection of this system has deadlines
	if p.TLS != nil {
		conf := p.TLS.Clone()
		conf.NextProtos = []string{greeting}
		tc := tls.Client(conn, conf)
		if err := tc.Handshake(); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		conn = tc
	}
	if _, err := fmt.Fprintf(conn, "%s %s\n", greeting, p.Cluster); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Attack sends each request that servers send each other, with terms near 2^64. No answer may come.
func (p *RaftPort) Attack(ctx context.Context, t *Tally) {
	trans := raft.NewNetworkTransport(layer{p, make(chan struct{})}, 1, time.Second, io.Discard)
	defer trans.Close()
	from := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(p.As), Addr: []byte("10.77.0.250:7421")}
	id, addr := raft.ServerID(p.Of), raft.ServerAddress(p.Addr)
	for _, term := range []uint64{math.MaxUint64, math.MaxUint64 - 1, 1 << 63} {
		for name, send := range map[string]func() error{
			"vote": func() error {
				return trans.RequestVote(id, addr, &raft.RequestVoteRequest{RPCHeader: from, Term: term,
					LastLogIndex: math.MaxUint64, LastLogTerm: term,
					LeadershipTransfer: true}, &raft.RequestVoteResponse{})
			},
			"pre-vote": func() error {
				return trans.RequestPreVote(id, addr, &raft.RequestPreVoteRequest{RPCHeader: from, Term: term,
					LastLogIndex: math.MaxUint64, LastLogTerm: term}, &raft.RequestPreVoteResponse{})
			},
			"entries": func() error {
				return trans.AppendEntries(id, addr, &raft.AppendEntriesRequest{RPCHeader: from, Term: term,
					LeaderCommitIndex: math.MaxUint64}, &raft.AppendEntriesResponse{})
			},
			"hand-over": func() error {
				return trans.TimeoutNow(id, addr, &raft.TimeoutNowRequest{RPCHeader: from}, &raft.TimeoutNowResponse{})
			},
			"snapshot": func() error {
				return trans.InstallSnapshot(id, addr, &raft.InstallSnapshotRequest{RPCHeader: from, Term: term,
					Leader: []byte(p.As), LastLogIndex: math.MaxUint64, LastLogTerm: term, Size: 4},
					&raft.InstallSnapshotResponse{}, bytes.NewReader([]byte("evil")))
			},
		} {
			if ctx.Err() != nil {
				return
			}
			code, text := done, ""
			if err := send(); err != nil { // also one that says why: raft has not seen it
				code, text = closed, err.Error()
			}
			t.note(p.Who+" at the port of the log: "+name, code, text, []string{closed})
		}
	}
	t.raw(ctx, p.Who+" at the port of the log: bytes", bytes.Repeat([]byte{0xff}, 64<<10),
		func(context.Context) (net.Conn, error) { return p.dial(callLimit) })
}

// Term judges the term of a server after an attack.
func (t *Tally) Term(term uint64) {
	code := "small"
	if term > 1<<32 {
		code = "taken over"
	}
	t.note("the term of the server afterwards", code, fmt.Sprint(term), []string{"small"})
}
