package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// comparison is one run of `peers compare`.
type comparison struct {
	vigil, self string // programs
	rounds      int
	duration    time.Duration
	secure      bool
	only        []string // names of jobs; none: all
	dir         string   // where temporary data goes, of both sides; it is removed
	errs        io.Writer

	notes    []string // about runs that had errors
	versions []string // of the peers
	machine  machine  // as the first run has found it
}

// compare is `peers compare`.
func compare(ctx context.Context, args []string, out, errs io.Writer) (err error) {
	c := &comparison{errs: errs}
	if err := c.parse(args, errs); err != nil {
		return err
	}
	if c.dir, err = os.MkdirTemp(c.dir, "vigil-peers-"); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.dir)) }()
	began := time.Now()
	all, err := c.run(ctx)
	if err != nil {
		return err
	}
	return c.write(out, all, began)
}

func (c *comparison) parse(args []string, errs io.Writer) (err error) {
	fl := flag.NewFlagSet("peers compare", flag.ContinueOnError)
	fl.SetOutput(errs)
	fl.StringVar(&c.vigil, "vigil", "", "the vigil program that is measured; needed")
	fl.IntVar(&c.rounds, "rounds", 3, "how often each measurement is made on both sides, 1 to 100")
	fl.DurationVar(&c.duration, "duration", 5*time.Second, "how long each measurement of a rate lasts, up to 1m")
	fl.BoolVar(&c.secure, "secure", false, "TLS with certificates on both ends, on both sides")
	fl.Func("only", "jobs with commas between: writes, wake, tasks, failover, restart, restart-alone (default: all)",
		func(text string) error {
			c.only = strings.Split(text, ",")
			for _, name := range c.only {
				if !slices.ContainsFunc(jobs(), func(j job) bool { return j.name == name }) {
					return fmt.Errorf("there is no job %q", name)
				}
			}
			return nil
		})
	fl.StringVar(&c.dir, "dir", "", "where temporary data goes (default: the system's place)")
	if err := fl.Parse(args); err != nil {
		return err
	}
	switch {
	case fl.NArg() > 0:
		return fmt.Errorf("what is %q? compare takes only flags", fl.Arg(0))
	case c.vigil == "":
		return errors.New("-vigil is missing: name the program that is measured")
	case c.rounds < 1 || c.rounds > 100:
		return fmt.Errorf("-rounds %d: give 1 to 100", c.rounds)
	case c.duration <= 0 || c.duration > time.Minute:
		return fmt.Errorf("-duration %s: give more than 0 and up to 1m", c.duration)
	}
	if c.vigil, err = exec.LookPath(c.vigil); err != nil {
		return fmt.Errorf("find vigil: %w", err)
	}
	if c.vigil, err = filepath.Abs(c.vigil); err != nil {
		return fmt.Errorf("find vigil: %w", err)
	}
	if c.self, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	return nil
}

// run measures both sides in turn: the peer first in every odd round, vigil first in every even one.
func (c *comparison) run(ctx context.Context) ([]*sides, error) {
	var all []*sides
	for _, r := range rows() {
		if c.wants(r.job) {
			all = append(all, &sides{row: r})
		}
	}
	for round := range c.rounds {
		for _, j := range jobs() {
			if !c.wants(j.name) {
				continue
			}
			peer, vigil, err := c.pair(ctx, j, round)
			if err != nil {
				return nil, err
			}
			for _, s := range all {
				if s.job != j.name {
					continue
				}
				if err := s.take(peer, vigil); err != nil {
					return nil, err
				}
			}
		}
	}
	return all, nil
}

func (c *comparison) wants(name string) bool {
	return len(c.only) == 0 || slices.Contains(c.only, name)
}

// take adds the figures of one pair.
func (s *sides) take(peer, vigil answer) error {
	v, err := vigil.figure(s.own)
	if err != nil {
		return err
	}
	if s.quoted[0] == 0 {
		p, err := peer.figure(s.peer)
		if err != nil {
			return err
		}
		s.peers = append(s.peers, p)
	}
	s.vigils = append(s.vigils, v)
	return nil
}

