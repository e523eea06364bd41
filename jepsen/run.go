//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"vigil/jepsen/check"
	"vigil/jepsen/disk"
	"vigil/jepsen/history"
	"vigil/jepsen/nemesis"
	"vigil/jepsen/stand"
	"vigil/jepsen/workload"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// calmFor is how long the workloads go on after the last fault was healed, before
// everything is drained: long enough for leases that end wrongly to end, and in long
// runs for agents that never come back to be told from those that take their time.
func calmFor(ttl, storm time.Duration) time.Duration {
	return max(3*ttl+5*time.Second, min(storm/4, check.DefaultBounds(ttl).Agents+5*time.Second))
}

// drainFor bounds what may be waited for at the end.
const drainFor = 90 * time.Second

// settings keep budgets out of the way: everything has to come back soon after it was
// killed many times. Budgets are judged by the incidents.
func settings(ttl time.Duration) map[string]string {
	return map[string]string{
		"ttl": ttl.String(), "host_ttl": ttl.String(), "stop_grace": (ttl / 5).String(), "accept_limit": "3s",
		"breaker_starts": "1000", "breaker_window": "5s", "healthy_after": "2s", "attempt_limit": "0",
		"kill_limit":   "0",
		"brake_agents": "0", "flap_window": "10s", "flap_pause": "1s",
		"mark_every": "250", // servers compare their states also in a short run
	}
}

// limits make logs short, so that snapshots are made and sent.
var limits = map[string]string{"snapshot_entries": "4000", "trailing_logs": "500"}

// driver is one run.
type driver struct {
	*options
	folder string
	out    io.Writer
	record *history.Recorder
	run    history.Run
	stand  *stand.Stand
	struck atomic.Int64 // faults so far

	mu    sync.Mutex // of out
	began time.Time
}

// say tells people how it goes.
func (d *driver) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fmt.Fprintf(d.out, "%6.1fs  "+format+"\n", append([]any{time.Since(d.began).Seconds()}, args...)...)
}

// perform is a run, from the first process to the verdict.
func perform(ctx context.Context, o *options, folder string, out io.Writer) (int, error) {
	d := &driver{options: o, folder: folder, out: out, began: time.Now()}
	if err := d.perform(ctx); err != nil {
		return failed, fmt.Errorf("%w\nwhat there is of the run is in %s", err, folder)
	}
	code, err := judge(folder, out)
	if err == nil && code == kept && !o.keep {
		err = d.tidy()
	}
	return code, err
}

func (d *driver) perform(ctx context.Context) (err error) {
	kinds, err := nemesis.Select(words(d.nemesis)...)
	if d.year {
		kinds, err = yearKinds()
	}
	if err != nil {
		return err
	}
	config, err := standIn(filepath.Join(d.folder, programs), d.options)
	if err != nil {
		return err
	}
	config.Folder, config.Servers, config.Hosts = d.folder, d.servers, d.hosts
	config.Settings, config.Limits, config.LogStores = settings(d.ttl), limits, logStores[d.logStore]
	if d.older != "" {
		config.LogStores = nil // as the older build has it
	}
	if d.year {
		config.BackupEvery = backupsEvery
		if err := os.Setenv("VIGIL_STAND_CERT_LIFE", d.certLife().String()); err != nil { // machines get it from here
			return err
		}
	}
	d.equip(&config, kinds)
	if d.record, err = history.Create(d.folder); err != nil {
		return err
	}
	if d.stand, err = stand.Open(config); err != nil {
		return errors.Join(err, d.record.Close())
	}
	d.say("%d servers and %d hosts are on", d.servers, d.hosts)
	defer func() { err = errors.Join(err, d.stand.Close()) }()
	defer func() { err = errors.Join(err, d.record.Close()) }()
	work, err := d.work()
	if err != nil {
		return err
	}
	set, err := workload.Open(work, d.chosen())
	if err != nil {
		return err
	}
	end := sync.OnceValue(set.Close)
	defer func() { err = errors.Join(err, end()) }()
	start, cancel := context.WithTimeout(ctx, drainFor)
	defer cancel()
	if err := set.Prepare(start); err != nil {
		return fmt.Errorf("prepare workloads: %w", err)
	}
	if err := d.strike(ctx, set, kinds); err != nil {
		return errors.Join(err, d.conclude(set)) // what there is can be judged
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainFor)
	defer cancel()
	if err := set.Quiesce(drain); err != nil {
		return fmt.Errorf("drain workloads: %w", err)
	}
	if err := d.conclude(set); err != nil || !d.year {
		return err
	}
	if err := end(); err != nil { // nobody watches a restore, which gives up what was written since
		return err
	}
	return d.dayBefore(ctx)
}

