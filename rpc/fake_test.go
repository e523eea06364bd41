package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/door"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/link/linktest"
	"vigil/rpc/vouch"
)

// fakeCluster is a cluster without a log: the leader applies an entry to its own
// state, then to those of the others. It obeys the contracts of Writer and Reader.
type fakeCluster struct {
	mu     sync.Mutex // orders entries
	index  uint64
	term   uint64
	clock  noun.Time
	leader *fakeNode
	nodes  []*fakeNode
	claims int          // submitted so far
	old    bool         // a server cannot read what is written
	barred atomic.Int64 // barriers that a server asked for which does not lead
	lose   int          // so many of the next submits answer ErrUnknownOutcome after they were applied
}

// fakeNode is one server's replica.
type fakeNode struct {
	c    *fakeCluster
	id   string
	addr string

	mu     sync.RWMutex
	state  *fsm.State
	subs   []func(noun.Effects)
	match  fsm.Matcher
	held   bool // entries wait in backlog: a follower that is behind
	alone  bool // knows no leader
	behind []*fsm.Entry
}

func newFakeCluster(n int) *fakeCluster {
	c := &fakeCluster{}
	for i := range n {
		c.nodes = append(c.nodes, &fakeNode{c: c, id: fmt.Sprintf("s%d", i+1), state: fsm.New()})
	}
	return c
}

// elect makes a node the leader; nil leaves the cluster without one.
func (c *fakeCluster) elect(n *fakeNode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leader = n
	if n == nil {
		return
	}
	c.term++
	c.apply(&fsm.Entry{Requests: []fsm.Request{{Cmd: fsm.LeaderEstablished{Server: n.id, APIAddr: n.addr}}}})
}

// apply gives one entry to all nodes. The caller holds mu.
func (c *fakeCluster) apply(e *fsm.Entry) (outs []noun.Outcome, beats []noun.BeatAnswer) {
	c.index++
	e.Index, e.Term, e.Stint, e.Stamp, e.Wall = c.index, c.term, c.term, c.clock, noun.Wall(time.Now().UnixNano())
	for _, n := range c.nodes {
		if n == c.leader {
			outs, beats = n.take(e)
		}
	}
	for _, n := range c.nodes {
		if n == c.leader {
			continue
		}
		n.mu.Lock()
		if n.held {
			n.behind = append(n.behind, e)
			n.mu.Unlock()
			continue
		}
		n.mu.Unlock()
		n.take(e)
	}
	return outs, beats
}

func (n *fakeNode) take(e *fsm.Entry) ([]noun.Outcome, []noun.BeatAnswer) {
	n.mu.Lock()
	res := n.state.Apply(e)
	outs := append([]noun.Outcome(nil), res.Outcomes...)
	beats := append([]noun.BeatAnswer(nil), res.Beats...)
	eff := res.Effects
	eff.Claimable = append([]noun.RoleID(nil), eff.Claimable...)
	eff.Hosts = append([]noun.HostID(nil), eff.Hosts...)
	eff.Mail = append([]noun.AgentID(nil), eff.Mail...)
	n.mu.Unlock()
	for _, fn := range n.subs {
		fn(eff)
	}
	return outs, beats
}

// hold makes a follower fall behind; release lets it catch up.
func (n *fakeNode) hold() {
	n.mu.Lock()
	n.held = true
	n.mu.Unlock()
}

func (n *fakeNode) release() {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.mu.Lock()
	n.held = false
	late := n.behind
	n.behind = nil
	n.mu.Unlock()
	for _, e := range late {
		n.take(e)
	}
}

// cutOff makes a node know no leader, or know one again.
func (n *fakeNode) cutOff(alone bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.alone = alone
}

// advance moves cluster time.
func (c *fakeCluster) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock = c.clock.Add(d)
	c.apply(&fsm.Entry{})
}

func (n *fakeNode) Submit(ctx context.Context, req fsm.Request) (noun.Outcome, error) {
	out := make([]noun.Outcome, 1)
	err := n.SubmitAll(ctx, []fsm.Request{req}, out)
	return out[0], err
}