// pair runs one job on both sides.
func (c *comparison) pair(ctx context.Context, j job, round int) (peer, vigil answer, err error) {
	one := func() error {
		if j.peer == nil {
			return nil
		}
		args := append([]string{"run"}, j.peer...)
		if j.timed {
			args = append(args, "-duration", c.duration.String())
		}
		peer, err = c.ask(ctx, round, c.self, args)
		return err
	}
	other := func() error {
		args := append([]string{"bench"}, j.vigil...)
		if j.timed {
			args = append(args, "--duration", c.duration.String())
		}
		vigil, err = c.ask(ctx, round, c.vigil, append(args, "--json"))
		return err
	}
	if round%2 == 1 {
		one, other = other, one
	}
	if err := one(); err != nil {
		return nil, nil, err
	}
	return peer, vigil, other()
}

// answer is the JSON object that a measurement prints.
type answer map[string]any

// costOfOne is a figure that is computed: the processor time that one operation took in servers and load
// together, in microseconds. Unlike the others it hardly depends on what else the machine does.
const costOfOne = "cost of one"

// figure gives a number above 0: none of those that are compared can be less.
func (a answer) figure(name string) (float64, error) {
	if name == costOfOne {
		servers, err1 := a.figure("servers_cpu_cores")
		load, err2 := a.figure("bench_cpu_cores")
		rate, err3 := a.figure("per_second")
		return (servers + load) / rate * 1e6, errors.Join(err1, err2, err3)
	}
	v, ok := a[name].(float64)
	if !ok || v <= 0 {
		return 0, fmt.Errorf("the report of %v has %v as %s, not a number above 0", a["name"], a[name], name)
	}
	return v, nil
}

// ask runs one measurement to its end.
func (c *comparison) ask(ctx context.Context, round int, program string, args []string) (answer, error) {
	if c.secure {
		args = append(args, "--secure")
	}
	name := filepath.Base(program) + " " + strings.Join(args, " ")
	fmt.Fprintf(c.errs, "round %d of %d: %s\n", round+1, c.rounds, name)
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append(args, "--dir", c.dir)...)
	cmd.SysProcAttr = ownGroup()
	// It ends its servers itself; they end with it in any case.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", name, err, tail(errs.String()))
	}
	var a answer
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		return nil, fmt.Errorf("%s: read its report: %w", name, err)
	}
	c.learn(out.Bytes(), a, round, name)
	return a, nil
}

// learn keeps what the report says of machine and versions, and of errors.
func (c *comparison) learn(text []byte, a answer, round int, name string) {
	var of struct{ Machine machine }
	if json.Unmarshal(text, &of) == nil && c.machine.Cores == 0 {
		c.machine = of.Machine
	}
	if server, ok := a["server"].(string); ok && !slices.Contains(c.versions, server) {
		c.versions = append(c.versions, server)
	}
	if n, ok := a["errors"].(float64); ok && n > 0 {
		c.notes = append(c.notes, fmt.Sprintf("Round %d, %s: %.0f errors, one of them: %v.", round+1, name, n,
			a["first_error"]))
	}
}

// tail gives the last words of a program on one line, bounded.
func tail(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > 500 {
		text = text[len(text)-500:]
	}
	return strings.Join(strings.Fields(text), " ")
}

// write writes the tables, that of the ratios last.
func (c *comparison) write(w io.Writer, all []*sides, began time.Time) error {
	how := "in clear"
	if c.secure {
		how = "with TLS and certificates on both ends"
	}
	fmt.Fprintf(w, "%s, %s. %d rounds of %s in turn, %s; %s, load %.1f when it began and %.1f when it ended.\n\n",
		began.Format(time.DateOnly), strings.Join(append([]string{"vigil"}, c.versions...), ", "), c.rounds, c.duration,
		how, c.machine, c.machine.Load, readMachine().Load)
	for _, note := range c.notes {
		fmt.Fprintf(w, "%s\n\n", note)
	}
	if err := writeRounds(w, all); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return writeRatios(w, all)
}