// conclude writes what was run.
func (d *driver) conclude(set *workload.Set) error {
	d.run.Ended = history.Now()
	d.run.Fenced = set.Fenced()
	return history.WriteRun(d.folder, d.run)
}

func (d *driver) work() (workload.Config, error) {
	c := workload.Config{Addrs: d.stand.Addrs(), TLS: d.stand.TLS(), Record: d.record, TTL: d.ttl,
		Seed: d.seed, Rate: d.rate, Agents: d.agents, Say: d.say}
	if d.hosts > 0 {
		c.Runner = stand.Runner
	}
	folder := filepath.Join(d.folder, workers)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return c, fmt.Errorf("make folder of workers: %w", err)
	}
	access, err := d.stand.Access(folder)
	c.SDK = &workload.SDK{Folder: folder, Ledger: d.stand.Ledger.Folder, Access: access}
	return c, err
}

// strike has the workloads ask and the nemeses strike, for as long as was asked for,
// and lets the workloads go on for a while when everything is healed.
func (d *driver) strike(ctx context.Context, set *workload.Set, kinds []*nemesis.Kind) error {
	conn, field, err := d.field()
	if err != nil {
		return err
	}
	defer conn.Close()
	field.Dependents = set.Dependents()
	for _, w := range set.Workers() {
		field.Workers = append(field.Workers, w)
	}
	able := d.able(field, kinds)
	if len(able) == 0 {
		return errors.New("none of the kinds of faults is possible here")
	}
	d.describe(kinds)
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var asking sync.WaitGroup
	var worked error
	asking.Go(func() { worked = set.Run(work) })
	// Everything has joined and worked once before anything is broken.
	field.Pause(ctx, 2*time.Second)
	d.run.Began = history.Now()
	go d.watch(work)
	var struck error
	if d.year {
		struck = d.live(ctx, field, able)
	} else {
		struck = d.storm(ctx, nemesis.Config{Field: field, Kinds: able, Seed: d.seed})
	}
	d.run.Calm = history.Now()
	d.say("%d faults, all healed", d.struck.Load())
	if struck == nil {
		field.Pause(context.WithoutCancel(ctx), calmFor(d.ttl, time.Duration(d.run.Calm-d.run.Began)))
	}
	stop()
	asking.Wait()
	if struck != nil {
		struck = fmt.Errorf("the stand failed: %w", struck)
	}
	return errors.Join(struck, worked)
}

// field is what kinds act on, over a connection of its own, which the caller closes.
func (d *driver) field() (*client.Client, *nemesis.Field, error) {
	conn, err := client.Open(client.Config{Addrs: d.stand.Addrs(), Name: "nemesis", RetryFor: 10 * time.Second,
		TLS: d.stand.TLS()})
	if err != nil {
		return nil, nil, err
	}
	return conn, &nemesis.Field{Stand: d.stand, Fleet: vigilv1.NewFleetClient(conn),
		Cluster: vigilv1.NewClusterClient(conn), Trust: vigilv1.NewTrustClient(conn), TTL: d.ttl,
		Room: "lifecycle", Say: d.say, Older: d.olderProgram()}, nil
}

// aRound is how many faults there are between two times in which all is healed and
// everything must come back.
const aRound = 30

// storm lets faults loose for as long as was asked for, or so many of them in rounds.
func (d *driver) storm(ctx context.Context, c nemesis.Config) error {
	if d.faults == 0 {
		ctx, calm := context.WithTimeout(ctx, d.time)
		defer calm()
		c.Record = d.note
		return nemesis.Run(ctx, c)
	}
	for ctx.Err() == nil {
		round, calm := context.WithCancel(ctx)
		end := min(d.struck.Load()+aRound, int64(d.faults))
		c.Record = func(f history.Fault) {
			d.note(f)
			if d.struck.Load() >= end {
				calm()
			}
		}
		err := nemesis.Run(round, c)
		calm()
		if err != nil || d.struck.Load() >= int64(d.faults) {
			return err
		}
		rest := history.Rest{From: history.Now()}
		d.recover(ctx, c.Field)
		rest.To = history.Now()
		d.run.Rests = append(d.run.Rests, rest)
		c.Seed += 1 << 32 // other faults in the next round
	}
	return nil
}

