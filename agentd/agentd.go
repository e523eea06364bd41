package agentd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"vigil/agentd/output"
	"vigil/agentd/proc"
	"vigil/agentd/runner"
	"vigil/rpc/gen/vigilv1"
)

// farewell bounds what is said after the last agent is gone: reports and good-bye.
const farewell = 10 * time.Second

// sweepLimit bounds the search for what an earlier daemon left behind.
const sweepLimit = 10 * time.Second

// Agentd is the daemon of one host.
type Agentd struct {
	config  Config
	data    *dataDir
	boot    string
	runners *runner.Set
	metrics *metrics
	silence time.Duration // pingLimit, unless a test sets it

	once sync.Once // releases the data directory
}

// Open locks the data directory, reads or makes the host's id, and checks the
// runners against this host. It does not touch the network. Errors are ErrInUse,
// runner.Faults, or name what is wrong and what to do. Release it with Run or
// Close.
func Open(config Config) (*Agentd, error) {
	config, err := config.prepare()
	if err != nil {
		return nil, fmt.Errorf("open agentd: %w", err)
	}
	runners, err := runner.Compile(config.Runners)
	if err != nil {
		return nil, fmt.Errorf("open agentd: %w", err)
	}
	boot := config.Boot
	if boot == "" {
		if boot, err = readBoot(); err != nil {
			return nil, fmt.Errorf("open agentd: %w", err)
		}
	}
	data, err := openDataDir(config.DataDir)
	if err != nil {
		return nil, fmt.Errorf("open agentd: %w", err)
	}
	m, err := newMetrics(config.Registerer)
	if err != nil {
		data.close()
		return nil, fmt.Errorf("open agentd: %w", err)
	}
	return &Agentd{config: config, data: data, boot: boot, runners: runners, metrics: m, silence: pingLimit}, nil
}

// Key is the host's stable id.
func (a *Agentd) Key() string { return a.data.key }

// Close releases the data directory of an Agentd that does not run. It may be
// called more than once.
func (a *Agentd) Close() { a.once.Do(a.data.close) }

// Run serves until ctx ends, then stops all agents, reports their ends and says
// good-bye, within ShutdownLimit and a few seconds. Call it once. It returns nil
// after an orderly end, and an error when the cluster will never take this host or
// when a process could not be killed.
func (a *Agentd) Run(ctx context.Context) error {
	defer a.Close()
	logger := a.config.Logger.Named("agentd")
	// Lives end after ctx does: their last words need a context of their own.
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)

	scans := proc.NewScanner()
	clear, cleared := context.WithTimeout(ctx, sweepLimit)
	defer cleared()
	if killed, left := scans.Sweep(a.data.key, clear.Done()); len(left) > 0 {
		return fmt.Errorf("clear the host: processes %v of an earlier agentd cannot be killed", left)
	} else if killed > 0 {
		logger.Warn("processes that an earlier agentd left behind were killed", "count", killed)
	}
	forker := proc.NewForker(scans)
	logs := output.NewDir(output.Config{Dir: a.data.logs(), MaxBytes: a.config.LogBytes, Keep: a.config.LogKeep})
	defer logs.Close()

	k := a.keeper(work, logs)
	k.launcher = forks{forker}
	var tasks sync.WaitGroup
	tasks.Go(func() { forker.Run(work) })
	listen, deaf := context.WithCancel(ctx)
	defer deaf()
	tasks.Go(func() { k.stream.run(listen) })

	stop, halt := context.WithCancel(ctx)
	defer halt()
	var failure error
	tasks.Go(func() {
		select {
		case failure = <-k.fatal:
			halt()
		case <-stop.Done():
		}
	})
	err := k.run(stop)
	deaf()
	halt()
	// From here on nobody sends the keeper anything that it must do.
	a.sayGoodbye(work, k)
	cancel(nil)
	k.tasks.Wait()
	k.outbox.tasks.Wait()
	tasks.Wait()
	return errors.Join(failure, err)
}

// keeper wires the parts together.
func (a *Agentd) keeper(ctx context.Context, logs *output.Dir) *keeper {
	logger := a.config.Logger.Named("agentd")
	host := vigilv1.NewHostAgentClient(a.config.Conn)
	k := &keeper{
		config: &a.config, log: logger, key: a.data.key, boot: a.boot, data: a.data, runners: a.runners,
		logs: logs, host: host, work: vigilv1.NewWorkClient(a.config.Conn), metrics: a.metrics, ctx: ctx,
		inbox: make(chan func(), 64), done: make(chan struct{}), fatal: make(chan error, 1),
		lives: map[uint32]*life{}, ended: map[uint32]uint64{},
		entry: entry{wanted: true, pauses: backoff{first: 200 * time.Millisecond, most: 5 * time.Second}},
	}
	k.outbox = &outbox{ctx: ctx, host: host, log: logger, metrics: a.metrics, begun: map[beaten]*delivery{},
		superseded: func(agent uint32, inc uint64) {
			k.send(func() {
				if l := k.lives[agent]; l != nil && l.inc == inc {
					k.supersede(l)
				}
			})
		}}
	k.stream = &stream{host: host, boot: a.boot, log: logger, metrics: a.metrics, logs: logs, silence: a.silence,
		registered: make(chan struct{}),
		orders:     func(o []*vigilv1.Order) { k.send(func() { k.take(o) }) },
		gone:       func() { k.send(k.enroll) }}
	return k
}

// sayGoodbye delivers the last reports and takes the host out of service.
func (a *Agentd) sayGoodbye(work context.Context, k *keeper) {
	ctx, cancel := context.WithTimeout(work, farewell)
	defer cancel()
	if !k.entry.registered {
		return
	}
	if !k.outbox.flush(ctx) {
		k.log.Warn("some exit reports were not delivered; the cluster will learn from the next inventory")
		return
	}
	_, err := k.host.LeaveHost(ctx, &vigilv1.LeaveHostRequest{Key: a.data.key, Boot: a.boot})
	if err != nil {
		k.log.Warn("good-bye was not delivered", "error", err)
		return
	}
	k.log.Info("host has left")
}
