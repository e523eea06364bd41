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

// sayLimit is how long the ends of agents wait for the cluster to know that the host goes. A leader that is missing
// for longer orders nothing either.
const sayLimit = time.Second

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

// exit is the part that ends the daemon, and its agents as the configuration wants it.
type exit struct {
	base
	lives    *lives
	pressure *pressure
	again    *resumed // the cluster answers again

	how     leaving
	drained bool          // the cluster knows of the drain
	until   time.Duration // the end of the drain
	said    time.Duration // closing: when the agents are ended at the latest; 0: they are
	limit   <-chan time.Time
	err     error // the end failed
}

// shutDown begins the end.
func (x *exit) shutDown() {
	switch how := x.config.OnStop; {
	case how == Keep && x.config.Rebooting != nil && x.config.Rebooting():
		x.log.Info("the machine or container goes down: its agents are ended while their ends can be told",
			"agents", len(x.lives.all))
		x.close()
	case how == Keep:
		x.how = keeping
		x.log.Info("agentd ends, its agents go on", "agents", len(x.lives.all))
	case how == Drain:
		x.how = draining
		x.drain()
	default:
		x.close()
	}
}

// drain asks the cluster to take the agents elsewhere: those without a task at
// once, the others when they give it back or when the limit has passed.
func (x *exit) drain() {
	x.log.Info("host is drained: waiting for its agents to be handed over", "agents", len(x.lives.all),
		"limit", x.config.DrainLimit)
	for _, l := range x.lives.all {
		if l.phase < starting {
			x.lives.end(l, ending{why: "host is drained", exempt: true}, 0)
		}
	}
	x.limit = time.After(x.config.DrainLimit + x.config.ShutdownLimit)
	x.until = x.config.Clock() + x.config.DrainLimit
	x.drainSelf(x.config.DrainLimit)
}

// drainSelf tells the cluster of the drain. left is how long it is to last.
func (x *exit) drainSelf(left time.Duration) {
	x.drained = false
	x.spawn(func() {
		ctx, cancel := context.WithTimeout(x.ctx, left)
		defer cancel()
		err := insist(ctx, x.again, func(ctx context.Context) error {
			_, err := x.host.DrainSelf(ctx, &vigilv1.DrainSelfRequest{Key: x.key, Boot: x.boot,
				Deadline: durationpb.New(left)})
			return err
		})
		x.send(func() {
			// A host that the cluster does not know has nothing to hand over.
			x.drained = err == nil || client.Code(err) == code.NotFound && len(x.lives.all) == 0
			if !x.drained {
				x.err = fmt.Errorf("%w: %w", errNotDrained, err)
			}
		})
	})
}

// close ends all lives, once the cluster knows that the host goes: an agent that ends would be ordered to start here
// again otherwise, and not elsewhere.
func (x *exit) close() {
	x.lives.closing = true
	x.how, x.limit = closing, time.After(x.config.ShutdownLimit)
	x.said = x.config.Clock() + sayLimit
	x.pressure.leave()
}

// look ends all lives when the cluster knows, and says when to look again.
func (x *exit) look(now time.Duration) time.Duration {
	if x.how != closing || x.said == 0 || now < x.said && x.pressure.member.registered && !x.pressure.told {
		return longestNap
	}
	x.said = 0
	for _, l := range x.lives.all {
		x.lives.end(l, ending{why: "host is shutting down", exempt: true}, x.lives.grace(l, nil))
	}
	return longestNap
}

// registered tells the cluster of the drain again: a registration ends one that the host
// itself has asked for.
func (x *exit) registered() {
	if x.how == draining {
		x.drainSelf(max(x.until-x.config.Clock(), time.Second))
	}
}

// press goes one step further when a limit has passed.
func (x *exit) press() {
	switch x.how {
	case draining:
		x.log.Warn("agents were not handed over in time: ending them", "left", len(x.lives.all))
		x.close()
	case closing:
		x.log.Warn("agents did not end in time: killing them", "left", len(x.lives.all))
		x.how, x.limit = killing, time.After(lastMoment)
		for _, l := range x.lives.all {
			x.lives.end(l, ending{why: "host is shutting down", exempt: true}, 0)
		}
	case killing:
		x.err = errStuck
	}
}

// over tells whether the daemon may go.
func (x *exit) over() (bool, error) {
	gone := len(x.lives.all) == 0
	switch x.how {
	case staying:
		return false, nil
	case keeping:
		return true, nil
	case draining:
		return gone && x.drained || x.err != nil, x.err
	}
	return gone || x.err != nil, x.err
}

// left tells whether the host is empty and out of service for good.
func (x *exit) left() bool { return x.how > keeping && x.err == nil }
