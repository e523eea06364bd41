package agentd

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"vigil/agentd/output"
	"vigil/agentd/proc"
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
	gossip   Gossip // nil: none
	key      string
	boot     string
	mark     string // of the processes of this host: key and place
	data     *dataDir
	journal  journal
	runners  *runner.Set
	logs     *output.Dir
	launcher launcher
	scans    *proc.Scanner
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

	lives    map[uint32]*life
	ended    map[uint32]uint64 // newest incarnation of each agent that is gone
	orders   []*vigilv1.Order  // the newest list
	beats    beats
	entry    entry // registration
	gate     gate
	pressure pressure
	screens  screens
	spools   spools
	servers  servers
	letters  lettersTold

	retention retention
	// terminals is what this host can do about them.
	terminals terminals
	// containment is what holds agents' processes together here, of the weakest account.
	containment proc.Containment
	warned      map[string]bool // what shims found missing on this host
	exit        exit
}

// send has the keeper run f. It is dropped when the keeper is gone.
func (k *keeper) send(f func()) {
	select {
	case k.inbox <- f:
	case <-k.done:
	}
}

// spawn runs f in a goroutine that run waits for; f must end when k.ctx does.
func (k *keeper) spawn(f func()) { k.tasks.Go(f) }

// run works until stop ends, and then until the agents are where the configuration
// wants them. An error says that they are not.
func (k *keeper) run(stop context.Context) error {
	defer close(k.done)
	stopping := stop.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if over, err := k.over(); over {
			return err
		}
		select {
		case f := <-k.inbox:
			f()
		case <-timer.C:
		case <-stopping:
			stopping = nil
			k.shutDown()
		case <-k.exit.limit:
			k.press()
		}
		timer.Reset(k.look())
	}
}

// look does what the clock asks for and says when to look again.
func (k *keeper) look() time.Duration {
	now := k.config.Clock()
	nap := min(longestNap, k.lookForServers(now), k.lookAtLetters(now), k.lookForLeftovers(now),
		k.beat(now), k.register(now), k.weigh(now), k.retry(now), k.lookIntoSpools(now), k.lookForTmux(now),
		k.lookAtScreens(now))
	for _, l := range k.lives {
		k.watchFrost(l)
		k.watchStart(now, l)
	}
	k.metrics.count(k.lives)
	return max(nap, time.Millisecond)
}

// watchFrost notes what the dead-man's switch of a life has done.
func (k *keeper) watchFrost(l *life) {
	if l.phase != running || l.process.Frozen() == l.frozen {
		return
	}
	l.frozen = !l.frozen
	if !l.frozen {
		k.log.Info("beats are acknowledged again: the agent goes on", "agent", l.order.GetAgentName(), "incarnation", l.inc)
		return
	}
	k.metrics.freezes.Inc()
	silent := "since before this agentd began" // it was taken over so
	if l.acked > 0 {
		silent = (k.config.Clock() - l.acked).String()
	}
	k.log.Warn("no beat was acknowledged: the agent is frozen", "agent", l.order.GetAgentName(),
		"incarnation", l.inc, "silent", silent)
}
