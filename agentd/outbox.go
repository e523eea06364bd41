package agentd

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/protobuf/proto"

	"vigil/agentd/disk"
	"vigil/agentd/results"
	"vigil/rpc/client"
	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// outbox brings reports to the cluster, each until it is taken or nobody wants it, in
// order for each life. What it says of a life's end is on disk, in the life's
// folder, which is removed when the cluster has heard of it; so it survives this
// daemon. Results that are refused, or cannot be read, become dead letters. It is safe for concurrent use.
type outbox struct {
	ctx     context.Context // ends when reports are given up
	host    vigilv1.HostAgentClient
	work    vigilv1.WorkClient
	log     hclog.Logger
	metrics *metrics
	journal disk.Journal
	letters results.Letters
	read    func(s results.Spool, path string) (results.Completion, error)
	clock   func() time.Duration
	// superseded is told when the cluster does not want a life that has started.
	superseded func(agent uint32, inc uint64)
	// next is given the order of the life after one whose end was told.
	next func(*vigilv1.Order)

	id       atomic.Uint32
	ready    chan struct{} // closed by the first speakFor
	once     sync.Once
	tasks    sync.WaitGroup
	again    resumed    // the cluster answers again
	spooling sync.Mutex // one completion is under way
	mu       sync.Mutex
	begun    map[disk.Life]*delivery // start and stuck reports
	pending  map[uint32]uint64       // newest incarnation of each agent whose end is not told yet
	passed   map[string]bool         // files of spools: true, it cannot be removed; false, nor read, which was said
}

// unreadLimit is how long the end of a life waits for results that cannot be read: its next life waits, too.
const unreadLimit = 30 * time.Second

// newOutbox makes one that nobody has told of the host's number yet. The caller sets
// superseded and next before the first report.
func newOutbox(b base) *outbox {
	return &outbox{ctx: b.ctx, host: b.host, work: b.work, log: b.log, metrics: b.metrics, journal: b.journal,
		letters: results.Letters{Dir: b.data.Letters()}, read: b.config.Spooled, clock: b.config.Clock,
		begun:   map[disk.Life]*delivery{},
		pending: map[uint32]uint64{}, passed: map[string]bool{}, ready: make(chan struct{})}
}

// delivery is a report under way that the report of the end overtakes.
type delivery struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// speakFor sets the number of the host that reports. Nothing is reported before.
func (o *outbox) speakFor(host uint32) {
	o.id.Store(host)
	o.once.Do(func() { close(o.ready) })
}

// registered waits for the host to have a number; it gives false when the outbox
// ends first.
func (o *outbox) registered(ctx context.Context) bool {
	select {
	case <-o.ready:
		return true
	case <-ctx.Done():
		return false
	}
}

// started reports a pid.
func (o *outbox) started(r *vigilv1.ReportStartedRequest) {
	who := disk.Life{Agent: r.GetAgent(), Incarnation: r.GetIncarnation()}
	o.begin(who, func(ctx context.Context) {
		err := insistUntil(ctx, &o.again, final, func(ctx context.Context) error {
			again := proto.CloneOf(r)
			again.Host = o.id.Load()
			_, err := o.host.ReportStarted(ctx, again)
			return err
		})
		point("reported")
		switch {
		case err == nil || ctx.Err() != nil:
		case client.Code(err) == code.Superseded:
			o.superseded(who.Agent, who.Incarnation)
		default:
			o.log.Warn("start report was refused", "agent_id", who.Agent, "incarnation", who.Incarnation, "error", err)
		}
	})
}

// stuck reports that something of a life cannot be killed.
func (o *outbox) stuck(r *vigilv1.ReportStuckRequest) {
	r.Reason = clip(r.GetReason(), maxReason)
	who := disk.Life{Agent: r.GetAgent(), Incarnation: r.GetIncarnation()}
	o.begin(who, func(ctx context.Context) {
		err := insist(ctx, &o.again, func(ctx context.Context) error {
			again := proto.CloneOf(r)
			again.Host = o.id.Load()
			_, err := o.host.ReportStuck(ctx, again)
			return err
		})
		if err != nil && ctx.Err() == nil {
			o.log.Warn("the report of processes that cannot be killed was refused", "agent_id", who.Agent,
				"incarnation", who.Incarnation, "error", err)
		}
	})
}

// begin has a report about a living agent delivered, after those before it.
func (o *outbox) begin(who disk.Life, deliver func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(o.ctx)
	d := &delivery{cancel: cancel, done: make(chan struct{})}
	o.mu.Lock()
	before := o.begun[who]
	o.begun[who] = d
	o.mu.Unlock()
	o.tasks.Go(func() {
		defer close(d.done)
		defer cancel()
		if before != nil {
			select {
			case <-before.done:
			case <-ctx.Done():
				before.cancel()
				<-before.done
			}
		}
		if o.registered(ctx) {
			deliver(ctx)
		}
	})
}

