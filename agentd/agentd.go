package agentd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"vigil/agentd/accounts"
	"vigil/agentd/disk"
	"vigil/agentd/local"
	"vigil/agentd/output"
	"vigil/agentd/proc"
	"vigil/agentd/shim"
	"vigil/agentd/telemetry"
	"vigil/rpc/gen/vigilv1"
)

const (
	// farewell bounds what is said after the last agent is gone: reports and good-bye.
	farewell = 10 * time.Second
	// lastWords bounds it when the agents go on: reports are on disk.
	lastWords = 2 * time.Second
)

// Agentd is the daemon of one host.
type Agentd struct {
	config  Config
	data    *disk.Dir
	boot    string
	place   string // of the data directory
	offers  *offers
	metrics *metrics
	// accounts are those of agents that have one of their own.
	accounts *accounts.Register
	silence  time.Duration     // pingLimit, unless a test sets it
	shims    launcher          // as well
	agents   *net.UnixListener // calls of agents come in by it
	gossip   Gossip            // nil: none

	told      *net.UnixListener    // telemetry of agents comes in by it
	forwarder *telemetry.Forwarder // nil: it is not passed on

	loop atomic.Pointer[loop] // of the keeper, once it is to run

	once sync.Once // releases the data directory
}

// Open locks the data directory, reads or makes the host's id, and checks the
// runners against this host. It does not touch the network. Errors are disk.ErrInUse,
// runner.Faults, or name what is wrong and what to do. Release it with Run or
// Close.
func Open(config Config) (*Agentd, error) {
	config, err := config.prepare()
	if err != nil {
		return nil, fmt.Errorf("open agentd: %w", err)
	}
	o := &offers{host: config.RunnerHost()}
	first, _, err := o.compile(config.Offer)
	if err != nil {
		return nil, fmt.Errorf("open agentd: %w", err)
	}
	o.current.Store(first)
	data, err := disk.Open(config.DataDir, config.HostKeyFile)
	if err != nil {
		return nil, fmt.Errorf("open agentd: %w", err)
	}
	a := &Agentd{config: config, data: data, boot: config.Boot, offers: o, silence: pingLimit,
		shims: shims{&shim.Launcher{Command: config.Shim}}}
	if err := a.open(); err != nil {
		data.Close()
		return nil, fmt.Errorf("open agentd: %w", err)
	}
	return a, nil
}

// open does what needs the locked data directory.
func (a *Agentd) open() (err error) {
	if a.place, err = a.data.Place(); err != nil {
		return err
	}
	if a.boot == "" {
		if a.boot, err = disk.Boot(); err != nil {
			return err
		}
		// A copy of the directory is another boot, on this machine too: the cluster
		// refuses it until nothing of this one can run any more.
		a.boot += "-" + a.place
	}
	if a.accounts, err = accounts.Open(a.data.Path, a.config.Accounts); err != nil {
		return err
	}
	if a.metrics, err = newMetrics(a.config.Registerer); err != nil {
		return err
	}
	if a.agents, err = local.Listen(a.config.DataDir, disk.AgentsFile); err != nil {
		return fmt.Errorf("take calls of agents: %w", err)
	}
	if a.told, err = local.Listen(a.config.DataDir, disk.TelemetryFile); err != nil {
		a.agents.Close()
		return fmt.Errorf("take telemetry of agents: %w", err)
	}
	return nil
}

// Key is what the host proves with that it is the one that it was; a secret.
func (a *Agentd) Key() string { return a.data.Key }

// mark is what the processes of this host carry: not that of a copy of the data
// directory on the same machine.
func (a *Agentd) mark() string { return proc.HostMark(a.data.Key) + "-" + a.place }

// Close releases the data directory of an Agentd that does not run. It may be
// called more than once.
func (a *Agentd) Close() {
	a.once.Do(func() {
		a.agents.Close()
		a.told.Close()
		a.data.Close()
	})
}

