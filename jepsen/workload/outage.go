package workload

import (
	"context"
	"errors"
	"sync"
	"time"

	"vigil/jepsen/history"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

const (
	outageRoom    = "outage"
	outageAgents  = 2  // of each role
	outageBacklog = 20 // no more tasks are created while a role has so many open
)

// outageRoles are roles that depend on something which may go down, each on its own.
var outageRoles = []string{"fetch", "build"}

// outageRules are those of its tasks. Waits are short, so that all is finished soon after the last
// outage.
var outageRules = history.Rules{Attempts: 4, Kills: 3, First: int64(time.Second), Most: int64(8 * time.Second)}

// outage is the workload of that name.
type outage struct {
	s     *Set
	waits bool // the cluster has been told how long tasks wait between attempts

	mu       sync.Mutex
	made     []uint64 // tasks that may not be finished, the newest last
	hopeless []uint64 // those that always fail
}

func newOutage(s *Set) load { return &outage{s: s} }

func (o *outage) prepare(ctx context.Context) error {
	_, err := o.s.whole.cluster.PutSettings(ctx, &vigilv1.PutSettingsRequest{By: by, Values: map[string]string{
		"retry_first": time.Duration(outageRules.First).String(), "retry_most": time.Duration(outageRules.Most).String()}})
	if o.waits = err == nil; err != nil {
		o.s.cfg.Say("outage: waits between attempts are not judged: %v", err) // older servers know none
	}
	var roles []*vigilv1.RoleSpec
	for _, name := range outageRoles {
		r := o.s.managed(outageRoom, name, outageAgents)
		r.AttemptLimit, r.KillLimit = outageRules.Attempts, outageRules.Kills
		roles = append(roles, r)
		o.s.dependents = append(o.s.dependents, outageRoom+"/"+name)
	}
	return o.s.declare(ctx, outageRoom, roles...)
}

func (o *outage) run(ctx context.Context) error {
	rules := outageRules
	if !o.waits {
		rules.First, rules.Most = 0, 0
	}
	p, now := o.s.process("outage"), history.Now()
	o.s.cfg.Record.Op(history.Op{Workload: "outage", Process: p.id, Kind: "rules", Call: now, Return: now,
		Outcome: history.OK, Key: outageRoom, Rules: &rules})
	human, clock := o.s.process("outage"), o.s.process("outage")
	var all sync.WaitGroup
	const processes = 4
	all.Go(func() {
		for p.pace(ctx, processes) {
			role := outageRoles[p.rand.IntN(len(outageRoles))]
			if open, err := o.s.open(ctx, outageRoom, role); err == nil && open < outageBacklog {
				o.create(p, role)
			}
		}
	})
	all.Go(func() {
		for human.pace(ctx, 20*processes) {
			o.some(human)
		}
	})
	all.Go(func() {
		for clock.pace(ctx, processes) {
			o.index(clock)
		}
	})
	all.Wait()
	return nil
}

// troubles are the texts of tasks and how often they come, in percent. Most succeed when nothing is
// down; some fail for a while, and few always.
var troubles = []struct {
	percent  int
	text     string
	hopeless bool
}{
	{74, "", false}, {8, "fail=1", false}, {6, "fail=1,after=1500ms", false}, {6, "fail=2", false},
	{3, "crash=50ms,quiet=1s", true}, {3, "fail=1000", true},
}

func (o *outage) create(p *process, role string) {
	n, at := p.rand.IntN(100), 0
	for ; n >= troubles[at].percent; at++ {
		n -= troubles[at].percent
	}
	op := history.Op{Kind: "create", Key: role, Value: p.value()}
	_ = p.call(&op, func(ctx context.Context, a *asker) error { // the record tells
		t, err := a.fleet.CreateTask(ctx, &vigilv1.CreateTaskRequest{Room: outageRoom, Role: role, Title: op.Value,
			Text: troubles[at].text, By: by})
		op.Task, op.State = t.GetId(), state(t.GetState())
		return err
	})
	if op.Task == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.made = append(o.made[max(0, len(o.made)-outageBacklog):], op.Task)
	if troubles[at].hopeless {
		o.hopeless = append(o.hopeless, op.Task)
	}
}

// some cancels one of the newest tasks.
func (o *outage) some(p *process) {
	o.mu.Lock()
	var task uint64
	if n := len(o.made); n > 0 {
		task = o.made[p.rand.IntN(n)]
	}
	o.mu.Unlock()
	if task != 0 {
		_ = o.cancel(p, task) // the record tells
	}
}

// cancel cancels a task by a human's word.
func (o *outage) cancel(p *process, task uint64) error {
	op := history.Op{Kind: "cancel", Task: task}
	return p.call(&op, func(ctx context.Context, a *asker) error {
		t, err := a.fleet.CancelTask(ctx, &vigilv1.CancelTaskRequest{Task: task, By: by})
		op.State, op.Rev = state(t.GetState()), t.GetRev()
		return err
	})
}

// index ties a log index to time. A server that knows no leader tells its own status, which may
// be old: only what the leader itself has told counts.
func (o *outage) index(p *process) {
	op := history.Op{Kind: "index"}
	_ = p.call(&op, func(ctx context.Context, a *asker) error { // the record tells
		st, err := a.cluster.Status(ctx, &vigilv1.StatusRequest{})
		if st.GetServer() == st.GetLeader() {
			op.Index = st.GetIndex()
		}
		return err
	})
}

// quiesce gives up tasks that always fail: where no others are left their role never opens, and
// they lose no attempt. It waits until all tasks are finished and lists them.
func (o *outage) quiesce(ctx context.Context) error {
	p := o.s.process("outage")
	for _, task := range o.hopeless {
		for {
			err := o.cancel(p, task)
			if err == nil || errors.Is(err, client.ErrConflict) || errors.Is(err, client.ErrNotFound) {
				break
			}
			if !pause(ctx, 200*time.Millisecond) {
				break
			}
		}
	}
	return o.s.drain(ctx, o.s.process("outage"), outageRoom)
}
