package bench

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/rpc/client"
)

// Below: load, what the ledger says, and the end of the hosts.

// busy keeps all processors busy and counts suspicions.
func (x *loss) busy(ctx context.Context) {
	x.mu.Lock()
	before := x.doubted
	x.mu.Unlock()
	spinners := 2 * runtime.NumCPU()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(spinners + runtime.NumCPU()))
	ctx, cancel := context.WithTimeout(ctx, x.Busy)
	defer cancel()
	var all sync.WaitGroup
	began := time.Now()
	for range spinners {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for n := 0; ctx.Err() == nil; n++ {
				for i := range 1_000_000 {
					n ^= i
				}
			}
		})
	}
	for ctx.Err() == nil {
		pause(ctx, 5*time.Second)
		x.say("processors busy for %s of %s", time.Since(began).Round(time.Second), x.Busy)
	}
	all.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.report.Seconds = time.Since(began).Seconds()
	x.report.set("busy_threads", spinners)
	x.report.set("false_suspicions", x.doubted-before)
}

// judge adds what the ledger shows.
func (x *loss) judge(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	lives, err := ledger.Read(x.ledger)
	if err != nil {
		return err
	}
	v := ledger.Judge(lives,
		ledger.Rules{Fenced: func(agent string) bool { return strings.HasPrefix(agent, x.tag+"/fenced") }})
	x.report.set("ttl_ms", x.TTL)
	x.report.set("overlaps", len(v.Overlaps)+len(v.Late)+len(v.Doubles))
	x.report.set("agents", 2*lossAgents)
	x.report.set("lives", v.Lives)
	for _, f := range v.Broken() {
		x.report.fail(1, errors.New(f.String()))
	}
	return nil
}

// end ends what runs on the hosts, in good order as far as they can.
func (x *loss) end() error {
	var errs []error
	var all sync.WaitGroup
	for _, h := range x.hosts {
		if h.daemon != nil {
			all.Go(func() { h.daemon.stop(daemonLimit) })
		}
	}
	all.Wait()
	for _, h := range x.hosts {
		if h.daemon != nil {
			_, err := x.kill(h)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// The ledger of the agents, see RunAgent. Runners may not set VIGIL_ names.
const (
	envLedger = "BENCH_LEDGER"
	envHost   = "BENCH_HOST"
)

// keepLedger notes that this agent runs until ctx ends, when the benchmark wants it.
func keepLedger(ctx context.Context, cfg client.WorkerConfig, getenv func(string) string) error {
	folder := getenv(envLedger)
	if folder == "" {
		return nil
	}
	w, err := ledger.Create(folder, cfg.Agent, cfg.Incarnation, getenv(envHost), os.Getpid())
	if err != nil {
		return err
	}
	go func() {
		for ctx.Err() == nil && w.Tick() == nil {
			time.Sleep(ledger.TickEvery)
		}
	}()
	return nil
}

// family lists the descendants of a process, parents first.
func family(parents map[int]int, root int) []int {
	list := []int{root}
	for i := 0; i < len(list); i++ {
		var children []int
		for pid, parent := range parents {
			if parent == list[i] {
				children = append(children, pid)
			}
		}
		slices.Sort(children)
		list = append(list, children...)
	}
	return list
}
