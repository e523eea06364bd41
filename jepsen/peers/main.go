package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const usageText = `usage: peers compare -vigil PROGRAM [flags]   measure both sides in turn (compare -h: flags)
       peers run NAME [flags]                one measurement of a peer, as one JSON object

NAME is one of:
`

// measurement is what `peers run` can measure.
type measurement struct {
	name, short string
	defaults    options
	run         func(ctx context.Context, o *options, r *report) error
}

// options of one measurement.
type options struct {
	duration time.Duration // of one measurement, without the warm-up
	count    int           // watchers, or kills
	clients  []int         // callers at once
	rate     int           // a second
	conns    int           // connections that the callers share
	secure   bool          // TLS, with certificates on both ends
	spread   bool          // writers of etcd at all servers
	queue    bool          // the stream of NATS drops what is done
	dir      string        // where temporary data goes
}

// measurements lists what can be measured.
func measurements() []measurement {
	return []measurement{
		{"etcd-writes", "single puts, one in each call",
			options{clients: []int{1, 64, 1000}, duration: 8 * time.Second, conns: 4}, etcdWrites},
		{"etcd-wake", "from a put until a watcher sees it",
			options{count: 1000, rate: 1000, duration: 10 * time.Second, conns: 4}, etcdWake},
		{"etcd-failover", "from the death of the leader until a put is acknowledged",
			options{count: 20, rate: 50, conns: 3}, etcdFailover},
		{"nats-tasks", "whole lives of tasks: publish, fetch, acknowledge",
			options{clients: []int{512}, duration: 10 * time.Second, conns: 4}, natsTasks},
	}
}

// longest is how long a measurement may take.
const longest = 10 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// command runs one command.
func command(ctx context.Context, args []string, out, errs io.Writer) error {
	if len(args) == 0 {
		args = []string{"help"}
	}
	switch args[0] {
	case "serve":
		if len(args) != 2 {
			return errors.New("serve takes the file with the settings of a server")
		}
		return serve(args[1])
	case "run":
		return run(ctx, args[1:], out, errs)
	case "compare":
		return compare(ctx, args[1:], out, errs)
	case "help", "-h", "-help", "--help":
		fmt.Fprint(out, usageText)
		for _, m := range measurements() {
			fmt.Fprintf(out, "  %-14s %s\n", m.name, m.short)
		}
		return nil
	}
	return fmt.Errorf("there is no command %q: peers help lists them", args[0])
}

// run is `peers run`.
func run(ctx context.Context, args []string, out, errs io.Writer) error {
	if len(args) == 0 {
		return errors.New("run takes the name of a measurement: peers help lists them")
	}
	for _, m := range measurements() {
		if m.name != args[0] {
			continue
		}
		o, err := m.parse(args[1:], errs)
		if err != nil {
			return err
		}
		r, err := m.measure(ctx, o)
		if err != nil {
			return fmt.Errorf("measure %s: %w", m.name, err)
		}
		return json.NewEncoder(out).Encode(r)
	}
	return fmt.Errorf("there is no measurement %q: peers help lists them", args[0])
}

// measure does a measurement. All that it has started has ended when it returns.
func (m measurement) measure(ctx context.Context, o *options) (*report, error) {
	// As in vigil bench: the load shares the machine with the servers, so its garbage collector may use
	// memory to save processor time.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	r := &report{name: m.name}
	if err := m.run(ctx, o, r); err != nil {
		return nil, err
	}
	return r, ctx.Err()
}

// parse reads the flags of a measurement and tells what is wrong.
func (m measurement) parse(args []string, errs io.Writer) (*options, error) {
	o := m.defaults
	fl := flag.NewFlagSet("peers run "+m.name, flag.ContinueOnError)
	fl.SetOutput(errs)
	if o.duration > 0 {
		fl.DurationVar(&o.duration, "duration", o.duration, "how long to measure, after the warm-up")
	}
	if o.count > 0 {
		fl.IntVar(&o.count, "count", o.count, "watchers, or kills")
	}
	if o.rate > 0 {
		fl.IntVar(&o.rate, "rate", o.rate, "how many a second")
	}
	if len(o.clients) > 0 {
		fl.Func("clients", fmt.Sprintf("callers at once, several with commas between (default %v)", o.clients),
			func(text string) (err error) {
				o.clients, err = numbers(text)
				return err
			})
	}
	fl.IntVar(&o.conns, "conns", o.conns, "connections that the callers share")
	fl.BoolVar(&o.secure, "secure", false, "servers and clients speak TLS and show certificates")
	if strings.HasPrefix(m.name, "etcd-w") {
		fl.BoolVar(&o.spread, "spread", false, "write at all servers, not at the leader")
	}
	if strings.HasPrefix(m.name, "nats-") {
		fl.BoolVar(&o.queue, "queue", false, "a stream that drops what is done, not one that keeps it")
	}
	fl.StringVar(&o.dir, "dir", "", "where temporary data goes (default: the system's place)")
	if err := fl.Parse(args); err != nil {
		return nil, err
	}
	if fl.NArg() > 0 {
		return nil, fmt.Errorf("what is %q? %s takes only flags", fl.Arg(0), m.name)
	}
	return &o, m.check(&o)
}

// check tells what is out of range. What a measurement does not use is zero.
func (m measurement) check(o *options) error {
	for _, n := range []struct {
		name          string
		is, def, most int
	}{{"count", o.count, m.defaults.count, 100_000}, {"rate", o.rate, m.defaults.rate, 100_000},
		{"conns", o.conns, m.defaults.conns, 1000}} {
		if n.def > 0 && (n.is < 1 || n.is > n.most) {
			return fmt.Errorf("-%s %d: give 1 to %d", n.name, n.is, n.most)
		}
	}
	if m.defaults.duration > 0 && (o.duration <= 0 || o.duration > time.Minute) {
		return fmt.Errorf("-duration %s: give more than 0 and up to 1m", o.duration)
	}
	return nil
}

// numbers reads numbers of callers, with commas between.
func numbers(text string) ([]int, error) {
	var list []int
	for _, one := range strings.Split(text, ",") {
		n, err := strconv.Atoi(one)
		if err != nil || n < 1 || n > 100_000 {
			return nil, fmt.Errorf("%q: give 1 to 100000", one)
		}
		list = append(list, n)
	}
	return list, nil
}