func (n *fakeNode) SubmitAll(ctx context.Context, reqs []fsm.Request, out []noun.Outcome) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	if n.c.leader != n {
		return noun.ErrNotLeader
	}
	for _, r := range reqs {
		if n.c.old {
			return noun.ErrOldServers
		}
		if _, ok := r.Cmd.(fsm.Claim); ok {
			n.c.claims++
		}
	}
	var words []fsm.Word
	for _, r := range reqs {
		if r.Word.Inc != 0 {
			words = append(words, r.Word)
		}
	}
	var extras []fsm.Extra
	for i := range reqs {
		n.match.See(reqs[i].Cmd)
	}
	for _, x := range n.match.Extras() {
		extras, reqs = append(extras, x), append(reqs[:len(reqs):len(reqs)], x.Request)
		n.c.claims++
	}
	outs, _ := n.c.apply(&fsm.Entry{Requests: reqs, Words: fsm.PackWords(nil, words)})
	for i, x := range extras {
		go x.Done(outs[len(reqs)-len(extras)+i], nil)
	}
	if n.c.lose > 0 {
		n.c.lose--
		return noun.ErrUnknownOutcome
	}
	copy(out, outs)
	return nil
}

func (n *fakeNode) Beat(_ context.Context, b fsm.HostBeats) (noun.BeatAnswer, error) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	if n.c.leader != n {
		return noun.BeatAnswer{}, noun.ErrNotLeader
	}
	_, beats := n.c.apply(&fsm.Entry{Beats: []fsm.HostBeats{b}})
	return beats[0], nil
}

func (n *fakeNode) Read(fn func(*fsm.View)) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	fn(&n.state.View)
}

func (n *fakeNode) Barrier(context.Context) error {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	if n.c.leader != n {
		n.c.barred.Add(1)
		return noun.ErrNotLeader
	}
	return nil
}

// Leader is what this node's own state says, as on a real follower.
func (n *fakeNode) Leader() door.Leader {
	n.mu.RLock()
	st, alone := n.state.Stint(), n.alone
	n.mu.RUnlock()
	if alone {
		return door.Leader{}
	}
	return door.Leader{ID: st.Server, APIAddr: st.APIAddr, Self: st.Server == n.id, Term: st.Term}
}

func (n *fakeNode) Match(m fsm.Matcher) { n.match = m }

func (n *fakeNode) Subscribe(fn func(noun.Effects)) { n.subs = append(n.subs, fn) }

func (n *fakeNode) Snapshot(w io.Writer) error {
	n.mu.RLock()
	img := n.state.Copy()
	n.mu.RUnlock()
	return img.Dump(w)
}

