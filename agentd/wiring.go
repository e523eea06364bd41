package agentd

import (
	"context"
	"hash/maphash"
	"time"

	"vigil/agentd/disk"
	"vigil/agentd/output"
	"vigil/agentd/proc"
	"vigil/rpc/gen/vigilv1"
)

// keeper wires the parts together. ctx ends after the last life is gone and reported.
func (a *Agentd) keeper(ctx context.Context, logs *output.Dir) *keeper {
	b := base{
		site: &site{config: &a.config, log: a.config.Logger.Named("agentd"), key: a.data.Key, boot: a.boot,
			mark: a.mark(), data: a.data, offers: a.offers, accounts: a.accounts,
			journal:  disk.Journal{Dir: a.data.Lives(), Locked: func() { point("locked") }},
			launcher: a.shims, scans: proc.NewScanner(), logs: logs, metrics: a.metrics,
			callers:   &callers{all: map[disk.Life]caller{}},
			telemetry: a.receiver(),
			host:      vigilv1.NewHostAgentClient(a.config.Conn), work: vigilv1.NewWorkClient(a.config.Conn)},
		loop: &loop{ctx: ctx, inbox: make(chan func(), 64), done: make(chan struct{})},
	}
	if a.forwarder != nil { // receiver has made it
		b.forward = a.forwarder.Forward
	}
	k := &keeper{base: b}
	member := &membership{wanted: true}
	enroll := func() { k.registration.enroll() }

	k.outbox = newOutbox(b)
	k.lives = &lives{base: b, outbox: k.outbox, all: map[uint32]*life{}, ended: map[uint32]uint64{},
		warned: map[string]bool{}}
	k.outbox.superseded = func(agent uint32, inc uint64) {
		k.send(func() {
			if l := k.lives.all[agent]; l != nil && l.inc == inc {
				k.lives.overtaken(l)
			}
		})
	}
	k.outbox.next = func(o *vigilv1.Order) { k.send(func() { k.orders.takeNext(o) }) }
	k.exit = &exit{base: b, lives: k.lives, again: &k.outbox.again}
	k.beats = &beats{base: b, member: member, lives: k.lives, gone: enroll, resumed: k.resume}
	k.lives.keepUsage = k.beats.used.end
	k.pressure = &pressure{base: b, member: member, measures: make(chan measures, 1)}
	k.exit.pressure = k.pressure
	k.orders = &orders{base: b, member: member, lives: k.lives, beats: k.beats, pressure: k.pressure,
		exit: k.exit, outbox: k.outbox}
	servers := &servers{base: b, enroll: enroll}
	k.registration = &registration{base: b, member: member, lives: k.lives, beats: k.beats,
		servers: servers, outbox: k.outbox, gossip: a.gossip, taken: k.taken, fatal: make(chan error, 1),
		pauses: backoff{first: 200 * time.Millisecond, most: 5 * time.Second}}
	k.spools = &spools{base: b, member: member, lives: k.lives, outbox: k.outbox}
	k.retention = &retention{base: b, member: member, lives: k.lives, pressure: k.pressure, letters: &k.outbox.letters}
	k.terminals = &terminals{base: b, member: member}
	k.screens = &screens{base: b, member: member, lives: k.lives, pressure: k.pressure, seed: maphash.MakeSeed()}
	k.parts = []part{
		servers,
		&troubles{base: b, member: member, lives: k.lives, enroll: enroll},
		&lettersTold{base: b, member: member, letters: &k.outbox.letters, enroll: enroll},
		k.retention,
		k.beats, k.registration, k.pressure, k.exit, k.orders, k.spools, k.terminals, k.screens, k.lives,
		&reserve{base: b, lives: k.lives, exit: k.exit},
	}
	k.stream = &stream{host: b.host, boot: b.boot, log: b.log, metrics: b.metrics, logs: logs,
		silence: a.silence, registered: make(chan struct{}),
		orders: func(o []*vigilv1.Order) { k.send(func() { k.orders.take(o) }) },
		gone:   func() { k.send(enroll) }, proven: k.beats.proven, terminal: k.lives.atTerminal,
		follow: k.lives.follow,
		gossip: a.gossip}
	return k
}
