package traces

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// world is a state that is driven by commands, and followed by servers.
type world struct {
	t     *testing.T
	s     *fsm.State
	index uint64
	leads bool
}

func (w *world) Read(fn func(*fsm.View)) { fn(&w.s.View) }
func (w *world) Leads() bool             { return w.leads }

func (w *world) do(c fsm.Command) noun.Outcome {
	w.index++
	return w.s.Apply(&fsm.Entry{Index: w.index, Term: 1, Stint: 1, Stamp: noun.Time(w.index) * noun.Time(time.Second),
		Wall: noun.Wall(w.index) * noun.Wall(time.Second), Requests: []fsm.Request{{Cmd: c}}}).Outcomes[0]
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, s: fsm.New()}
	w.do(fsm.LeaderEstablished{Server: "a"})
	w.do(fsm.RaiseLevel{Level: fsm.NewestLevel})
	return w
}

func (w *world) follower(send func(span)) *Follower {
	f := newFollower(w, func() string { return "c" }, send)
	f.now = func() time.Time { return time.Unix(int64(w.index), 0) }
	return f
}

// run does many random things with tasks of a role, and calls after each.
func (w *world) run(r *rand.Rand, steps int, after func()) {
	w.do(fsm.ApplyRoom{Room: "web", By: "t", Roles: []noun.RoleSpec{{Name: "a", Replicas: 3, AttemptLimit: 3}}})
	speakers := map[string]fsm.Speaker{}
	for range steps {
		name := "web/a"
		if n := r.IntN(3); n > 0 {
			name = fmt.Sprintf("web/a.%d", n+1)
		}
		id := noun.TaskID(1 + r.IntN(30))
		work := fsm.Work{Speaker: speakers[name]}
		if a := w.s.AgentByName(name); a != nil && a.Task != 0 {
			work.Task, work.Attempt = a.Task, w.s.Task(a.Task).Attempt
		}
		switch r.IntN(9) {
		case 0, 1:
			w.do(fsm.CreateTask{Room: "web", Role: "a", Title: "x", By: "t"})
		case 2:
			if out := w.do(fsm.Join{Speaker: fsm.Speaker{Agent: name}}); out.Code == noun.OK {
				speakers[name] = fsm.Speaker{Agent: name, Inc: out.Inc}
			}
		case 3, 4:
			w.do(fsm.Claim{Speaker: speakers[name]})
		case 5:
			w.do(fsm.CompleteTask{Work: work, Result: "x", Then: fsm.Then{Next: r.IntN(2) == 0}})
		case 6:
			w.do(fsm.FailTask{Work: work, Reason: "x", Retryable: r.IntN(3) > 0})
		case 7:
			w.do(fsm.CancelTask{Task: id, By: "t"})
		case 8:
			w.do(fsm.RetryTask{Task: id, By: "t"})
		}
		after()
	}
}

// Whatever happens to tasks: what is sent of a task is one tree, with one root that was sent once its task had
// ended, one span for each attempt that ended, and nothing that overlaps. A server that begins late to follow,
// or does not lead, adds nothing else.
func TestSpansOfATaskAreATree(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(t)
		w.leads = true
		var all []span
		f := w.follower(func(s span) { all = append(all, s) })
		f.catchUp(t.Context())
		w.run(rand.New(rand.NewPCG(seed, 1)), 400, func() { f.catchUp(t.Context()) })
		byID, roots, attempts := map[noun.SpanID]span{}, map[noun.TraceID]int{}, 0
		for _, s := range all {
			if _, twice := byID[s.id]; twice {
				t.Fatalf("seed %d: span %x comes twice", seed, s.id)
			}
			byID[s.id] = s
			if s.parent == (noun.SpanID{}) {
				roots[s.of.ID]++
			}
			if s.name == "attempt web/a" {
				attempts++
			}
		}
		open, tasks, ended, held := map[noun.TraceID]bool{}, 0, 0, uint32(0)
		for x := range w.s.Tasks(0) {
			tasks++
			if of := noun.SpansOf("c", x.ID, x.CreatedAt, x.Trace); x.FinishedAt == 0 {
				open[of.ID] = true
			} else if ended++; roots[of.ID] != 1 {
				t.Errorf("seed %d: task %d has ended and has %d roots", seed, x.ID, roots[of.ID])
			}
			if held += x.Attempt; x.State.Held() {
				held--
			}
		}
		if ended != len(roots) || attempts != int(held) || attempts < 10 || ended < 10 {
			t.Errorf("seed %d: %d of %d tasks have ended, %d roots; %d attempts, want %d", seed, ended, tasks, len(roots),
				attempts, held)
		}
		for _, s := range all {
			above, found := byID[s.parent]
			switch {
			case s.begin > s.end:
				t.Errorf("seed %d: %s ends before it begins", seed, s.name)
			case s.parent == (noun.SpanID{}) || open[s.of.ID]:
			case !found || above.of.ID != s.of.ID || s.begin < above.begin:
				t.Errorf("seed %d: %s hangs on %v", seed, s.name, above)
			}
		}
	}
}

// A server that begins to lead sends what ended in the last seconds, with the ids that the last leader gave
// it, and no more; one that does not lead sends nothing.
func TestANewLeaderSendsWhatMayBeLost(t *testing.T) {
	w := newWorld(t)
	var first, second []span
	a := w.follower(func(s span) { first = append(first, s) })
	b := w.follower(func(s span) { second = append(second, s) })
	w.run(rand.New(rand.NewPCG(1, 2)), 300, func() {
		w.leads = true
		a.catchUp(t.Context())
		w.leads = false
		b.catchUp(t.Context())
	})
	if len(first) < 50 || len(second) != 0 {
		t.Fatalf("the leader has sent %d, the other %d", len(first), len(second))
	}
	w.leads = true
	b.catchUp(t.Context())
	known := map[noun.SpanID]bool{}
	for _, s := range first {
		known[s.id] = true
	}
	for _, s := range second {
		if !known[s.id] || s.end < noun.Wall(w.index-10)*noun.Wall(time.Second) {
			t.Errorf("%s of %d at %d", s.name, s.end, w.index)
		}
	}
	if len(second) == 0 || len(second) > 20 {
		t.Errorf("%d spans were sent again", len(second))
	}
}

// spanFor is a span, another one for each n.
func spanFor(n uint64) span {
	of := noun.SpansOf("c", 1, 1, "")
	return span{of: of, id: of.Span("x", n), name: "x", begin: 1, end: 2}
}

// A collector that hangs holds up nobody: what is too much is dropped and counted.
func TestACollectorThatHangsHoldsNothingUp(t *testing.T) {
	hang := make(chan struct{})
	c := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer c.Close()
	defer close(hang)
	s, err := NewSender(c.URL, "s1", hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint64(mostWaiting + 100) {
		s.take(spanFor(n))
	}
	if s.dropped.Load() != 100 || s.sent.Load() != 0 {
		t.Errorf("%d dropped, %d sent", s.dropped.Load(), s.sent.Load())
	}
}

func TestCheckAddress(t *testing.T) {
	for address, right := range map[string]bool{"http://127.0.0.1:4318": true, "https://c.example/otlp": true,
		"": false, "127.0.0.1:4318": false, "ftp://x": false, "http://u:p@x": false, "http://x/?a=b": false,
		"http://": false, "http://x#y": false} {
		if err := CheckAddress(address); (err == nil) != right {
			t.Errorf("%q: %v", address, err)
		}
	}
}
