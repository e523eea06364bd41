package agentd

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"vigil/agentd/output"
	"vigil/agentd/runner"
	"vigil/rpc/gen/vigilv1"
)

// defaultTTL is used when neither the order nor the acceptance names one.
const defaultTTL = time.Minute

// longestNap bounds how late the keeper notices what the clock says: its timers
// stand still while the machine is suspended, the clock does not.
const longestNap = 250 * time.Millisecond

// keeper owns the table of lives. Only run and the functions that it is sent
// touch its fields below the line.
type keeper struct {
	config   *Config
	log      hclog.Logger
	key      string
	boot     string
	data     *dataDir
	runners  *runner.Set
	logs     *output.Dir
	launcher launcher
	host     vigilv1.HostAgentClient
	work     vigilv1.WorkClient
	metrics  *metrics
	outbox   *outbox
	stream   *stream

	inbox chan func()
	done  chan struct{}  // closed when run has returned
	fatal chan error     // holds one
	tasks sync.WaitGroup // goroutines of the keeper
	// ctx ends after the last life is gone and reported.
	ctx context.Context

	// ---

	lives map[uint32]*life
	ended map[uint32]uint64 // newest incarnation of each agent that is gone
	beats beats
	entry entry // registration
	leave bool  // shutting down
}

// errStuck says that something of an agent outlived SIGKILL.
var errStuck = errors.New("some processes could not be killed")

// send has the keeper run f. It is dropped when the keeper is gone.
func (k *keeper) send(f func()) {
	select {
	case k.inbox <- f:
	case <-k.done:
	}
}

// spawn runs f in a goroutine that run waits for; f must end when k.ctx does.
func (k *keeper) spawn(f func()) { k.tasks.Go(f) }

// run works until stop ends, then ends all lives and returns when they are gone,
// or with an error when they would not go.
func (k *keeper) run(stop context.Context) error {
	defer close(k.done)
	stopping := stop.Done()
	var limit, last <-chan time.Time
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if k.leave && len(k.lives) == 0 {
			return nil
		}
		select {
		case f := <-k.inbox:
			f()
		case <-timer.C:
		case <-stopping:
			stopping = nil
			limit = time.After(k.config.ShutdownLimit)
			k.shutDown()
		case <-limit:
			k.log.Warn("agents did not end in time: killing them", "left", len(k.lives))
			for _, l := range k.lives {
				k.end(l, ending{why: "host is shutting down", exempt: true}, 0)
			}
			last = time.After(5 * time.Second)
		case <-last:
			return errStuck
		}
		timer.Reset(k.look())
	}
}

// look does what the clock asks for and says when to look again.
func (k *keeper) look() time.Duration {
	now := k.config.Clock()
	nap := longestNap
	for _, l := range k.lives {
		if !l.covered() {
			continue
		}
		k.obey(l, l.watch.judge(now))
		nap = min(nap, l.watch.next(now))
	}
	nap = min(nap, k.beat(now), k.register(now))
	k.metrics.count(k.lives)
	return max(nap, time.Millisecond)
}

// obey carries out what a dead-man's switch says.
func (k *keeper) obey(l *life, c command) {
	switch c {
	case freeze:
		k.log.Warn("no beat was acknowledged: freezing the agent", "agent", l.order.GetAgentName(),
			"incarnation", l.inc, "silent", k.config.Clock()-l.watch.sent)
	case thaw:
		k.log.Info("beats are acknowledged again: the agent goes on", "agent", l.order.GetAgentName(), "incarnation", l.inc)
	case kill:
		k.end(l, ending{why: "frozen for " + k.config.FrozenLimit.String() + " without an acknowledged beat", exempt: true}, 0)
	}
	k.frost(l)
}

// frost makes the tree frozen or not, as its switch says. One change is under way
// at a time, so that they cannot overtake each other.
func (k *keeper) frost(l *life) {
	if l.phase != running || l.frosting || l.frozen == l.watch.frozen {
		return
	}
	want := l.watch.frozen
	l.frosting = true
	k.spawn(func() {
		act := l.process.Thaw
		if want {
			act = l.process.Freeze
		}
		err := act()
		k.send(func() {
			l.frosting, l.frozen = false, want
			if err != nil && k.lives[l.agent] == l {
				k.log.Error("freezing or thawing failed: killing the agent", "agent", l.order.GetAgentName(), "error", err)
				k.end(l, ending{why: "it could not be frozen: " + err.Error(), exempt: true}, 0)
				return
			}
			k.frost(l)
		})
	})
	if want {
		k.metrics.freezes.Inc()
	}
}

// shutDown ends all lives.
func (k *keeper) shutDown() {
	k.leave = true
	for _, l := range k.lives {
		k.end(l, ending{why: "host is shutting down", exempt: true}, k.grace(l, nil))
	}
}
