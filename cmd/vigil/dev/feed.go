package dev

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/people/events"
	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// say prints a line of the demo's own among the events.
func (f *fleet) say(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.quiet {
		return
	}
	line := fmt.Sprintf("%s  %s", time.Now().Format(time.TimeOnly), term.OneLine("** "+fmt.Sprintf(format, args...)))
	_ = f.app.Printf("%s\n", f.app.Screen.Paint("1;35", f.fit(line))) // nobody is there to hear of an error
}

func (f *fleet) fit(line string) string {
	if w := f.app.Screen.Width; w > 0 {
		return term.Cut(line, w)
	}
	return line
}

// greet says that all is up and what to try.
func (f *fleet) greet(ctx context.Context) error {
	took := time.Since(f.began)
	status, err := f.conn.Cluster.Status(ctx, &vigilv1.StatusRequest{})
	if err != nil {
		return err
	}
	agents, err := f.agents(ctx)
	if err != nil {
		return err
	}
	if f.context, err = announce(f.app, f.place.dir, f.place.identity(), f.place.apiAddrs()); err != nil {
		f.say("other terminals have to be told where this is: %v", err)
	}
	var b strings.Builder
	f.listParts(&b, took, status, agents)
	f.listTries(&b, status, agents)
	if f.options.chaos {
		fmt.Fprintf(&b, "\nChaos reigns; the same again with --seed %d.", f.options.seed)
	}
	b.WriteString("\nCtrl-C ends everything.\n\n")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.newest = status.GetLastEvent()
	for _, agent := range agents {
		f.joined[agent.GetName()] = agent.GetIncarnation()
	}
	return f.app.Printf("%s", b.String())
}

// listParts says what runs, and with which pids.
func (f *fleet) listParts(b *strings.Builder, took time.Duration, status *vigilv1.StatusResponse,
	agents []*vigilv1.Agent) {
	fmt.Fprintf(b, "%s\n\n", f.app.Screen.Bold(fmt.Sprintf("vigil is up after %.1fs: %d servers, %s, %d agents",
		took.Seconds(), len(f.servers), term.Plural(len(f.agentds), "host"), len(agents))))
	for i, srv := range f.place.servers {
		mark := ""
		if srv.ID == status.GetLeader() {
			mark = "  (leader)"
		}
		fmt.Fprintf(b, "  server %-11s pid %-7d  https://%s/%s\n", srv.ID, f.servers[i].pid(), srv.APIAddr, mark)
	}
	for i, h := range f.place.hosts {
		fmt.Fprintf(b, "  host %-13s pid %-7d  its daemon, agentd\n", h.name, f.agentds[i].pid())
		for _, agent := range agents {
			if agent.GetHost() == h.name && agent.GetPid() != 0 {
				fmt.Fprintf(b, "    agent %-10s pid %d\n", strings.TrimPrefix(agent.GetName(), devRoom+"/"),
					agent.GetPid())
			}
		}
	}
	for _, agent := range agents {
		if agent.GetPid() == 0 {
			fmt.Fprintf(b, "    agent %-10s starts when a task waits for it\n",
				strings.TrimPrefix(agent.GetName(), devRoom+"/"))
		}
	}
	fmt.Fprintf(b, "  files and logs     %s\n\n", f.place.dir)
	fmt.Fprintf(b, "All of it in a browser: %s\n"+
		"(once, within 15 minutes; `vigil ui` gives another link)\n\n", f.page.Link())
}

// listTries says what to try. Lines fit 80 columns.
func (f *fleet) listTries(b *strings.Builder, status *vigilv1.StatusResponse, agents []*vigilv1.Agent) {
	victim, leader := uint32(0), 0
	for _, agent := range agents {
		if victim == 0 {
			victim = agent.GetPid()
		}
	}
	if c := f.server(status.GetLeader()); c != nil {
		leader = c.pid()
	}
	first, last := f.place.hosts[0].name, f.place.hosts[len(f.place.hosts)-1].name
	b.WriteString("Try this in another terminal:\n\n")
	f.listSetup(b)
	for _, try := range [][2]string{
		{fmt.Sprintf("kill -9 %d", victim), "an agent: it is back at once, as its next life"},
		{fmt.Sprintf("kill -9 %d", leader), "the leader: another one takes over"},
		{fmt.Sprintf("kill -9 %d", f.agentds[0].pid()), "agentd of " + first + ": its agents go on"},
		{"vigil dev kill-host " + last, "a host: its agents move within some 11 s"},
		{"vigil dev start-host " + last, "switched on: it takes agents again"},
		{"vigil host drain " + first, "its agents move; `undrain` ends it"},
		{"vigil task create demo/words --text " + devHang, "its agent hangs and is restarted"},
		{"vigil agent list", "who lives where, on what task"},
		{"vigil agent explain demo/vet", "why it runs, or why not"},
		{"vigil events -f", "what you see below, complete"},
	} {
		fmt.Fprintf(b, "  %-28s %s\n", try[0], f.app.Screen.Faint("# "+try[1]))
	}
}

