package agentd

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/protobuf/proto"

	"vigil/rpc/gen/vigilv1"
)

// maxReason bounds the reason in an exit report.
const maxReason = 1 << 10

// outbox brings reports to the cluster, each until it is taken or refused, in
// order for each life. It lives in memory: what it holds when the daemon is killed
// the cluster learns from the next inventory. It is safe for concurrent use.
type outbox struct {
	ctx     context.Context // ends when reports are given up
	host    vigilv1.HostAgentClient
	log     hclog.Logger
	metrics *metrics
	// superseded is told when the cluster does not want a life that has started.
	superseded func(agent uint32, inc uint64)

	id    atomic.Uint32
	tasks sync.WaitGroup
	mu    sync.Mutex
	begun map[beaten]*delivery // start reports
}

// delivery is a start report under way.
type delivery struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// speakFor sets the number of the host that reports.
func (o *outbox) speakFor(host uint32) { o.id.Store(host) }

// started reports a pid.
func (o *outbox) started(r *vigilv1.ReportStartedRequest) {
	ctx, cancel := context.WithCancel(o.ctx)
	d := &delivery{cancel: cancel, done: make(chan struct{})}
	who := beaten{r.GetAgent(), r.GetIncarnation()}
	o.mu.Lock()
	o.begun[who] = d
	o.mu.Unlock()
	o.tasks.Go(func() {
		defer close(d.done)
		defer cancel()
		err := insist(ctx, func(ctx context.Context) error {
			again := proto.CloneOf(r)
			again.Host = o.id.Load()
			_, err := o.host.ReportStarted(ctx, again)
			return err
		})
		switch {
		case err == nil || ctx.Err() != nil:
		case codeOf(err) == "superseded":
			o.superseded(who.agent, who.inc)
		default:
			o.log.Warn("start report was refused", "agent_id", who.agent, "incarnation", who.inc, "error", err)
		}
	})
}

// exit reports an end. A start report that is still under way is given up: the end
// says more.
func (o *outbox) exit(r *vigilv1.ReportExitRequest) {
	r.Reason = clip(r.GetReason(), maxReason)
	who := beaten{r.GetAgent(), r.GetIncarnation()}
	o.mu.Lock()
	d := o.begun[who]
	delete(o.begun, who)
	o.mu.Unlock()
	o.tasks.Go(func() {
		if d != nil {
			d.cancel()
			<-d.done
		}
		o.metrics.reports.Inc()
		defer o.metrics.reports.Dec()
		err := insist(o.ctx, func(ctx context.Context) error {
			again := proto.CloneOf(r)
			again.Host = o.id.Load()
			_, err := o.host.ReportExit(ctx, again)
			return err
		})
		if err != nil {
			o.log.Warn("exit report was not taken", "agent_id", who.agent, "incarnation", who.inc, "error", err)
		}
	})
}

// clip cuts text to at most n bytes of valid UTF-8.
func clip(text string, n int) string {
	if len(text) > n {
		text = text[:n]
	}
	return strings.ToValidUTF8(text, "")
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
