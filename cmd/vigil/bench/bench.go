package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"time"
)

// Options of one run. The zero value of a number means the benchmark's default.
type Options struct {
	// Addrs are API addresses of a cluster to measure; none: three servers are
	// started for the run.
	Addrs []string
	// Program is this binary, from which servers and agents are started.
	Program string
	// Dir is where temporary data is put; empty: the system's place.
	Dir string
	// Config is a configuration file for the servers that are started; empty: their
	// defaults.
	Config string
	// Debug makes the servers that are started show their profiles, where they can.
	Debug bool
	// Profile is a folder for processor profiles of all measurements; empty: none.
	Profile string
	// Secure: the servers that are started have identities, and speak TLS.
	Secure bool
	// Keep leaves the data and logs of the servers in Dir.
	Keep bool

	Duration time.Duration // of one measurement, without the warm-up
	Count    int           // how many of what the benchmark is about
	Clients  []int         // how many callers at once
	Batch    int           // how many in one call
	Rate     int           // a second
	TTL      time.Duration // lease of the agents
	Conns    int           // client connections that the callers share
	Single   bool          // one agent a call
	Managed  bool          // agents started by orders instead of by hand
	Busy     time.Duration // keep all processors busy for so long instead; 0: do not

	// Progress is told what is going on; may be nil.
	Progress func(format string, args ...any)
}

// Spec describes one benchmark.
type Spec struct {
	Name, Short, Long string
	// Uses names the options that matter: duration, count, clients, batch, rate,
	// ttl, conns, single, managed, busy.
	Uses []string
	// CountHelp says what Count counts.
	CountHelp string
	// Defaults of the options that matter.
	Defaults Options
	// Config is put into the configuration file of the servers that are started.
	Config string
	// Own: it kills servers, so it never runs on a cluster of somebody else.
	Own bool
	// Secure: the servers that are started have identities in any case.
	Secure bool
	// Alone: it needs no servers, and measures parts of one in this process.
	Alone bool

	run func(context.Context, *run) error
}

// All lists the benchmarks.
func All() []*Spec {
	return []*Spec{beatsSpec(), tasksSpec(), wakeSpec(), writesSpec(), waitersSpec(),
		snapshotSpec(), fullSpec(), failoverSpec(), restartSpec(), idleSpec(), hostlossSpec(),
		wantedSpec(), deletesSpec(), ondemandSpec(), laggardSpec(), reconnectSpec()}
}

// Find gives the benchmark of that name, nil when there is none.
func Find(name string) *Spec {
	for _, s := range All() {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// ErrOptions marks options that make no sense.
var ErrOptions = errors.New("wrong options")

// check fills in defaults and tells what is wrong.
func (s *Spec) check(o Options) (Options, error) {
	d := s.Defaults
	bad := func(format string, args ...any) (Options, error) {
		return o, fmt.Errorf("%w: %s", ErrOptions, fmt.Sprintf(format, args...))
	}
	if s.Own && len(o.Addrs) > 0 {
		return bad("benchmark %s kills servers and runs only on its own: leave --addr out", s.Name)
	}
	if s.Alone && len(o.Addrs) > 0 {
		return bad("benchmark %s measures no servers: leave --addr out", s.Name)
	}
	if o.Managed && len(o.Addrs) > 0 {
		return bad("managed agents need other settings than a cluster in use has: leave --addr or --managed out")
	}
	if o.Duration < 0 || o.Duration > time.Hour {
		return bad("duration %s: give a time up to 1h", o.Duration)
	}
	if o.Busy < 0 || o.Busy > 24*time.Hour {
		return bad("busy %s: give a time up to 24h", o.Busy)
	}
	for _, n := range []struct {
		name string
		v    *int
		def  int
		most int
	}{
		{"count", &o.Count, d.Count, 10_000_000}, {"batch", &o.Batch, d.Batch, maxBatch},
		{"rate", &o.Rate, d.Rate, 1_000_000}, {"conns", &o.Conns, d.Conns, 1000},
	} {
		if *n.v == 0 {
			*n.v = n.def
		}
		if *n.v < 0 || *n.v > n.most {
			return bad("%s %d: give 1 to %d", n.name, *n.v, n.most)
		}
	}
	if o.Duration == 0 {
		o.Duration = d.Duration
	}
	if o.TTL == 0 {
		o.TTL = d.TTL
	}
	if o.TTL < 0 || o.TTL > 24*time.Hour || o.TTL != 0 && o.TTL < 2*time.Second {
		return bad("ttl %s: give 2s to 24h", o.TTL)
	}
	if len(o.Clients) == 0 {
		o.Clients = slices.Clone(d.Clients)
	}
	for _, n := range o.Clients {
		if n < 1 || n > 100_000 {
			return bad("clients %d: give 1 to 100000", n)
		}
	}
	if o.Conns == 0 {
		o.Conns = 1
	}
	return o, nil
}

// maxBatch is how much one call carries at most.
const maxBatch = 4096

// run is one benchmark under way.
type run struct {
	Options
	spec   *Spec
	stand  *stand
	report *Report
	tag    string // in the names of rooms, so that two runs do not meet

	profiled  int // measurements of which profiles were taken
	elections int // that nothing called for
}

// say reports progress.
func (r *run) say(format string, args ...any) {
	if r.Progress != nil {
		r.Progress(format, args...)
	}
}

// Run runs a benchmark to its end. Everything that it has started has ended when
// it returns. The error wraps ErrOptions when nothing was tried.
func (s *Spec) Run(ctx context.Context, o Options) (_ *Report, err error) {
	if o, err = s.check(o); err != nil {
		return nil, err
	}
	if o.Profile != "" {
		o.Debug = true
		if err := os.MkdirAll(o.Profile, 0o755); err != nil {
			return nil, fmt.Errorf("make folder for profiles: %w", err)
		}
	}
	// The load shares the machine with the servers: its garbage collector may use
	// memory to save processor time.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	config := s.Config
	if o.Config != "" {
		text, err := os.ReadFile(o.Config)
		if err != nil {
			return nil, fmt.Errorf("%w: read configuration: %w", ErrOptions, err)
		}
		config = string(text)
	}
	r := &run{Options: o, spec: s, tag: newTag(), report: newReport(s.Name)}
	if s.Alone {
		if err := s.run(ctx, r); err != nil {
			return nil, fmt.Errorf("run benchmark %s: %w", s.Name, err)
		}
		return r.report, nil
	}
	r.say("starting three servers")
	if r.stand, err = openStand(ctx, &r.Options, config, s.Secure || o.Secure); err != nil {
		return nil, fmt.Errorf("start servers: %w", err)
	}
	err = s.run(ctx, r)
	if err != nil {
		err = fmt.Errorf("run benchmark %s: %w%s", s.Name, err, r.stand.lastWords())
	}
	r.say("stopping")
	if e := r.stand.close(); err == nil && e != nil {
		err = fmt.Errorf("stop servers: %w", e)
	}
	if err != nil {
		return nil, err
	}
	return r.report, nil
}