// Run takes over the agents that an earlier daemon has left and serves until ctx
// ends. What becomes of its agents then is the configuration's OnStop. Call it
// once. It returns nil after an orderly end, and an error when the cluster will
// never take this host, a process could not be killed, or the host could not be
// drained; agents that still run then go on.
func (a *Agentd) Run(ctx context.Context) error {
	defer a.Close()
	defer a.shims.Close()
	// Lives end after ctx does: their last words need a context of their own.
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	logs := output.NewDir(output.Config{Dir: a.data.Logs(), MaxBytes: a.config.LogBytes, Keep: a.config.LogKeep})
	defer logs.Close()

	k := a.keeper(work, logs)
	if err := (&adopter{base: k.base, lives: k.lives, outbox: k.outbox}).adopt(); err != nil {
		return fmt.Errorf("take over agents: %w", err)
	}
	if err := k.outbox.letters.Open(); err != nil {
		k.log.Warn("results that the cluster refuses may be lost", "error", err)
	}
	k.registration.recall()
	k.offers.get().tell(k.log)
	k.measure(k.offers.get())
	k.pressure.begin()
	var tasks sync.WaitGroup
	listen, deaf := context.WithCancel(work)
	defer deaf()
	tasks.Go(func() { k.stream.run(listen) })
	tasks.Go(func() { a.relay(k).Run(work) })
	a.hear(work, &tasks, k)
	tasks.Go(func() { k.takeOffers(listen, a.config.Offers) })
	tasks.Go(func() { a.gossipUntil(work) })

	stop, halt := context.WithCancel(ctx)
	defer halt()
	var failure error
	tasks.Go(func() {
		select {
		case failure = <-k.registration.fatal:
			halt()
		case <-stop.Done():
		}
	})
	a.loop.Store(k.loop)
	err := k.run(stop)
	for _, l := range k.lives.all {
		letGo(l.process)
	}
	deaf()
	halt()
	// From here on nobody sends the keeper anything that it must do.
	a.sayGoodbye(work, k)
	cancel()
	k.tasks.Wait()
	k.outbox.tasks.Wait()
	tasks.Wait()
	return errors.Join(failure, err)
}

// relay passes calls of agents on to the servers.
func (a *Agentd) relay(k *keeper) *local.Relay {
	return local.NewRelay(local.RelayConfig{Listener: a.agents, Who: k.callers.behalf, TLS: a.config.TLS,
		Servers: func() []string { return append([]string{a.config.Leader()}, a.config.Servers()...) }})
}

// sayGoodbye delivers the last reports, and takes the host out of service when
// nothing of it goes on.
func (a *Agentd) sayGoodbye(work context.Context, k *keeper) {
	limit := lastWords
	if k.exit.left() {
		limit = farewell
	}
	ctx, cancel := context.WithTimeout(work, limit)
	defer cancel()
	if !k.registration.member.registered {
		return
	}
	if !k.outbox.flush(ctx) {
		k.log.Warn("some reports were not delivered; the next agentd delivers them")
		return
	}
	if !k.exit.left() {
		return
	}
	_, err := k.host.LeaveHost(ctx, &vigilv1.LeaveHostRequest{Key: a.data.Key, Boot: a.boot})
	if err != nil {
		k.log.Warn("good-bye was not delivered", "error", err)
		return
	}
	if a.gossip != nil {
		a.gossip.Leave()
	}
	k.log.Info("host has left")
}

// Boot is the host's boot id.
func (a *Agentd) Boot() string { return a.boot }

// Gossip has Run show this host in gossip too, and tell the cluster where. Call it
// before Run, if at all.
func (a *Agentd) Gossip(g Gossip) { a.gossip = g }

// gossipUntil gossips until ctx ends. It begins when the cluster has taken the host:
// only then it knows the others.
func (a *Agentd) gossipUntil(ctx context.Context) {
	if a.gossip == nil {
		return
	}
	if err := a.gossip.Run(ctx); err != nil {
		a.config.Logger.Error("this host does not gossip: the servers hear it by its order stream only", "error", err)
	}
}