// exit reports an end. Reports that are still under way are given up: the end says
// more. What the agent itself could not deliver goes before. The life's folder,
// when it has one, is removed once the cluster knows.
func (o *outbox) exit(r *vigilv1.ReportExitRequest, s results.Spool) {
	r.Reason = clip(r.GetReason(), maxReason)
	who := disk.Life{Agent: r.GetAgent(), Incarnation: r.GetIncarnation()}
	o.mu.Lock()
	d := o.begun[who]
	delete(o.begun, who)
	o.pending[who.Agent] = max(o.pending[who.Agent], who.Incarnation)
	o.mu.Unlock()
	o.tasks.Go(func() {
		if d != nil {
			d.cancel()
			<-d.done
		}
		o.metrics.reports.Inc()
		defer o.metrics.reports.Dec()
		next, err := o.report(r, s)
		if next != nil {
			o.next(next)
		}
		if o.ctx.Err() != nil && err != nil && !final(err) {
			return // the next daemon finds the folder
		}
		if err != nil {
			o.log.Warn("exit report was not taken", "agent_id", who.Agent, "incarnation", who.Incarnation, "error", err)
		}
		o.mu.Lock()
		if o.pending[who.Agent] == who.Incarnation {
			delete(o.pending, who.Agent)
		}
		o.mu.Unlock()
		point("told")
		o.clear(s)
	})
}

// untold gives the lives whose end the cluster does not know yet, by agent. While
// it does not, they belong into the inventory: what is not in it is taken for gone
// with the host, and the real end would come too late to be charged (laws L8, L11).
func (o *outbox) untold() map[uint32]uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.pending)
}

// leftover delivers what a life of an earlier boot has left, of which nothing else
// is to be told, and removes its folder. It does not wait for the registration,
// which may have to wait for the end of that life's fence.
func (o *outbox) leftover(s results.Spool) {
	o.tasks.Go(func() {
		if err := o.empty(s); err != nil && o.ctx.Err() != nil {
			return // the next daemon finds the folder
		}
		o.clear(s)
	})
}

// clear removes the folder of a life, if it has one, when all is told. One of whose results nothing could be read
// stays: the next agentd looks again.
func (o *outbox) clear(s results.Spool) {
	if s.Folder == "" || o.isPassed(s.Folder) {
		return
	}
	o.forgive(s)
	if err := o.journal.Remove(s.Folder); err != nil {
		o.log.Warn("a life that is over stays in the journal; the next agentd reports it again", "error", err)
	}
}

// empty delivers all completions that a life, which is over, has left. What cannot be read for some time is set aside.
func (o *outbox) empty(s results.Spool) error {
	waits, patience := false, time.Duration(0)
	for left := s.Folder != ""; left; {
		err := insist(o.ctx, &o.again, func(ctx context.Context) (err error) {
			var unread *unreadError
			switch left, err = o.deliver(ctx, s); {
			case !errors.As(err, &unread):
				waits = false // what kept it waiting was not the disk
			case !waits:
				waits, patience = true, o.clock()+unreadLimit
			case o.clock() > patience:
				waits = false
				left, err = o.setAside(s, unread), nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// report delivers the completions of a life and then its end. It gives the order of the next life, if that is
// known by then.
func (o *outbox) report(r *vigilv1.ReportExitRequest, s results.Spool) (next *vigilv1.Order, err error) {
	if err := o.empty(s); err != nil {
		return nil, err
	}
	if !o.registered(o.ctx) {
		return nil, context.Cause(o.ctx)
	}
	err = insistUntil(o.ctx, &o.again, final, func(ctx context.Context) error {
		again := proto.CloneOf(r)
		again.Host = o.id.Load()
		answer, err := o.host.ReportExit(ctx, again)
		if misfit(err) && !proto.Equal(r, bare(r)) {
			o.log.Warn("an exit report was refused for what it holds; the end is told without it",
				"agent_id", r.GetAgent(),
				"incarnation", r.GetIncarnation(), "error", err)
			r = bare(r)
			again = proto.CloneOf(r)
			again.Host = o.id.Load()
			answer, err = o.host.ReportExit(ctx, again)
		}
		next = answer.GetNext()
		return err
	})
	return next, err
}

// bare is as much of an exit report as the cluster needs to charge it: nothing of it comes
// from the agent but its exit code, so a usage limit, which is read from its output and
// would not be charged, is left out.
func bare(r *vigilv1.ReportExitRequest) *vigilv1.ReportExitRequest {
	return &vigilv1.ReportExitRequest{Agent: r.GetAgent(), Incarnation: r.GetIncarnation(), Code: r.GetCode(),
		StartFailed: r.GetStartFailed(), Ordered: r.GetOrdered(), TimedOut: r.GetTimedOut()}
}

// flush waits until all reports are delivered; it gives false when ctx ends first.
func (o *outbox) flush(ctx context.Context) bool {
	empty := make(chan struct{})
	go func() {
		defer close(empty)
		o.tasks.Wait()
	}()
	select {
	case <-empty:
		return true
	case <-ctx.Done():
		return false
	}
}
