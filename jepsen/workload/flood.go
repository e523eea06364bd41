package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/jepsen/history"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// The budgets leave room for all others; floods of long texts fill the share of their room.
const (
	floodRoom  = "flood"
	floodRole  = "sink"
	floodBox   = "box"  // for mail
	floodSlot  = "slot" // for what agents keep
	floodSlots = 200    // with all their values, more than the share
	floodShare = 5      // percent
)

// floods are what one room is flooded with.
var floods = []struct {
	key     string
	setting string
	budget  uint64
	text    uint64
	floor   uint64 // percent of the share that texts may take in any case
	pour    func(*Set) (pour, error)
}{
	{"tasks", "budget_tasks", 480 << 20, 120 << 10, 60, newTaskFlood},
	{"mail", "budget_mail", 40 << 20, 15 << 10, 60, newMailFlood},
	// The agents themselves, which have joined before, take some of the share.
	{"values", "budget_agents", 12 << 20, 4000, 20, newValueFlood},
}

// pour puts texts into the room, and takes them out again.
type pour interface {
	// add puts one in and gives its number.
	add(ctx context.Context, a *asker, title, text string) (uint64, error)
	remove(ctx context.Context, a *asker, n uint64) error
}

// flood is the workload of that name.
type flood struct {
	s     *Set
	pours []pour // parallel to floods
}

func newFlood(s *Set) load { return &flood{s: s} }

func (f *flood) prepare(ctx context.Context) error {
	values := map[string]string{"budget_room_share": fmt.Sprint(floodShare)}
	for _, x := range floods {
		values[x.setting] = fmt.Sprintf("%dMiB", x.budget>>20)
	}
	if _, err := f.s.whole.cluster.PutSettings(ctx, &vigilv1.PutSettingsRequest{By: by, Values: values}); err != nil {
		return fmt.Errorf("set budgets: %w", err)
	}
	slots := f.s.byHand(floodSlot, floodSlots)
	slots.Ttl = durationpb.New(24 * time.Hour) // nobody beats for them
	err := f.s.declare(ctx, floodRoom, f.s.byHand(floodRole, 1), f.s.byHand(floodBox, 1), slots)
	if err != nil {
		return err
	}
	for _, x := range floods {
		p, err := x.pour(f.s)
		if err != nil {
			return fmt.Errorf("prepare the flood of %s: %w", x.key, err)
		}
		f.pours = append(f.pours, p)
	}
	return nil
}

// run fills each budget, takes half of it out, and begins anew.
func (f *flood) run(ctx context.Context) error {
	var all sync.WaitGroup
	for i, x := range floods {
		p := f.s.process("flood")
		now, share := history.Now(), x.budget/100*floodShare
		f.s.cfg.Record.Op(history.Op{Workload: "flood", Process: p.id, Kind: "budget", Call: now,
			Return: now, Outcome: history.OK, Key: x.key, Share: share, Floor: share / 100 * x.floor, TextSize: x.text})
		text := strings.Repeat("water ", int(x.text/6)+1)[:x.text]
		all.Go(func() { p.flood(ctx, x.key, text, f.pours[i]) })
	}
	all.Wait()
	return nil
}

func (f *flood) quiesce(context.Context) error { return nil }

func (p *process) flood(ctx context.Context, key, text string, into pour) {
	var open []uint64
	drain := 0
	for p.pace(ctx, len(floods)) {
		if drain > 0 && len(open) > 0 {
			op := history.Op{Kind: "cancel", Key: key, Task: open[0]}
			if p.call(&op, func(ctx context.Context, a *asker) error { return into.remove(ctx, a, op.Task) }) == nil {
				open, drain = open[1:], drain-1
			}
			continue
		}
		op := history.Op{Kind: "create", Key: key, Value: p.value()}
		err := p.call(&op, func(ctx context.Context, a *asker) (err error) {
			op.Task, err = into.add(ctx, a, op.Value, text)
			return err
		})
		if err == nil {
			open = append(open, op.Task)
		}
		if errors.Is(err, client.ErrFull) {
			drain = (len(open) + 1) / 2
		}
	}
}

// taskFlood is of tasks that nobody does.
type taskFlood struct{}

func newTaskFlood(*Set) (pour, error) { return taskFlood{}, nil }

func (taskFlood) add(ctx context.Context, a *asker, title, text string) (uint64, error) {
	t, err := a.fleet.CreateTask(ctx, &vigilv1.CreateTaskRequest{Room: floodRoom, Role: floodRole,
		Title: title, Text: text, By: by})
	return t.GetId(), err
}

func (taskFlood) remove(ctx context.Context, a *asker, n uint64) error {
	_, err := a.fleet.CancelTask(ctx, &vigilv1.CancelTaskRequest{Task: n, By: by})
	return err
}

// mailFlood is of mail to one agent, which acknowledges it late.
type mailFlood struct{ s *Set }

func newMailFlood(s *Set) (pour, error) { return &mailFlood{s}, nil }

func (m *mailFlood) add(ctx context.Context, a *asker, title, text string) (uint64, error) {
	answer, err := a.mail.SendMail(ctx, &vigilv1.SendMailRequest{From: by, To: floodRoom + "/" + floodBox + ".1",
		Subject: title, Body: text, Priority: "low"})
	if err != nil || len(answer.GetMails()) == 0 {
		return 0, err
	}
	return answer.GetMails()[0], nil
}

// remove lets a short life of the agent acknowledge a mail.
func (m *mailFlood) remove(ctx context.Context, a *asker, n uint64) error {
	life, err := client.Join(ctx, m.s.whole.client, client.WorkerConfig{Agent: floodRoom + "/" + floodBox})
	if err != nil {
		return err
	}
	speaker := &vigilv1.Speaker{Agent: life.Agent(), Incarnation: life.Incarnation()}
	_, err = a.mail.AckMail(ctx, &vigilv1.AckMailRequest{Speaker: speaker, Mail: n})
	_ = life.Leave(ctx, "it has acknowledged") // else its lease ends
	return err
}

// valueFlood is of what agents keep for their next life. A number is that of an agent, from 1.
type valueFlood struct {
	s     *Set
	lives []*vigilv1.Speaker
	next  int
}

func newValueFlood(s *Set) (pour, error) {
	v := &valueFlood{s: s, lives: make([]*vigilv1.Speaker, floodSlots)}
	for n := range v.lives {
		if err := v.join(s.life, n); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (v *valueFlood) join(ctx context.Context, n int) error {
	agent := slot(floodRoom, floodSlot, n)
	answer, err := v.s.whole.work.Join(ctx, &vigilv1.JoinRequest{Speaker: &vigilv1.Speaker{Agent: agent}})
	if err != nil {
		return err
	}
	v.lives[n] = &vigilv1.Speaker{Agent: agent, Incarnation: answer.GetIncarnation()}
	return nil
}

// add goes round: what was put in first is taken out first.
func (v *valueFlood) add(ctx context.Context, a *asker, _, text string) (uint64, error) {
	n := v.next
	v.next = (v.next + 1) % floodSlots
	_, err := a.work.SetResume(ctx, &vigilv1.SetResumeRequest{Speaker: v.lives[n], Resume: text})
	return uint64(n + 1), err
}

func (v *valueFlood) remove(ctx context.Context, a *asker, n uint64) error {
	_, err := a.work.SetResume(ctx, &vigilv1.SetResumeRequest{Speaker: v.lives[n-1]})
	return err
}