// recover waits until everything seems to run, or must have. What did not is found in
// the record.
func (d *driver) recover(ctx context.Context, f *nemesis.Field) {
	limit := check.DefaultBounds(d.ttl).Agents + 5*time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for f.Pause(ctx, 500*time.Millisecond) {
		list, err := f.Fleet.ListAgents(ctx, &vigilv1.ListAgentsRequest{Room: f.Room, Limit: 1000})
		if err == nil && !slices.ContainsFunc(list.GetAgents(), func(a *vigilv1.Agent) bool {
			return a.GetManaged() && (a.GetProcess() != "running" || a.GetParticipant() == "DISCONNECTED")
		}) {
			break
		}
	}
	f.Pause(context.WithoutCancel(ctx), 2*time.Second) // so that looks and ledgers show it
}

// note records a fault.
func (d *driver) note(f history.Fault) {
	d.record.Fault(f)
	d.struck.Add(1)
	// Only the lane of servers upgrades, and tells its faults itself.
	if f.Lane == nemesis.Servers && d.older != "" && d.run.Upgraded == 0 &&
		!slices.ContainsFunc(d.stand.Servers, d.outdated) {
		d.run.Upgraded = f.To
		d.say("all servers are upgraded")
	}
}

func (d *driver) outdated(sv *stand.Server) bool { return sv.Program == d.olderProgram() }

// watch tells every half minute how far it is.
func (d *driver) watch(ctx context.Context) {
	ticker := time.NewTicker(30 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			d.say("%d faults so far", d.struck.Load())
		}
	}
}

// able are the kinds that are possible on this stand; the others are told.
func (d *driver) able(field *nemesis.Field, kinds []*nemesis.Kind) (list []*nemesis.Kind) {
	for _, k := range kinds {
		if k.Needs != nil {
			if why := k.Needs(field); why != "" {
				d.say("left out: %s (%s)", k.Name, why)
				continue
			}
		}
		if k.Lane == nemesis.Host && d.hosts == 0 {
			continue
		}
		list = append(list, k)
		d.run.Kinds = append(d.run.Kinds, k.Name)
	}
	return list
}

// describe fills in what is known before the first fault.
func (d *driver) describe(kinds []*nemesis.Kind) {
	lanes := map[string]bool{}
	for _, k := range kinds {
		if !lanes[k.Lane] {
			lanes[k.Lane] = true
			d.run.Lanes = append(d.run.Lanes, k.Lane)
		}
	}
	for _, sv := range d.stand.Servers {
		d.run.Servers = append(d.run.Servers, sv.Name)
	}
	for _, h := range d.stand.Hosts {
		d.run.Hosts = append(d.run.Hosts, h.Name)
	}
	d.run.Command, d.run.Revision, d.run.Older, d.run.Seed = d.command(), revision(), d.older, d.seed
	d.run.TTL, d.run.Settings, d.run.BeganAt = int64(d.ttl), settings(d.ttl), time.Now().UTC().Format(time.RFC3339)
}

func (d *driver) olderProgram() string {
	if d.older == "" {
		return ""
	}
	return filepath.Join(d.folder, programs, olderOne)
}

// tidy removes what only a broken run needs: programs, and data of machines. Logs
// stay.
func (d *driver) tidy() error {
	errs := []error{os.RemoveAll(filepath.Join(d.folder, programs))}
	for _, name := range append(d.run.Servers, d.run.Hosts...) {
		errs = append(errs, os.RemoveAll(filepath.Join(d.folder, name, "data")))
		errs = append(errs, os.RemoveAll(filepath.Join(d.folder, name, "disk"))) // behind data, where disks can fail
	}
	return errors.Join(errs...)
}

// equip gives the stand the disks, clocks and spare servers that the chosen kinds of
// faults need.
func (d *driver) equip(c *stand.Config, kinds []*nemesis.Kind) {
	c.Spares = 2
	for _, k := range kinds {
		switch {
		case k.Name == "servers_moved":
			c.Spares = max(c.Spares, d.servers)
		case k.Lane == nemesis.Clocks:
			c.Clocks = d.vigil == "" // only a program that we have built has clocks that can be set
		case k.Lane == nemesis.Disks || k.Name == "all_unsynced_lost":
			c.Disks = disk.Missing() == ""
		}
	}
}