func (n *fakeNode) Restore(_ context.Context, r io.Reader, _ fsm.Others) error {
	if n.c.leader != n {
		return noun.ErrNotLeader
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	for _, node := range n.c.nodes {
		st, err := fsm.Load(bytes.NewReader(b))
		if err != nil {
			return err
		}
		node.mu.Lock()
		node.state = st
		node.mu.Unlock()
	}
	return nil
}

// world is a running cluster of API servers.
type world struct {
	*fakeCluster
	t       testing.TB
	servers []*Server
	conns   []*grpc.ClientConn
	regs    []*prometheus.Registry
	stop    func() // stops all servers
}

// start runs n servers on real sockets; the first one leads.
func start(t testing.TB, n int) *world {
	t.Helper()
	return startWith(t, n, nil, nil)
}

// startOn runs n servers. With a network they reach each other through it, and their callers reach
// them through one of their own.
func startOn(t testing.TB, n int, between *linktest.Network) *world {
	t.Helper()
	return startAs(t, n, between, func(*Config) {}, insecure.NewCredentials())
}

// startWith runs n servers that make certificates with the signer, if there is one.
func startWith(t testing.TB, n int, between *linktest.Network, signer vouch.Signer) *world {
	t.Helper()
	return startAs(t, n, between, func(cfg *Config) { cfg.Signer = signer }, insecure.NewCredentials())
}

// startAs is startOn with what changes the configuration of each server, and credentials of the callers.
func startAs(
	t testing.TB, n int, between *linktest.Network, change func(*Config), callers credentials.TransportCredentials,
) *world {
	t.Helper()
	w := &world{fakeCluster: newFakeCluster(n), t: t}
	var dial func(context.Context, string) (net.Conn, error)
	if between != nil {
		dial = between.Dial
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	w.stop = func() { cancel(); wg.Wait() }
	for _, node := range w.nodes {
		var l net.Listener
		var err error
		if between != nil {
			l = between.Listen(node.id + ":1")
		} else if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		node.addr = l.Addr().String()
		reg := prometheus.NewRegistry()
		cfg := Config{Listener: l, ServerID: node.id, ClusterID: func() string { return "test" },
			Version: "v0", Writer: node, Reader: node, Backups: node, Registerer: reg, Gatherer: reg,
			StopGrace: time.Second, Dial: dial, Hosts: []string{"vigil.example.org"}}
		change(&cfg)
		s, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		s.delegates.Most = 0 // waits stay where they come in; see delegating
		w.servers, w.regs = append(w.servers, s), append(w.regs, reg)
		options := []grpc.DialOption{grpc.WithTransportCredentials(callers)}
		if between != nil {
			options = append(options, grpc.WithContextDialer(between.Beside().Dial))
		}
		conn, err := grpc.NewClient("passthrough:///"+node.addr, options...)
		if err != nil {
			t.Fatal(err)
		}
		w.conns = append(w.conns, conn)
		wg.Go(func() {
			if err := s.Run(ctx); err != nil {
				t.Errorf("run %s: %v", node.id, err)
			}
		})
	}
	w.elect(w.nodes[0])
	for _, node := range w.nodes {
		if err := w.do(fsm.PutServer{ID: node.id, APIAddr: node.addr, RaftAddr: "r-" + node.id,
			Version: "v0"}); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, c := range w.conns {
			_ = c.Close()
		}
		w.stop()
	})
	return w
}

// do submits a command to the leader.
func (w *world) do(cmd fsm.Command) error {
	_, err := w.out(cmd)
	return err
}

func (w *world) out(cmd fsm.Command) (noun.Outcome, error) {
	w.mu.Lock()
	n := w.leader
	w.mu.Unlock()
	out, err := n.Submit(context.Background(), fsm.Request{Cmd: cmd})
	if err == nil && out.Code != noun.OK {
		err = errors.New(out.Detail)
	}
	return out, err
}

func (w *world) fleet(i int) vigilv1.FleetClient     { return vigilv1.NewFleetClient(w.conns[i]) }
func (w *world) work(i int) vigilv1.WorkClient       { return vigilv1.NewWorkClient(w.conns[i]) }
func (w *world) host(i int) vigilv1.HostAgentClient  { return vigilv1.NewHostAgentClient(w.conns[i]) }
func (w *world) cluster(i int) vigilv1.ClusterClient { return vigilv1.NewClusterClient(w.conns[i]) }

// within is a context with a generous deadline.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// room applies a room with one role of so many agents that are started by hand.
func (w *world) room(name, role string, replicas uint32) {
	w.t.Helper()
	_, err := w.fleet(0).ApplyRoom(within(w.t), &vigilv1.ApplyRoomRequest{Room: name, By: "test",
		Roles: []*vigilv1.RoleSpec{{Name: role, Replicas: replicas}}})
	if err != nil {
		w.t.Fatal(err)
	}
}

// join starts an agent by hand.
func (w *world) join(agent string) *vigilv1.Speaker {
	w.t.Helper()
	r, err := w.work(0).Join(within(w.t), &vigilv1.JoinRequest{Speaker: &vigilv1.Speaker{Agent: agent}})
	if err != nil {
		w.t.Fatal(err)
	}
	return &vigilv1.Speaker{Agent: r.GetAgent(), Incarnation: r.GetIncarnation()}
}

// task creates a task through server i.
func (w *world) task(i int, room, role, title string) *vigilv1.Task {
	w.t.Helper()
	task, err := w.fleet(i).CreateTask(within(w.t),
		&vigilv1.CreateTaskRequest{Room: room, Role: role, Title: title, Text: "secret work"})
	if err != nil {
		w.t.Fatal(err)
	}
	return task
}

// eventually polls a condition that another goroutine brings about.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	end := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s did not happen", what)
		}
	}
}

func codeOf(err error) string {
	if err == nil {
		return "ok"
	}
	return fault.Of(err).Code
}
