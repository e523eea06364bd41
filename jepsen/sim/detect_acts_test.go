package sim

import (
	"fmt"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// What is done from outside, to hosts, rooms and mailboxes.

// agents are the names of a part's agents.
func (p *part) agents() (list []string) {
	for i := range p.spec.Replicas {
		list = append(list, noun.AgentName(p.room, p.name, i+1))
	}
	return list
}

// restarting is a human who restarts agents that do not end when they are asked to.
func (c *cast) restarting(p *part) {
	rng, k := c.w.rng("restarts", 0), &client{w: c.w, from: outside}
	for i := 0; nap(c.w.ctx, time.Duration(6+rng.IntN(12))*time.Minute); i++ {
		name := p.agents()[i%int(p.spec.Replicas)]
		if !c.at(name) {
			continue
		}
		c.lookout.fell(name, p)
		_, _ = k.do(c.w.ctx, fsm.RestartAgent{Agent: name, By: "sim"}, nil)
	}
}

// at tells that a process of an agent runs.
func (c *cast) at(agent string) bool {
	c.w.ledger.mu.Lock()
	defer c.w.ledger.mu.Unlock()
	return len(c.w.ledger.agent(agent).running) > 0
}

// on lists the agents of a part whose processes run on a host.
func (c *cast) on(p *part, n int) (list []string) {
	c.w.ledger.mu.Lock()
	defer c.w.ledger.mu.Unlock()
	for _, name := range p.agents() {
		for _, at := range c.w.ledger.agent(name).running {
			if at == n {
				list = append(list, name)
			}
		}
	}
	return list
}

// killing takes one host of a part after the other away, for 10 min.
func (c *cast) killing(p *part) {
	c.losing(p, func(h *host) {
		h.stop()
		nap(c.w.ctx, 10*time.Minute)
		h.start(true)
	})
}

// tearing cuts them off.
func (c *cast) tearing(p *part) {
	c.losing(p, func(h *host) { c.w.cutHost(h, nil, 6*time.Minute) })
}

func (c *cast) losing(p *part, lose func(*host)) {
	rng, hosts := c.w.rng("losses "+p.name, 0), c.labeled(p.spec.Labels[0])
	for i := 0; nap(c.w.ctx, time.Duration(20+rng.IntN(20))*time.Minute); i++ {
		h := hosts[i%len(hosts)]
		for _, name := range c.on(p, h.n) {
			c.lookout.fell(name, p)
		}
		lose(h)
	}
}

// mailing is a human who writes to agents that never look into their mailboxes.
func mailing(priority noun.MailPriority) func(*cast, *part) {
	return func(c *cast, p *part) {
		rng, k := c.w.rng("mail "+p.name, 0), &client{w: c.w, from: outside}
		for i := 0; nap(c.w.ctx, time.Duration(6+rng.IntN(6))*time.Minute); i++ {
			name := p.agents()[i%int(p.spec.Replicas)]
			if c.lookout.open(name) {
				continue
			}
			mail := fsm.SendMail{From: "ann", To: fmt.Sprintf("%s/%s.%d", p.room, p.name,
				i%int(p.spec.Replicas)+1), Subject: "please look", Priority: priority}
			if out, err := k.do(c.w.ctx, mail, nil); err == nil && out.Code == noun.OK {
				c.lookout.fell(name, p)
			}
		}
	}
}

// reopening is a human who brings back what the conversation watchdog has canceled, and
// says nothing more.
func (c *cast) reopening(p *part) {
	c.lookout.fell(p.room, p)
	_, _ = (&client{w: c.w, from: outside}).do(c.w.ctx, fsm.CreateTask{Room: p.room, Role: p.name, Title: p.kind,
		By: "sim"}, nil)
	for nap(c.w.ctx, 30*time.Second) {
		if !c.lookout.open(p.room) {
			nap(c.w.ctx, 2*time.Minute)
			c.lookout.fell(p.room, p)
			c.helped(p, p.room)
		}
	}
}

// helped is what a human does where vigil has called one.
func (c *cast) helped(p *part, subject string) {
	k := &client{w: c.w, from: outside}
	var cmd fsm.Command = fsm.RestartAgent{Agent: subject, By: "sim"}
	if subject == p.room {
		cmd = fsm.ReopenRoom{Room: p.room, By: "sim"}
	}
	for c.w.ctx.Err() == nil {
		if _, err := k.do(c.w.ctx, cmd, nil); err == nil {
			break
		}
	}
	if st := c.w.ready(time.Minute); st != nil {
		var list []noun.EscalationID
		st.rep.Read(func(s *fsm.View) {
			for e := range s.Escalations(0) {
				if e.Subject == subject && e.State != noun.EscalationClosed {
					list = append(list, e.ID)
				}
			}
		})
		for _, id := range list {
			_, _ = k.do(c.w.ctx, fsm.CloseEscalation{Escalation: id, By: "sim"}, nil)
		}
	}
}

// sickParts are the roles of all illnesses, each in a room of its own.
func sickParts() (list []*part) {
	all := append(illnesses(), promptIllnesses()...)
	for n := range all {
		x := &all[n]
		p := &part{name: fmt.Sprintf("sick-%d", n), kind: x.kind, spec: x.spec, watch: x.watch, open: x.open,
			play: x.play, ill: x, every: 20 * time.Minute}
		p.room = "room-" + p.name
		p.spec.Name, p.spec.Replicas = p.name, 3
		if p.spec.Labels == nil {
			p.spec.Labels = rack
		}
		if p.spec.Runner == "none" {
			p.every = 0
		} else {
			p.spec.Runner = "ai"
		}
		list = append(list, p)
	}
	return list
}