// listSetup says what another terminal needs to find the demo: mostly nothing, since it is the
// selected context.
func (f *fleet) listSetup(b *strings.Builder) {
	if exe, err := os.Executable(); err == nil {
		if found, err := exec.LookPath("vigil"); err != nil || found != exe {
			fmt.Fprintf(b, "  alias vigil=%s\n", f.place.path("bin", "vigil"))
		}
	}
	switch {
	case f.context == "":
		fmt.Fprintf(b, "  export VIGIL_ADDR=%s %s=%s\n", strings.Join(f.place.apiAddrs(), ","), cli.EnvIdentity,
			f.place.identity())
	case f.app.Getenv("VIGIL_ADDR") != "":
		b.WriteString("  unset VIGIL_ADDR\n")
	}
}

// feed prints events as they happen, until ctx ends.
func (f *fleet) feed(ctx context.Context) error {
	for {
		err := events.Watch(ctx, f.conn, &vigilv1.WatchEventsRequest{After: f.newest}, f.show)
		if ctx.Err() != nil {
			return nil
		}
		if client.From(err) == nil {
			return err // nobody reads the output any more
		}
		f.say("the feed of events was lost (%v) and is taken up again", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

// leftOut are events that say little to somebody who watches.
func leftOut(kind string) bool {
	switch kind {
	case "order.start", "order.stop", "server.announced", "agent.wanted", "task.started", "settings.changed":
		return true
	}
	return false
}

// show prints one event on one line.
func (f *fleet) show(e *vigilv1.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.newest = e.GetSeq()
	again := false // joined to wait for the next task
	if e.GetKind() == "agent.joined" {
		again = f.joined[e.GetAgent()] == e.GetIncarnation()
		f.joined[e.GetAgent()] = e.GetIncarnation()
	}
	if f.quiet || again || leftOut(e.GetKind()) {
		return nil
	}
	subject := e.GetAgent()
	for _, other := range []string{e.GetHost(), e.GetRoom()} {
		if subject == "" {
			subject = other
		}
	}
	if e.GetIncarnation() != "" && e.GetAgent() != "" && !strings.HasPrefix(e.GetKind(), "task.") {
		subject += " #" + e.GetIncarnation()
	}
	var about []string
	if e.GetTask() != 0 {
		about = append(about, fmt.Sprintf("task %d", e.GetTask()))
	}
	switch {
	case subject == "":
		subject = term.Tidy(e.GetText())
	case e.GetText() != "":
		about = append(about, term.Tidy(e.GetText()))
	}
	when := time.Now()
	if at := e.GetAt(); at != nil {
		when = at.AsTime().Local()
	}
	line := fmt.Sprintf("%s  %-18s %-20s %s", when.Format(time.TimeOnly), e.GetKind(), subject,
		term.OneLine(strings.Join(about, ": ")))
	return f.app.Printf("%s\n", f.app.Screen.Paint(eventColor(e.GetKind()), f.fit(strings.TrimRight(line, " "))))
}

// eventColor tells good news from bad.
func eventColor(kind string) string {
	switch kind {
	case "agent.exited", "agent.lease_ended", "agent.fence_ended", "agent.parked", "agent.unkillable", "host.lost",
		"host.surrendered", "host.confirmed_dead", "task.recovered", "task.failed", "task.quarantined",
		"server.diverged", "brake.set", "agent.restarted_stuck",
		"agent.needs_human", "room.canceled":
		return "31"
	case "agent.started", "agent.joined", "agent.adopted", "task.completed", "host.joined", "host.ready",
		"host.undrained", "brake.over":
		return "32"
	case "host.suspect", "host.returning", "host.drained", "host.gossip_blocked", "agent.start_limit",
		"agent.stopped", "agent.paused",
		"agent.left", "room.paused", "cluster.paused", "task.late_result", "agent.nudged", "agent.woken",
		"agent.interrupted", "room.stalling", "room.untaken":
		return "33"
	case "leader.established":
		return "1;33"
	}
	return "0"
}

// farewell sums up, if there was something, and silences the children.
func (f *fleet) farewell(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	status, err := f.conn.Cluster.Status(ctx, &vigilv1.StatusRequest{Stale: true})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.quiet = true
	if f.newest == 0 || err != nil {
		return
	}
	tasks := status.GetTasks()
	left := tasks["QUEUED"] + tasks["PENDING"] + tasks["ACKNOWLEDGED"] + tasks["IN_PROGRESS"]
	kept := ""
	if !f.place.temp {
		kept = "; everything is kept in " + f.place.dir
	}
	// nobody may be there
	_ = f.app.Printf("\n%d tasks completed, %d failed, %d quarantined, %d under way. Stopping%s.\n",
		tasks["COMPLETED"], tasks["FAILED"], tasks["QUARANTINED"], left, kept)
}
