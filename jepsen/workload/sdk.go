package workload

import (
	"context"
	"sync"
	"time"

	"vigil/jepsen/history"
	"vigil/rpc/gen/vigilv1"
)

const (
	sdkRoom    = "sdk"
	sdkRole    = "work"
	sdkInGo    = 2  // workers within this process
	sdkSpare   = 3  // places of workers that were killed or stopped, until their leases end
	sdkBacklog = 60 // no more is created here while so many are open
)

// sdk is the workload of that name: workers of the packages for other languages, beside some in Go.
type sdk struct {
	s       *Set
	hands   hands
	home    context.CancelFunc
	resting chan struct{} // closed when nothing more is created
}

func newSDK(s *Set) load {
	w := &sdk{s: s, resting: make(chan struct{})}
	w.hands = hands{s: s, workload: "sdk", agent: sdkRoom + "/" + sdkRole + ".*"}
	w.hands.rest, w.home = context.WithCancel(s.life)
	return w
}

func (w *sdk) prepare(ctx context.Context) (err error) {
	if w.s.workers, err = w.s.sdkWorkers(); err != nil {
		return err
	}
	replicas := sdkInGo + len(w.s.workers) + sdkSpare
	return w.s.declare(ctx, sdkRoom, w.s.byHand(sdkRole, uint32(replicas)))
}

// run creates tasks and cancels some, beside those that the workers create. These go on after it: quiesce waits for
// them.
func (w *sdk) run(ctx context.Context) error {
	for range sdkInGo {
		p, beside := w.s.process("sdk"), w.s.process("sdk")
		w.s.background.Go(func() { w.hands.work(p, beside) })
	}
	for _, one := range w.s.workers {
		w.s.background.Go(func() { one.live(w.hands.rest, w.resting) })
	}
	const calm = 10 // machines have other things to do than to run interpreters
	creator, human := w.s.process("sdk"), w.s.process("sdk")
	var all sync.WaitGroup
	all.Go(func() {
		for creator.pace(ctx, calm) {
			if open, err := w.s.open(ctx, sdkRoom, ""); err == nil && open < sdkBacklog {
				w.create(creator, human)
			}
		}
	})
	all.Wait()
	close(w.resting)
	return nil
}

// create creates a task; every tenth a human cancels, maybe while somebody works on it.
func (w *sdk) create(p, human *process) {
	op := history.Op{Kind: "create", Key: sdkRole, Value: p.value()}
	_ = p.call(&op, func(ctx context.Context, a *asker) error { // the record tells
		t, err := a.fleet.CreateTask(ctx, &vigilv1.CreateTaskRequest{Room: sdkRoom, Role: sdkRole, Title: op.Value, By: by})
		op.Task, op.State = t.GetId(), state(t.GetState())
		return err
	})
	if op.Task == 0 || p.rand.IntN(10) > 0 || !pause(w.hands.rest, time.Duration(p.rand.IntN(300))*time.Millisecond) {
		return
	}
	cancel := history.Op{Kind: "cancel", Task: op.Task}
	_ = human.call(&cancel, func(ctx context.Context, a *asker) error { // the record tells
		t, err := a.fleet.CancelTask(ctx, &vigilv1.CancelTaskRequest{Task: op.Task, By: by})
		cancel.State, cancel.Rev = state(t.GetState()), t.GetRev()
		return err
	})
}

// quiesce waits until all tasks are finished and lists them.
func (w *sdk) quiesce(ctx context.Context) error {
	defer w.home()
	return w.s.drain(ctx, w.s.process("sdk"), sdkRoom)
}
