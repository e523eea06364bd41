package dev

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"time"

	"vigil/cmd/vigil/term"
)

// Bounds of chaos.
const (
	chaosLeast   = 2 * time.Second // between two blows
	chaosMost    = 7 * time.Second
	freezeServer = 6 * time.Second // at most
	freezeAgent  = 20 * time.Second
	darkLeast    = 4 * time.Second // a host is off
	darkMost     = 25 * time.Second
)

// chaos strikes the fleet at random. It never leaves less than a majority of
// servers nor more than one host off, and freezes an agent only when no other one is.
type chaos struct {
	fleet *fleet
	rand  *rand.Rand
	calm  time.Time // no agent is frozen after this
}

func newChaos(f *fleet) *chaos {
	return &chaos{fleet: f, rand: rand.New(rand.NewPCG(f.options.seed, 1))}
}

// run strikes until ctx ends and leaves nothing frozen.
func (c *chaos) run(ctx context.Context) error {
	blows := []struct {
		weight int
		strike func(context.Context) bool
	}{
		{5, c.killAgent}, {2, c.freezeAgent}, {2, c.killServer}, {2, c.freezeServer}, {2, c.killAgentd},
		{2, c.killHost},
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(chaosLeast + c.below(chaosMost-chaosLeast)):
		}
		pick := c.rand.IntN(15)
		for _, b := range blows {
			if pick -= b.weight; pick < 0 {
				b.strike(ctx)
				break
			}
		}
	}
}

// below picks a duration.
func (c *chaos) below(d time.Duration) time.Duration { return time.Duration(c.rand.Int64N(int64(d))) }

// agent picks a running agent's process, 0 when there is none.
func (c *chaos) agent(ctx context.Context) (name string, pid int) {
	agents, err := c.fleet.agents(ctx)
	if err != nil {
		return "", 0
	}
	type target struct {
		name string
		pid  int
	}
	var list []target
	for _, a := range agents {
		if pid := int(a.GetPid()); a.GetProcess() == "running" && ours(pid) {
			list = append(list, target{a.GetName(), pid})
		}
	}
	if len(list) == 0 {
		return "", 0
	}
	t := list[c.rand.IntN(len(list))]
	return t.name, t.pid
}

// ours tells whether the process is an agent of a demo: a pid may have been used
// again since it was reported. Where processes cannot be looked at, it is.
func ours(pid int) bool {
	if pid <= 1 {
		return false
	}
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		return true
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && bytes.Contains(line, []byte("\x00dev-agent\x00"))
}

func (c *chaos) killAgent(ctx context.Context) bool {
	name, pid := c.agent(ctx)
	if pid == 0 || syscall.Kill(pid, syscall.SIGKILL) != nil {
		return false
	}
	c.fleet.say("chaos: killed agent %s (pid %d)", name, pid)
	return true
}

func (c *chaos) freezeAgent(ctx context.Context) bool {
	if time.Now().Before(c.calm) {
		return false
	}
	name, pid := c.agent(ctx)
	if pid == 0 || syscall.Kill(pid, syscall.SIGSTOP) != nil {
		return false
	}
	span := time.Second + c.below(freezeAgent)
	c.calm = time.Now().Add(span)
	c.fleet.say("chaos: froze agent %s (pid %d) for %s", name, pid, term.Short(span))
	go func() {
		select {
		case <-ctx.Done():
		case <-time.After(span):
		}
		if ours(pid) {
			_ = syscall.Kill(pid, syscall.SIGCONT) // it may have been replaced meanwhile
		}
	}()
	return true
}

// server picks a server when all of them are well: one may fail at a time.
func (c *chaos) server() *child {
	for _, s := range c.fleet.servers {
		if !s.well() {
			return nil
		}
	}
	return c.fleet.servers[c.rand.IntN(len(c.fleet.servers))]
}

func (c *chaos) killServer(context.Context) bool {
	s := c.server()
	if s == nil {
		return false
	}
	pid := s.pid()
	if !s.signal(syscall.SIGKILL) {
		return false
	}
	c.fleet.say("chaos: killed %s (pid %d)", s.name, pid)
	return true
}

func (c *chaos) freezeServer(ctx context.Context) bool {
	s := c.server()
	if s == nil || !s.freeze() {
		return false
	}
	span := time.Second + c.below(freezeServer-time.Second)
	c.fleet.say("chaos: froze %s (pid %d) for %s", s.name, s.pid(), term.Short(span))
	go func() {
		select {
		case <-ctx.Done():
		case <-time.After(span):
		}
		s.thaw()
	}()
	return true
}

// host picks a host when all of them are well; nil: one is not.
func (c *chaos) host() (devHost, *child) {
	for i, d := range c.fleet.agentds {
		if !d.well() || c.fleet.place.hosts[i].whyOff() != "" {
			return devHost{}, nil
		}
	}
	i := c.rand.IntN(len(c.fleet.agentds))
	return c.fleet.place.hosts[i], c.fleet.agentds[i]
}

func (c *chaos) killAgentd(context.Context) bool {
	_, d := c.host()
	if d == nil {
		return false
	}
	pid := d.pid()
	if !d.signal(syscall.SIGKILL) {
		return false
	}
	c.fleet.say("chaos: killed %s (pid %d); its agents go on", d.name, pid)
	return true
}

// killHost switches a host off for a while, when there is another one.
func (c *chaos) killHost(ctx context.Context) bool {
	h, d := c.host()
	if d == nil || len(c.fleet.agentds) < 2 {
		return false
	}
	toll, err := h.switchOff(ctx)
	if err != nil {
		return false
	}
	span := darkLeast + c.below(darkMost-darkLeast)
	c.fleet.say("chaos: killed host %s for %s: %s", h.name, term.Short(span), toll)
	go func() {
		select {
		case <-ctx.Done():
		case <-time.After(span):
		}
		_ = h.switchOn() // somebody may have been faster
	}()
	return true
}
