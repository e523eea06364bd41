package workload

import (
	"context"
	"sync"

	"vigil/jepsen/history"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

const (
	lifecycleRoom     = "lifecycle"
	lifecycleAgents   = 3
	lifecycleCreators = 2
	lifecycleBatch    = 8   // tasks created at once, at most
	lifecycleBacklog  = 100 // no more are created while a role has so many open
)

// lifecycle is the workload of that name.
type lifecycle struct {
	s     *Set
	roles []string
	fast  int // agents under policy fast

	hands hands
	home  context.CancelFunc
}

func newLifecycle(s *Set) load {
	l := &lifecycle{s: s, roles: []string{"hand"}}
	if s.cfg.Runner != "" {
		l.fast = s.cfg.Agents / 5
		l.roles = append(l.roles, "work")
	}
	if l.fast > 0 {
		l.roles = append(l.roles, "fast")
	}
	l.hands = hands{s: s, workload: "lifecycle", agent: lifecycleRoom + "/hand.*"}
	l.hands.rest, l.home = context.WithCancel(s.life)
	return l
}

func (l *lifecycle) prepare(ctx context.Context) error {
	roles := []*vigilv1.RoleSpec{l.s.byHand("hand", lifecycleAgents)}
	if l.s.cfg.Runner != "" {
		roles = append(roles, l.s.managed(lifecycleRoom, "work", uint32(l.s.cfg.Agents-l.fast)))
	}
	if l.fast > 0 {
		roles = append(roles, l.s.hosted("fast", uint32(l.fast), "fast"))
	}
	return l.s.declare(ctx, lifecycleRoom, roles...)
}

// run creates tasks. The workers go on after it: quiesce waits for them.
func (l *lifecycle) run(ctx context.Context) error {
	for range lifecycleAgents {
		p, beside := l.s.process("lifecycle"), l.s.process("lifecycle")
		l.s.background.Go(func() { l.hands.work(p, beside) })
	}
	var all sync.WaitGroup
	for range lifecycleCreators {
		p := l.s.process("lifecycle")
		all.Go(func() {
			for p.pace(ctx, lifecycleCreators*lifecycleBatch) {
				role := l.roles[p.rand.IntN(len(l.roles))]
				if l.room(ctx, role) {
					l.create(p, role, 1+p.rand.IntN(lifecycleBatch))
				}
			}
		})
	}
	all.Wait()
	return nil
}

// room tells whether a role has room for more tasks.
func (l *lifecycle) room(ctx context.Context, role string) bool {
	open, err := l.s.open(ctx, lifecycleRoom, role)
	return err == nil && open < lifecycleBacklog
}

// create creates tasks in one batch: one Op for each.
func (l *lifecycle) create(p *process, role string, n int) {
	batch := &vigilv1.BatchRequest{}
	ops := make([]history.Op, n)
	for i := range ops {
		ops[i] = history.Op{Workload: p.workload, Process: p.id, Kind: "create", Key: role, Value: p.value()}
		batch.Writes = append(batch.Writes,
			&vigilv1.Write{Op: &vigilv1.Write_CreateTask{CreateTask: &vigilv1.CreateTaskRequest{
				Room: lifecycleRoom, Role: role, Title: ops[i].Value, By: by}}})
	}
	a := p.somebody()
	ctx, cancel := context.WithTimeout(l.s.life, l.s.cfg.Timeout)
	defer cancel()
	sent := history.Now()
	answer, err := a.work.Batch(ctx, batch)
	at := history.Now()
	lost := false
	for i := range ops {
		why := err
		if err == nil {
			result := answer.GetResults()[i]
			why, ops[i].Task = client.FromInfo(result.GetError()), result.GetTask()
		}
		ops[i].Via, ops[i].Call, ops[i].Return = a.name, sent, at
		ops[i].Outcome, ops[i].Error = outcome(why)
		lost = lost || ops[i].Outcome == history.Unknown
		l.s.cfg.Record.Op(ops[i])
	}
	if lost {
		p.renew()
	}
}

// quiesce waits until all tasks are finished and lists them.
func (l *lifecycle) quiesce(ctx context.Context) error {
	defer l.home()
	return l.s.drain(ctx, l.s.process("lifecycle"), lifecycleRoom)
}
