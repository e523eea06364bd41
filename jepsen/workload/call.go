package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"vigil/jepsen/history"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// asker is a client, of the whole cluster or bound to one server.
type asker struct {
	name    string // of the server; empty: of the whole cluster
	client  *client.Client
	fleet   vigilv1.FleetClient
	work    vigilv1.WorkClient
	cluster vigilv1.ClusterClient
	mail    vigilv1.MailboxClient
	rests   atomic.Int64 // until then it is not chosen: it did not answer
}

// rest is how long a server that did not answer is left alone. Every call of unknown
// outcome makes it harder to judge the others.
const rest = time.Second

// boundRetry is how long a client that is bound to one server tries: what is known
// sooner to have no answer keeps its process for a shorter time.
const boundRetry = time.Second

// openAsker makes a client that reaches all servers at only, unless that is empty.
func openAsker(name, only string, c *Config) (*asker, error) {
	cfg := client.Config{Addrs: c.Addrs, Name: by, TLS: c.TLS}
	if only != "" {
		var d net.Dialer
		cfg.Addrs, cfg.RetryFor = []string{only}, boundRetry
		// The client follows the leader; whatever address it chooses, it reaches this server.
		cfg.Dial = func(ctx context.Context, _ string) (net.Conn, error) { return d.DialContext(ctx, "tcp", only) }
	}
	conn, err := client.Open(cfg)
	if err != nil {
		return nil, fmt.Errorf("open workloads: %w", err)
	}
	return &asker{name: name, client: conn, fleet: vigilv1.NewFleetClient(conn), work: vigilv1.NewWorkClient(conn),
		cluster: vigilv1.NewClusterClient(conn), mail: vigilv1.NewMailboxClient(conn)}, nil
}

// process makes one call at a time and records it. Only one goroutine uses it.
type process struct {
	s        *Set
	workload string
	id       int
	rand     *rand.Rand
	written  int
}

// process gives a new one.
func (s *Set) process(workload string) *process {
	p := &process{s: s, workload: workload}
	p.renew()
	p.rand = s.source(workload, p.id)
	return p
}

// renew gives the process a number that was never used.
func (p *process) renew() {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.s.processes[p.workload]++
	p.id, p.written = p.s.processes[p.workload], 0
}

// value gives a value that nobody has written.
func (p *process) value() string {
	p.written++
	return fmt.Sprintf("v%d.%d", p.id, p.written)
}

// somebody chooses who is asked: the whole cluster or one server.
func (p *process) somebody() *asker {
	if p.rand.IntN(5) < 2 {
		return p.s.whole
	}
	a := p.s.servers[p.rand.IntN(len(p.s.servers))]
	if a.rests.Load() > history.Now() {
		return p.s.whole
	}
	return a
}

// call makes one call through somebody; see ask.
func (p *process) call(op *history.Op, do func(ctx context.Context, a *asker) error) error {
	return p.ask(p.somebody(), p.s.cfg.Timeout, op, do)
}

// ask makes one call and records it: do fills in what the answer tells. After an
// unknown outcome the process has a new number.
func (p *process) ask(
	a *asker, timeout time.Duration, op *history.Op, do func(ctx context.Context, a *asker) error,
) error {
	ctx, cancel := context.WithTimeout(p.s.life, timeout)
	defer cancel()
	op.Workload, op.Process, op.Via, op.Call = p.workload, p.id, a.name, history.Now()
	err := do(ctx, a)
	op.Return = history.Now()
	op.Outcome, op.Error = outcome(err)
	p.s.cfg.Record.Op(*op)
	if op.Outcome == history.Unknown {
		p.renew()
		if a != p.s.whole && a.name != "" {
			a.rests.Store(history.Now() + int64(rest))
		}
	}
	return err
}

// outcome says what an error of the client tells about its call.
func outcome(err error) (outcome, code string) {
	if err == nil {
		return history.OK, ""
	}
	e := client.From(err)
	if e == nil {
		return history.Unknown, "internal"
	}
	if e.Unwrap() != nil { // the client stopped trying; the code is that of the last attempt only
		return history.Unknown, e.Code
	}
	for _, notDone := range []error{client.ErrInvalid, client.ErrNotFound, client.ErrConflict, client.ErrSuperseded,
		client.ErrRejoin, client.ErrDenied, client.ErrNoTask, client.ErrUnknownSession, client.ErrStopped,
		client.ErrHostInUse, client.ErrStaleStint, client.ErrLate, client.ErrNotLeader, client.ErrCompacted,
		client.ErrUnimplemented, client.ErrTooLarge,
		client.ErrNoAddressee, client.ErrAgentOff, client.ErrMailboxFull, client.ErrFull} {
		if errors.Is(e, notDone) {
			return history.Failed, e.Code
		}
	}
	return history.Unknown, e.Code
}

// pace waits until the next call of one of so many goroutines of a workload; it tells
// whether ctx goes on.
func (p *process) pace(ctx context.Context, of int) bool {
	mean := float64(of) / p.s.cfg.Rate * float64(time.Second)
	return pause(ctx, time.Duration(mean*(0.5+p.rand.Float64())))
}

// incarnation reads the number of a life as answers show it; 0: there is none.
func incarnation(text string) uint64 {
	if text == "" {
		return 0
	}
	n, err := client.ParseIncarnation(text)
	if err != nil {
		return 0 // a number that no life has: the checker sees the difference
	}
	return n
}
