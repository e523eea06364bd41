package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/hostile"
	"vigil/rpc/client"
)

// Exit codes.
const (
	crashed  = 3
	outOf    = 75 // quota
	childArg = "child"
)

// behaviour is what is wrong with an agent.
type behaviour struct {
	quiet, busy, slowStart, quota time.Duration
	hang, late, deaf, silent      bool
	trapTerm, fork, crashes       bool
	remember                      bool
	crash                         time.Duration // with crashes
	eat                           int           // MiB
	fail                          uint32        // attempts up to this one are given back
	after                         time.Duration // with fail; 0: it does not say when to try again
	attack                        string        // of package hostile; empty: none
	victim                        hostile.Victim
}

// also adds words; see the documentation of the command.
func (b behaviour) also(words string) (behaviour, error) {
	for _, word := range strings.Split(words, ",") {
		name, value, _ := strings.Cut(word, "=")
		var err error
		switch name {
		case "", "ok":
		case "quiet":
			b.quiet, err = time.ParseDuration(value)
		case "busy":
			b.busy, err = time.ParseDuration(value)
		case "slow-start":
			b.slowStart, err = time.ParseDuration(value)
		case "quota":
			b.quota, err = time.ParseDuration(value)
		case "crash":
			b.crashes = true
			b.crash, err = time.ParseDuration(value)
		case "eat":
			b.eat, err = strconv.Atoi(value)
		case "fail":
			var n uint64
			n, err = strconv.ParseUint(value, 10, 32)
			b.fail = uint32(n)
		case "after":
			b.after, err = time.ParseDuration(value)
		case "hostile":
			b.attack = value
		case "victim":
			b.victim, err = hostile.ParseVictim(value)
		case "hang":
			b.hang = true
		case "late":
			b.late = true
		case "deaf":
			b.deaf = true
		case "silent":
			b.silent = true
		case "trap-term":
			b.trapTerm = true
		case "fork":
			b.fork = true
		case "remember":
			b.remember = true
		default:
			err = fmt.Errorf("there is no such behaviour")
		}
		if err != nil {
			return b, fmt.Errorf("behaviour %q: %w", word, err)
		}
	}
	return b, nil
}

// begin does what comes before the life joins.
func (b behaviour) begin(ctx context.Context, folder, agent string) error {
	if b.eat > 0 {
		eaten = make([]byte, b.eat<<20)
		for i := 0; i < len(eaten); i += 4096 {
			eaten[i] = 1
		}
	}
	if b.fork {
		if err := leaveChildren(agent, b.trapTerm); err != nil {
			return err
		}
	}
	if b.quota > 0 {
		left, err := quotaLeft(folder, agent, b.quota)
		if err != nil {
			return err
		}
		if left > 0 {
			fmt.Printf("usage limit reached, try again in %d seconds\n", int(left.Seconds())+1)
			os.Exit(outOf)
		}
	}
	b.crashFrom(ctx)
	pause(ctx, b.slowStart)
	return nil
}

var eaten []byte

// crashFrom begins to count.
func (b behaviour) crashFrom(ctx context.Context) {
	if !b.crashes {
		return
	}
	if b.crash <= 0 {
		os.Exit(crashed)
	}
	go func() {
		pause(ctx, b.crash)
		os.Exit(crashed)
	}()
}

// quotaLeft tells how long the quota of an agent is used up.
func quotaLeft(folder, agent string, until time.Duration) (time.Duration, error) {
	lives, err := ledger.Read(folder)
	if err != nil {
		return 0, err
	}
	for _, l := range lives { // the first one first
		if l.Agent == agent {
			return until - time.Duration(ledger.Now()-l.Start), nil
		}
	}
	return 0, nil
}

// leaveChildren starts processes that outlive this one if nobody ends them. Their
// arguments name the agent.
func leaveChildren(agent string, trap bool) error {
	for _, own := range []bool{false, true} {
		cmd := exec.Command(os.Args[0], childArg, agent, strconv.FormatBool(trap))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: own}
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("leave a child: %w", err)
		}
	}
	return nil
}

// beChild is the life of such a process.
func beChild(args []string) {
	if len(args) > 1 && args[1] == "true" {
		signal.Ignore(syscall.SIGTERM)
	}
	time.Sleep(time.Hour)
}

// before does what goes wrong before a step of a task.
func (b behaviour) before(ctx context.Context, step string, job *client.Job, w *client.Worker) error {
	switch step {
	case "start":
		if b.silent {
			w.Detach()
			return block(ctx)
		}
		if b.late {
			return block(ctx)
		}
	case "progress":
		if b.hang {
			return block(ctx)
		}
		pause(ctx, b.quiet)
		for left := b.busy; left > 0 && ctx.Err() == nil; left -= time.Second / 2 {
			pause(ctx, min(left, time.Second/2))
			if err := job.Progress(ctx, "still at it"); err != nil {
				return nil // the next step tells
			}
		}
	}
	return nil
}

// block waits for the end of ctx.
func block(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// pause waits, but not beyond the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
