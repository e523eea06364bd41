//go:build linux

package incidents

import (
	"context"
	"testing"
	"time"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// peaceful gives the stand to a test that harms no machine and changes no setting: such
// tests run at the same time, after all others.
func peaceful(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	return fleet(t)
}

// hand is one life of an agent without a process and without beats of its own: the
// test says every word for it.
type hand struct {
	w       *world
	speaker *vigilv1.Speaker
	id      uint32
}

// hand begins a life of an agent that is started by hand.
func (w *world) hand(slot string) *hand {
	w.t.Helper()
	got, err := w.work.Join(w.ctx(), &vigilv1.JoinRequest{Speaker: &vigilv1.Speaker{Agent: w.slot(slot)}})
	if err != nil {
		w.t.Fatalf("join: %v", err)
	}
	return &hand{w: w, id: got.GetAgentId(), speaker: &vigilv1.Speaker{Agent: got.GetAgent(),
		Incarnation: got.GetIncarnation()}}
}

// request is one beat of this life.
func (h *hand) request() *vigilv1.BeatRequest {
	return &vigilv1.BeatRequest{Agents: []uint32{h.id}, Incarnations: []uint64{h.speaker.GetIncarnation()},
		Kinds: []uint32{client.BeatLease}}
}

// beat beats once and gives the verdict: empty when the lease was renewed.
func (h *hand) beat() string {
	h.w.t.Helper()
	var verdict string
	h.w.eventually("a beat is answered", func() error { // the client never repeats one
		got, err := h.w.work.Beat(h.w.ctx(), h.request())
		if err != nil {
			return err
		}
		if e := got.GetExceptions(); len(e) > 0 {
			verdict = e[0].GetVerdict()
		}
		return nil
	})
	return verdict
}

// beats goes on beating until the end of the test or until it is stopped.
func (h *hand) beats() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(ttl / 4)
		defer ticker.Stop()
		for ctx.Err() == nil {
			call, end := context.WithTimeout(ctx, time.Second)
			_, _ = h.w.work.Beat(call, h.request()) // the next one comes soon
			end()
			select {
			case <-ticker.C:
			case <-ctx.Done():
			}
		}
	}()
	stop = func() { cancel(); <-done }
	h.w.t.Cleanup(stop)
	return stop
}

// claim takes a task and gives the number of the attempt.
func (h *hand) claim(task uint64) uint32 {
	h.w.t.Helper()
	got, err := h.w.work.Claim(h.w.ctx(), &vigilv1.ClaimRequest{Speaker: h.speaker, Task: task})
	if err != nil {
		h.w.t.Fatalf("claim: %v", err)
	}
	return got.GetAttempt()
}

// words are the three calls about a task that this life could make.
func (h *hand) words(task uint64, attempt uint32) map[string]func() error {
	request := func(text string) *vigilv1.WorkRequest {
		return &vigilv1.WorkRequest{Speaker: h.speaker, Task: task, Attempt: attempt, Text: text}
	}
	return map[string]func() error{
		"start":    func() error { _, err := h.w.work.StartTask(h.w.ctx(), request("")); return err },
		"progress": func() error { _, err := h.w.work.ProgressTask(h.w.ctx(), request("half of it")); return err },
		"complete": func() error {
			_, err := h.w.work.CompleteTask(h.w.ctx(), &vigilv1.CompleteTaskRequest{Speaker: h.speaker, Task: task,
				Attempt: attempt, Result: "by " + h.speaker.GetAgent()})
			return err
		},
	}
}

// say makes one of these calls, which must be accepted.
func (h *hand) say(word string, task uint64, attempt uint32) {
	h.w.t.Helper()
	if err := h.words(task, attempt)[word](); err != nil {
		h.w.t.Fatalf("%s: %v", word, err)
	}
}

// silent waits until the lease of the life has ended.
func (h *hand) silent() {
	h.w.t.Helper()
	slot := h.speaker.GetAgent()[len(h.w.name)+1:]
	h.w.eventually("the lease ends", func() error {
		for _, e := range h.w.events("agent.lease_ended") {
			if e.GetAgent() == h.speaker.GetAgent() && e.GetIncarnation() == h.w.incarnationOf(h) {
				return nil
			}
		}
		return errNotYet(h.w.agent(slot).GetLeaseLeft().String())
	})
}

// incarnationOf is the number of a life as events show it.
func (w *world) incarnationOf(h *hand) string {
	return client.FormatIncarnation(h.speaker.GetIncarnation())
}

// errNotYet is what an eventually waits for.
type errNotYet string

func (e errNotYet) Error() string { return "not yet: " + string(e) }
