package agentd

import (
	"context"
	"time"
)

// keeper owns all parts of the daemon. They belong to the goroutine of run: whatever else
// happens is sent to it.
type keeper struct {
	base
	lives        *lives
	orders       *orders
	beats        *beats
	registration *registration
	pressure     *pressure
	retention    *retention
	spools       *spools
	terminals    *terminals
	screens      *screens
	exit         *exit
	parts        []part // in the order in which they look

	outbox *outbox
	stream *stream
}

// run works until stop ends, and then until the agents are where the configuration
// wants them. An error says that they are not.
func (k *keeper) run(stop context.Context) error {
	defer close(k.done)
	stopping := stop.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if over, err := k.exit.over(); over {
			return err
		}
		select {
		case f := <-k.inbox:
			f()
		case <-timer.C:
		case <-stopping:
			stopping = nil
			k.exit.shutDown()
		case <-k.exit.limit:
			k.exit.press()
		}
		timer.Reset(k.look())
	}
}

// look has every part look and says when to look again.
func (k *keeper) look() time.Duration {
	now, nap := k.config.Clock(), longestNap
	for _, p := range k.parts {
		nap = min(nap, p.look(now))
	}
	return max(nap, time.Millisecond)
}

// resume has everything that waits for the cluster told at once: it answers again.
func (k *keeper) resume() {
	k.spools.now()
	k.outbox.again.tell()
	k.tellAgain()
}

// tellAgain has everything told anew: the cluster may have lost it.
func (k *keeper) tellAgain() {
	k.terminals.told = false
	k.retention.told = false
	k.screens.tellAgain()
}

// taken tells every part that the cluster has taken this host.
func (k *keeper) taken(moved bool) {
	if k.pressure.reason != "" {
		k.pressure.told = false
	}
	k.tellAgain()
	host := k.registration.member.host
	k.outbox.speakFor(host)
	k.stream.speakFor(host, moved)
	k.exit.registered()
}
