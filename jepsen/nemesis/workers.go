//go:build linux

package nemesis

import (
	"context"
	"math/rand/v2"
	"syscall"

	"vigil/jepsen/history"
	"vigil/jepsen/stand"
)

// workerKinds are what may happen to agents that nobody keeps alive.
func workerKinds() []*Kind {
	return []*Kind{
		{Name: "worker_killed", Lane: Workers, Needs: workers, Strike: onWorker(workerKilled),
			Says: "A worker of the SDKs gets SIGKILL; its task waits for the end of its lease, and a new life begins."},
		{Name: "worker_stopped", Lane: Workers, Needs: workers, Strike: onWorker(workerStopped),
			Says: "A worker of the SDKs does not run for 0.3 to 3 TTL, and must stop when its life is over."},
		{Name: "worker_told_to_end", Lane: Workers, Needs: workers, Strike: onWorker(workerTold),
			Says: "A worker of the SDKs gets SIGTERM: it gives back its task and leaves."},
	}
}

func workers(f *Field) string {
	if len(f.Workers) == 0 {
		return "there is no worker in another language: it takes workload sdk"
	}
	return ""
}

// onWorker strikes one worker that has joined.
func onWorker(do func(ctx context.Context, f *Field, w Worker, r *rand.Rand, t *Touched) string) strike {
	return func(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
		w := f.Workers[r.IntN(len(f.Workers))]
		agent := w.Agent()
		if agent == "" {
			return Struck{}, ErrNobody
		}
		t := &Touched{}
		note := do(ctx, f, w, r, t)
		return t.Struck(agent + note), nil
	}
}

func workerKilled(_ context.Context, _ *Field, w Worker, _ *rand.Rand, t *Touched) string {
	defer t.BeginAgent(history.Killed, history.Client, w.Agent())()
	_ = w.Signal(syscall.SIGKILL) // it may have ended by now
	return ""
}

func workerStopped(ctx context.Context, f *Field, w Worker, r *rand.Rand, t *Touched) string {
	span := f.Span(r, 0.3, 3)
	defer t.BeginAgent(history.Stopped, history.Client, w.Agent())()
	_ = w.Signal(syscall.SIGSTOP) // it may have ended by now
	f.Pause(ctx, span)
	_ = w.Signal(syscall.SIGCONT) // or it was never stopped
	return " for " + round(span)
}

// workerTold excuses nothing but the end of its lease, when its good-bye finds no leader.
func workerTold(_ context.Context, _ *Field, w Worker, _ *rand.Rand, t *Touched) string {
	defer t.BeginAgent(history.Told, history.Client, w.Agent())()
	_ = w.Signal(syscall.SIGTERM) // it may have ended by now
	return ""
}
