package workload

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"vigil/jepsen/history"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

const (
	mailRoom    = "mail"
	mailRole    = "box"
	mailBoxes   = 3
	mailSenders = 2
)

// mail is the workload of that name.
type mail struct{ s *Set }

func newMail(s *Set) load { return &mail{s} }

func (m *mail) prepare(ctx context.Context) error {
	return m.s.declare(ctx, mailRoom, m.s.byHand(mailRole, mailBoxes))
}

func (m *mail) run(ctx context.Context) error {
	var all sync.WaitGroup
	for range mailSenders {
		p := m.s.process("mail")
		all.Go(func() {
			for p.pace(ctx, mailSenders+mailBoxes) {
				m.send(p, slot(mailRoom, mailRole, p.rand.IntN(mailBoxes)))
			}
		})
	}
	for n := range mailBoxes {
		d := &addressee{process: m.s.process("mail"), agent: slot(mailRoom, mailRole, n)}
		all.Go(func() {
			for d.pace(ctx, mailSenders+mailBoxes) {
				d.step(ctx)
			}
			d.leave()
		})
	}
	all.Wait()
	return nil
}

// send sends a mail to one agent, whether it is there or not. Nobody is reminded of
// low priority, so that a life gets each mail once.
func (m *mail) send(p *process, to string) {
	op := history.Op{Kind: "send", Key: to, Value: p.value()}
	if !strings.Contains(to, ".") {
		to += ".1" // the name alone is that of the whole role
	}
	_ = p.call(&op, func(ctx context.Context, a *asker) error {
		answer, err := a.mail.SendMail(ctx, &vigilv1.SendMailRequest{From: by, To: to, Subject: op.Value,
			Priority: "low"})
		for _, id := range answer.GetMails() {
			op.List = append(op.List, number(id))
		}
		return err
	})
}

// quiesce lets a new life of each agent read everything, and lists it.
func (m *mail) quiesce(ctx context.Context) error {
	for n := range mailBoxes {
		d := &addressee{process: m.s.process("mail"), agent: slot(mailRoom, mailRole, n)}
		for !d.drain(ctx) {
			if !pause(ctx, 200*time.Millisecond) {
				m.s.cfg.Say("mail: the mailbox of %s was not read to its end", d.agent)
				break
			}
		}
		d.leave()
	}
	return m.final(ctx, m.s.process("mail"))
}

// final records all mail of the room, as a list shows it.
func (m *mail) final(ctx context.Context, p *process) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 6*m.s.cfg.Timeout) // also when the time is over
	defer cancel()
	for after := uint64(0); ; {
		sent := history.Now()
		page, err := m.s.whole.mail.ListMail(ctx, &vigilv1.ListMailRequest{Room: mailRoom, After: after, Limit: 1000})
		at := history.Now()
		if err != nil {
			return fmt.Errorf("list mail: %w", err)
		}
		for _, x := range page.GetMails() {
			m.s.cfg.Record.Op(history.Op{Workload: p.workload, Process: p.id, Kind: "final", Call: sent,
				Return: at, Outcome: history.OK, Key: x.GetTo(), Value: x.GetSubject(), State: x.GetState(),
				List: []string{number(x.GetId())}})
		}
		if after = page.GetNextAfter(); after == 0 {
			return nil
		}
	}
}

// addressee is one agent without a host: life after life it reads its mail and
// acknowledges most of it.
type addressee struct {
	*process
	agent string
	life  *client.Worker // nil: it has to join
	got   []uint64       // by this life, not acknowledged
}

// step makes one call.
func (d *addressee) step(ctx context.Context) {
	if d.life == nil || d.life.Context().Err() != nil {
		d.join(ctx)
		return
	}
	switch n := d.rand.IntN(100); {
	case n < 3:
		d.life.Detach() // it beats no more, and its next life has to wait for the lease
		d.life, d.got = nil, nil
	case n < 6:
		d.leave()
	case n < 50 && len(d.got) > 0:
		d.ack()
	default:
		d.read("read")
	}
}

// join begins a new life. Joins are not recorded.
func (d *addressee) join(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, d.s.cfg.Timeout)
	defer cancel()
	if life, err := client.Join(ctx, d.s.whole.client, client.WorkerConfig{Agent: d.agent}); err == nil {
		d.life, d.got = life, nil
	}
}

func (d *addressee) leave() {
	if d.life == nil {
		return
	}
	ctx, cancel := context.WithTimeout(d.s.life, time.Second)
	defer cancel()
	_ = d.life.Leave(ctx, "it leaves") // else its lease ends
	d.life, d.got = nil, nil
}

func (d *addressee) speaker() *vigilv1.Speaker {
	return &vigilv1.Speaker{Agent: d.life.Agent(), Incarnation: d.life.Incarnation()}
}

// read takes unread mail and tells how much that was; -1: it had no answer. A mail
// that was there before is marked with a star.
func (d *addressee) read(kind string) int {
	op := history.Op{Kind: kind, Agent: d.life.Agent(), Incarnation: d.life.Incarnation()}
	err := d.call(&op, func(ctx context.Context, a *asker) error {
		answer, err := a.mail.ReadMail(ctx, &vigilv1.ReadMailRequest{Speaker: d.speaker(),
			Max: uint32(1 + d.rand.IntN(20))})
		for _, x := range answer.GetMails() {
			text := number(x.GetId())
			if x.GetRedelivered() {
				text += "*"
			}
			op.List = append(op.List, text)
			d.got = append(d.got, x.GetId())
		}
		return err
	})
	if err != nil {
		d.doubt(op.Outcome)
		return -1
	}
	return len(op.List)
}

// ack acknowledges one of what this life got; some is never acknowledged.
func (d *addressee) ack() {
	id := d.got[0]
	d.got = d.got[1:]
	if d.rand.IntN(10) == 0 {
		return
	}
	op := history.Op{Kind: "ack", Agent: d.life.Agent(), Incarnation: d.life.Incarnation(), List: []string{number(id)}}
	if err := d.call(&op, func(ctx context.Context, a *asker) error {
		_, err := a.mail.AckMail(ctx, &vigilv1.AckMailRequest{Speaker: d.speaker(), Mail: id})
		return err
	}); err != nil {
		d.doubt(op.Outcome)
	}
}

// doubt ends a life that was refused; one without an answer goes on.
func (d *addressee) doubt(outcome string) {
	if outcome == history.Failed {
		d.leave()
	}
}

// drain reads everything in a life that nothing was handed over to before.
func (d *addressee) drain(ctx context.Context) bool {
	d.leave()
	if d.join(ctx); d.life == nil {
		return false
	}
	for {
		switch n := d.read("drain"); {
		case n < 0:
			return false
		case n == 0:
			d.s.cfg.Record.Op(history.Op{Workload: d.workload, Process: d.id, Kind: "drained",
				Call: history.Now(), Return: history.Now(), Outcome: history.OK, Agent: d.life.Agent(),
				Incarnation: d.life.Incarnation()})
			return true
		}
	}
}
