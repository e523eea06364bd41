//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"vigil/jepsen/nemesis"
	"vigil/jepsen/workload"
)

// options are the flags of jepsen run.
type options struct {
	time      time.Duration
	faults    int
	seed      uint64
	nemesis   string
	workloads string
	servers   int
	hosts     int
	agents    int
	ttl       time.Duration
	rate      float64
	out       string
	vigil     string
	older     string
	keep      bool
	logStore  string
	year      bool
}

// logStores are the forms of the logs of servers by what -log-store says.
var logStores = map[string][]string{"bolt": {"bolt"}, "wal": {"wal"}, "mixed": {"wal", "bolt"}}

// mostTime is what the certificate of whoever runs the stand lasts for: 12 h, with founding and draining.
const mostTime = 11 * time.Hour

// parse reads the flags of jepsen run. What is wrong is told with the remedy.
func parse(args []string, to io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("jepsen run", flag.ContinueOnError)
	f.SetOutput(to)
	f.DurationVar(&o.time, "time", 5*time.Minute, "how long faults are let loose")
	f.IntVar(&o.faults, "faults", 0,
		"end after so many faults instead, in rounds: after each all agents must come back")
	f.Uint64Var(&o.seed, "seed", 1, "what is drawn follows from it")
	f.StringVar(&o.nemesis, "nemesis", "",
		"lanes, kinds and patterns of kinds with commas between them; -NAME leaves out (default: all)")
	f.StringVar(&o.workloads, "workloads", "", "names with commas between them (default: all)")
	f.IntVar(&o.servers, "servers", 3, "how many servers, 3 or 5")
	f.IntVar(&o.hosts, "hosts", 3, "how many hosts, 0 to 5")
	f.IntVar(&o.agents, "agents", 3, "how many agents of hosts work in workload lifecycle, 1 to 100")
	f.DurationVar(&o.ttl, "ttl", 3*time.Second, "of leases and fences, 2s to 1m")
	f.Float64Var(&o.rate, "rate", 15, "calls a second that each workload begins, about")
	f.StringVar(&o.out, "out", "",
		"folder for record and report, which must not be there (default: a new one below bin/runs)")
	f.StringVar(&o.logStore, "log-store", "wal", "form of the logs of servers: bolt, wal or mixed")
	f.StringVar(&o.vigil, "vigil", "", "program to test instead of building it; built with -tags stand")
	f.StringVar(&o.older, "older", "",
		"revision of git that servers run at first, or a program; kinds that upgrade need it. One without identities "+
			"is tested in clear")
	f.BoolVar(&o.keep, "keep", false, "keep the data of servers and hosts also when every promise was kept")
	f.BoolVar(&o.year, "year", false,
		"let no faults loose but a year pass, with upgrades, losses, repairs and a restore: see README")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case f.NArg() > 0:
		return nil, fmt.Errorf("%q is no flag: see jepsen run -h", f.Arg(0))
	case o.time < time.Second || o.time > mostTime:
		return nil, fmt.Errorf("-time %s: 1s to 11h", o.time)
	case o.faults < 0 || o.faults > 100_000:
		return nil, fmt.Errorf("-faults %d: 0 to 100000", o.faults)
	case o.servers != 3 && o.servers != 5:
		return nil, fmt.Errorf("-servers %d: 3 or 5", o.servers)
	case o.hosts < 0 || o.hosts > 5:
		return nil, fmt.Errorf("-hosts %d: 0 to 5", o.hosts)
	case o.agents < 1 || o.agents > 100:
		return nil, fmt.Errorf("-agents %d: 1 to 100", o.agents)
	case o.ttl < 2*time.Second || o.ttl > time.Minute:
		return nil, fmt.Errorf("-ttl %s: 2s to 1m", o.ttl)
	case o.year && (o.older == "" || o.hosts < 2):
		return nil, errors.New("-year needs -older and two hosts")
	case logStores[o.logStore] == nil:
		return nil, fmt.Errorf("-log-store %s: bolt, wal or mixed", o.logStore)
	case o.rate < 1 || o.rate > 1000:
		return nil, fmt.Errorf("-rate %g: 1 to 1000", o.rate)
	}
	if _, err := nemesis.Select(words(o.nemesis)...); err != nil {
		return nil, fmt.Errorf("%w: see jepsen list", err)
	}
	for _, name := range words(o.workloads) {
		if !slices.Contains(workload.Names(), name) {
			return nil, fmt.Errorf("-workloads %s: there are %s", name, strings.Join(workload.Names(), ", "))
		}
	}
	return o, nil
}

// words splits what has commas between its parts.
func words(text string) (list []string) {
	for _, w := range strings.Split(text, ",") {
		if w = strings.TrimSpace(w); w != "" {
			list = append(list, w)
		}
	}
	return list
}

// chosen are the workloads of a run.
func (o *options) chosen() []string {
	names := words(o.workloads)
	if len(names) == 0 {
		names = workload.Names()
	}
	if o.hosts == 0 {
		names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(workload.Hosted(), n) })
	}
	return names
}

// command is what repeats the run.
func (o *options) command() string {
	length := []string{"-time", o.time.String()}
	if o.faults > 0 {
		length = []string{"-faults", strconv.Itoa(o.faults)}
	}
	if o.year {
		length = append(length, "-year")
	}
	list := slices.Concat([]string{"bin/jepsen", "run"}, length, []string{"-seed", strconv.FormatUint(o.seed, 10),
		"-servers", strconv.Itoa(o.servers), "-hosts", strconv.Itoa(o.hosts), "-agents", strconv.Itoa(o.agents),
		"-ttl", o.ttl.String(), "-rate", strconv.FormatFloat(o.rate, 'g', -1, 64), "-log-store", o.logStore})
	for _, f := range [][2]string{{"-nemesis", o.nemesis}, {"-workloads", o.workloads}, {"-older", o.older}} {
		if f[1] != "" {
			list = append(list, f[0], "'"+strings.ReplaceAll(f[1], "'", `'\''`)+"'")
		}
	}
	return strings.Join(list, " ")
}

// folder makes the folder of a run.
func (o *options) folder() (string, error) {
	path := o.out
	if path == "" {
		path = filepath.Join("bin", "runs", fmt.Sprintf("%s-seed%d", time.Now().Format("20060102-150405"), o.seed))
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("make folder of the run: %w", err)
	}
	// Agents run under other accounts than the driver: they pass through it.
	if err := os.Mkdir(path, 0o755); errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("-out %s is there already: name a new folder", path)
	} else if err != nil {
		return "", fmt.Errorf("make folder of the run: %w", err)
	}
	return path, nil
}
