package agentd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/client"
	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// lastMoment is how long what was sent SIGKILL may take to go.
const lastMoment = 5 * time.Second

var (
	// errStuck says that something of an agent outlived SIGKILL.
	errStuck = errors.New("some processes could not be killed")
	// errNotDrained says that no server took the wish to drain the host.
	errNotDrained = errors.New("the host was not drained, its agents go on")
)

// leaving is how far the end of the daemon has come.
type leaving uint8

const (
	staying  leaving = iota
	keeping          // the agents go on without it
	draining         // the agents are handed over
	closing          // the agents are ended
	killing
)

// exit is the end of the daemon.
type exit struct {
	how     leaving
	drained bool          // the cluster knows of the drain
	until   time.Duration // the end of the drain
	limit   <-chan time.Time
	err     error // the end failed
}

// shutDown begins the end.
func (k *keeper) shutDown() {
	switch how := k.config.OnStop; {
	case how == Keep && k.config.Rebooting != nil && k.config.Rebooting():
		k.log.Info("the machine goes down: its agents are ended while their ends can be told", "agents", len(k.lives))
		k.close()
	case how == Keep:
		k.exit.how = keeping
		k.log.Info("agentd ends, its agents go on", "agents", len(k.lives))
	case how == Drain:
		k.exit.how = draining
		k.drain()
	default:
		k.close()
	}
}

// drain asks the cluster to take the agents elsewhere: those without a task at
// once, the others when they give it back or when the limit has passed.
func (k *keeper) drain() {
	k.log.Info("host is drained: waiting for its agents to be handed over", "agents", len(k.lives),
		"limit", k.config.DrainLimit)
	for _, l := range k.lives {
		if l.phase < starting {
			k.end(l, ending{why: "host is drained", exempt: true}, 0)
		}
	}
	k.exit.limit = time.After(k.config.DrainLimit + k.config.ShutdownLimit)
	k.exit.until = k.config.Clock() + k.config.DrainLimit
	k.drainSelf(k.config.DrainLimit)
}

// drainSelf tells the cluster of the drain: also after a registration, which ends a
// drain that the host itself has asked for. left is how long it is to last.
func (k *keeper) drainSelf(left time.Duration) {
	k.exit.drained = false
	k.spawn(func() {
		ctx, cancel := context.WithTimeout(k.ctx, left)
		defer cancel()
		err := insist(ctx, &k.outbox.again, func(ctx context.Context) error {
			_, err := k.host.DrainSelf(ctx, &vigilv1.DrainSelfRequest{Key: k.key, Boot: k.boot, Deadline: durationpb.New(left)})
			return err
		})
		k.send(func() {
			// A host that the cluster does not know has nothing to hand over.
			k.exit.drained = err == nil || client.Code(err) == code.NotFound && len(k.lives) == 0
			if !k.exit.drained {
				k.exit.err = fmt.Errorf("%w: %w", errNotDrained, err)
			}
		})
	})
}

// close ends all lives.
func (k *keeper) close() {
	k.exit.how, k.exit.limit = closing, time.After(k.config.ShutdownLimit)
	for _, l := range k.lives {
		k.end(l, ending{why: "host is shutting down", exempt: true}, k.grace(l, nil))
	}
}

// press goes one step further when a limit has passed.
func (k *keeper) press() {
	switch k.exit.how {
	case draining:
		k.log.Warn("agents were not handed over in time: ending them", "left", len(k.lives))
		k.close()
	case closing:
		k.log.Warn("agents did not end in time: killing them", "left", len(k.lives))
		k.exit.how, k.exit.limit = killing, time.After(lastMoment)
		for _, l := range k.lives {
			k.end(l, ending{why: "host is shutting down", exempt: true}, 0)
		}
	case killing:
		k.exit.err = errStuck
	}
}

// over tells whether the daemon may go.
func (k *keeper) over() (bool, error) {
	gone := len(k.lives) == 0
	switch k.exit.how {
	case staying:
		return false, nil
	case keeping:
		return true, nil
	case draining:
		return gone && k.exit.drained || k.exit.err != nil, k.exit.err
	}
	return gone || k.exit.err != nil, k.exit.err
}

// left tells whether the host is empty and out of service for good.
func (k *keeper) left() bool { return k.exit.how > keeping && k.exit.err == nil }
