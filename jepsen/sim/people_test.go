package sim

import (
	"fmt"
	"sync"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// creating makes tasks all the time, and cancels some of them.
func (w *world) creating(n int) {
	rng := w.rng("creator", uint64(n))
	k := &client{w: w, from: outside}
	roles := []string{"builder", "builder", "builder", "reviewer", "reviewer", "tester", "tester", "scout",
		"writer", "keeper"}
	pause := 80 * time.Second
	if w.cfg.quick {
		pause = 16 * time.Second
	}
	for i := 0; nap(w.ctx, time.Duration(rng.Int64N(int64(pause)))); i++ {
		r := w.roles[roles[rng.IntN(len(roles))]]
		title := fmt.Sprintf("%d-%d", n, i)
		if rng.IntN(200) == 0 && !w.cfg.steady {
			title += " poison"
		}
		asked, began := time.Now(), w.since()
		out, err := k.do(w.ctx, fsm.CreateTask{Room: r.room, Role: r.name, Title: title,
			By: "sim", Priority: int32(rng.IntN(3))}, nil)
		w.ledger.story.asked("create", began, err == nil)
		if err != nil || out.Code != noun.OK {
			w.ledger.unsure(title)
			continue
		}
		w.ledger.waited("a write", time.Since(asked))
		w.titles.Store(out.Task, title)
		if w.cfg.mutant == losesTasks && i%50 == 7 {
			out.Task += 1_000_000
		}
		w.ledger.created(out.Task, title, out.Index)
		if rng.IntN(40) == 0 && !w.cfg.steady { // who works on it hears of it late, and is replaced
			id := out.Task
			nap(w.ctx, time.Duration(rng.IntN(120))*time.Second)
			if out, err = k.do(w.ctx, fsm.CancelTask{Task: id, By: "sim", Reason: "not needed"},
				nil); err == nil && out.Code == noun.OK {
				w.ledger.canceled(id, out.Index)
			}
		}
	}
}

// meddling is a human who stops, starts and restarts agents.
func (w *world) meddling() {
	rng := w.rng("human", 0)
	k := &client{w: w, from: outside}
	names := []string{}
	for _, room := range []string{"shop", "lab"} {
		for _, role := range []string{"builder", "reviewer", "tester", "scout", "writer", "keeper"} {
			if r := w.roles[role]; r.room == room {
				for i := range r.spec.Replicas {
					names = append(names, noun.AgentName(room, role, i+1))
				}
			}
		}
	}
	// One thing at a time is asked of an agent: a start that was asked for twice, since
	// its answer was lost, may be carried out after a stop that was asked for later.
	var asking sync.Map
	for nap(w.ctx, time.Duration(60+rng.IntN(600))*time.Second) {
		name := names[rng.IntN(len(names))]
		if _, open := asking.Load(name); open {
			continue
		}
		if rng.IntN(4) == 0 {
			w.ledger.pardoned(name)
			_, _ = k.do(w.ctx, fsm.RestartAgent{Agent: name, By: "sim"}, nil)
			w.ledger.count("restarts by hand")
			continue
		}
		out, err := k.do(w.ctx, fsm.SetAgent{Agent: name, Stop: true, By: "sim"}, nil)
		if err != nil || out.Code != noun.OK {
			continue
		}
		w.ledger.stop(name, out.Inc, out.Index)
		away := time.Duration(60+rng.IntN(1200)) * time.Second
		asking.Store(name, true)
		w.tasks.Go(func() {
			defer asking.Delete(name)
			nap(w.ctx, away)
			w.ledger.wanted(name)
			own := &client{w: w, from: outside}
			for w.ctx.Err() == nil {
				if _, err := own.do(w.ctx, fsm.SetAgent{Agent: name, By: "sim"}, nil); err == nil {
					nap(w.ctx, 10*time.Second) // requests are late by 8 s at most
					return
				}
			}
		})
	}
}
