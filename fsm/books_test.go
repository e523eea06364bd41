package fsm

import (
	"cmp"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"vigil/fsm/noun"
)

// lavish makes what a random log says longer, so that it meets its budgets.
func (c *chaos) lavish(e *Entry) *Entry {
	text := strings.Repeat("x", c.rng.IntN(3000))
	for i := range e.Requests {
		switch cmd := e.Requests[i].Cmd.(type) {
		case CreateTask:
			cmd.Text = text
			e.Requests[i].Cmd = cmd
		case CompleteTask:
			cmd.Result = text
			e.Requests[i].Cmd = cmd
		case ReportExit:
			cmd.Tail = text
			e.Requests[i].Cmd = cmd
		case SendMail:
			cmd.Body = text
			e.Requests[i].Cmd = cmd
		case Declare:
			cmd.Text = noun.Clip(text, noun.MaxReason)
			e.Requests[i].Cmd = cmd
		}
	}
	return e
}

// budgets are tight ones, which change now and then.
func (c *chaos) budgets() Command {
	size := func(most int) string { return strconv.Itoa(noun.LeastBudget+c.rng.IntN(most)) + "B" }
	return PutSettings{Values: []noun.KV{{Key: "budget_tasks", Value: size(100 << 10)},
		{Key: "budget_mail", Value: size(50 << 10)}, {Key: "budget_agents", Value: size(50 << 10)},
		{Key: "budget_hosts", Value: size(10 << 10)}, {Key: "budget_sessions", Value: size(40 << 10)},
		{Key: "budget_history", Value: size(50 << 10)},
		{Key: "budget_room_share", Value: strconv.Itoa(20 + c.rng.IntN(81))},
		{Key: "max_open_tasks", Value: strconv.Itoa(10 + c.rng.IntN(100))}}}
}

// F7, L12: under budgets that are always nearly used up, random logs keep the accounts equal
// to a naive count after every entry (Check), a restored server decides as one that was not,
// a refusal changes nothing, and what was cut is never beyond the budget by more than what
// cannot be cut.
func TestF07RandomLogsKeepTheBooks(t *testing.T) {
	var refused, dropped uint64
	for _, seed := range seeds(t, 4) {
		c := newChaos(seed, true)
		c.climbs = true
		plain, restored := New(), New()
		apply := func(e *Entry) {
			a, b := plain.Apply(e), restored.Apply(e)
			for i := range a.Outcomes {
				if a.Outcomes[i] != b.Outcomes[i] {
					t.Fatalf("seed %d, entry %d, %T:\n %+v\n %+v after a restore", seed, e.Index,
						e.Requests[i].Cmd, a.Outcomes[i], b.Outcomes[i])
				}
			}
			if err := plain.Check(); err != nil {
				t.Fatalf("seed %d, entry %d: %v", seed, e.Index, err)
			}
		}
		for _, e := range c.opening() {
			apply(e)
		}
		for n := range 1500 {
			if n%150 == 0 {
				apply(c.entry(Request{Cmd: c.budgets()}))
			}
			apply(c.lavish(c.next(plain)))
			if c.one(40) {
				restored = reload(t, restored)
			}
			if n%50 == 0 && plain.Hash() != restored.Hash() {
				t.Fatalf("seed %d: states differ at entry %d", seed, c.index)
			}
		}
		refused, dropped = refused+plain.Figures().Full, dropped+plain.Figures().Dropped
	}
	if refused == 0 || dropped == 0 {
		t.Errorf("%d refusals, %d texts dropped: the logs met no budget", refused, dropped)
	}
}

// L11: a command that a budget refuses changes nothing but the answer that is remembered.
func TestF07ARefusalChangesNothing(t *testing.T) {
	for _, seed := range seeds(t, 2) {
		c := newChaos(seed, true)
		s := New()
		for _, e := range c.opening() {
			s.Apply(e)
		}
		refused := 0
		for n := range 600 {
			if n%100 == 0 {
				s.Apply(c.entry(Request{Cmd: c.budgets()}))
			}
			e := c.lavish(c.next(s))
			requests := e.Requests
			e.Requests = nil
			s.Apply(e) // clock, beats and timers
			for _, r := range requests {
				was := s.Copy()
				r.Session, r.Seq = 0, 0
				out := s.Apply(c.entry(r)).Outcomes[0]
				if out.Code != noun.Full {
					continue
				}
				refused++
				is := s.Copy()
				is.Meta.Index, is.Meta.Clock = was.Meta.Index, was.Meta.Clock
				if was.Hash() != is.Hash() && c.quiet(s) {
					t.Fatalf("seed %d: %T was refused (%s) and has changed something", seed, r.Cmd, out.Detail)
				}
			}
		}
		if refused == 0 {
			t.Errorf("seed %d: nothing was refused", seed)
		}
	}
}

// quiet tells that no timer is due, whose work an entry does beside its commands.
func (c *chaos) quiet(s *State) bool {
	at, ok := s.Timers.Min()
	return !ok || at.At > s.Meta.Clock
}

// F7: the formula says what memory takes, for every kind that can be many. The band is wide
// since it holds for small and for large names; docs/performance.md has the figures.
func TestF07CostsAreWhatMemoryTakes(t *testing.T) {
	if testing.Short() {
		t.Skip("fills memory")
	}
	room := func(d *drive, n int) {
		for i := 0; i < n; i += 1000 {
			d.s.Apply(d.entry(Request{Cmd: ApplyRoom{Room: fmt.Sprint("room", i),
				Roles: []noun.RoleSpec{{Name: "builder", Replicas: uint32(min(n, 1000))}}}}))
		}
	}
	kept := map[string]string{"events": "100000"}
	for name, fill := range map[string]func(d *drive){
		"agents": func(d *drive) { room(d, 60_000) },
		"roles": func(d *drive) {
			for i := range 80 {
				var roles []noun.RoleSpec
				for r := range 200 {
					roles = append(roles, noun.RoleSpec{Name: fmt.Sprint("role", r), Runner: "worker"})
				}
				d.s.Apply(d.entry(Request{Cmd: ApplyRoom{Room: fmt.Sprint("room", i), Roles: roles}}))
			}
		},
		"tasks": func(d *drive) {
			room(d, 10)
			for i := range 60_000 {
				d.s.Apply(d.entry(Request{Cmd: CreateTask{Room: "room0", Role: "builder", Title: "build it",
					Text: fmt.Sprint("as described in file ", i), By: "ann"}}))
			}
		},
		"finished": func(d *drive) {
			room(d, 10)
			for i := range 60_000 {
				id := d.s.Apply(d.entry(Request{Cmd: CreateTask{Room: "room0", Role: "builder", Title: "build it",
					Text: strings.Repeat("x", 400), By: "ann"}})).Outcomes[0].Task
				d.s.Apply(d.entry(Request{Cmd: CancelTask{Task: id, By: fmt.Sprint("ann", i),
					Reason: fmt.Sprint("not needed ", i)}}))
			}
		},
		"mail": func(d *drive) {
			room(d, 100)
			for i := range 40_000 {
				d.s.Apply(d.entry(Request{Cmd: SendMail{To: noun.AgentName("room0", "builder", uint32(1+i%100)),
					From: "ann", Subject: "news", Body: fmt.Sprint("number ", i)}}))
			}
		},
		"events": func(d *drive) {
			room(d, 10)
			for i := range 100_000 {
				d.s.Apply(d.entry(Request{Cmd: SetAgent{Agent: "room0/builder.7", By: "ann",
					Reason: fmt.Sprint("since ", i)}}))
			}
		},
		"sessions": func(d *drive) {
			for i := range 10_000 {
				id := d.s.Apply(d.entry(Request{Cmd: OpenSession{Client: fmt.Sprint("client", i)}})).Outcomes[0].Session
				for seq := range uint64(20) {
					d.s.Apply(d.entry(Request{Session: id, Seq: seq + 1, Cmd: Mark{}}))
				}
			}
		},
		"identities": func(d *drive) {
			d.must(RaiseLevel{Level: NewestLevel})
			d.must(FoundTrust{Cluster: uuid, Roots: []Root{{Cert: []byte("root")}}, Server: "s1"})
			for i := range 9_000 {
				d.s.Apply(d.entry(Request{Cmd: PutUser{Name: fmt.Sprint("user", i), By: "user/ann",
					Bindings: []noun.Binding{{Role: noun.Operator, Room: fmt.Sprint("room", i)}}}}))
				if i%1000 == 0 {
					d.s.Apply(d.entry(Request{Cmd: PutToken{SecretHash: sum("secret"), Kind: noun.HostIdentity, Uses: 1000,
						For: 1}}))
				}
				host := fmt.Sprint("host", i)
				d.s.Apply(d.entry(Request{Cmd: join(noun.TokenID(i/1000+1), noun.HostIdentity, host, host)},
					Request{Cmd: leaf(noun.HostIdentity, host, 1, host+"-serial", "", host)}))
			}
		},
		"audit": func(d *drive) {
			d.must(RaiseLevel{Level: NewestLevel})
			for i := range noun.MaxAudit {
				d.s.Apply(d.entry(by(fmt.Sprint("user/anna", i), NoteAudit{})))
			}
		},
		"hosts": func(d *drive) {
			for i := range 9_000 {
				d.s.Apply(d.entry(Request{Cmd: RegisterHost{Key: fmt.Sprint("host", i),
					Name: fmt.Sprint("host", i), Boot: "b", Runners: []string{"worker"}}}))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			live := func() int64 {
				var m runtime.MemStats
				runtime.GC()
				runtime.GC()
				runtime.ReadMemStats(&m)
				return int64(m.HeapAlloc)
			}
			d := newDrive(t)
			d.set("budget_agents", "1GiB", "budget_tasks", "1GiB", "budget_sessions", "1GiB", "budget_room_share",
				"100", "events_kept", cmp.Or(kept[name], "1000"))
			before, free := d.s.Ledger, live()
			fill(d)
			heap, cost := live()-free, int64(0)
			d.s = reload(t, d.s) // copies of what was shared, as after a restart
			heap = max(heap, live()-free)
			for p := range noun.Purses {
				cost += d.s.Ledger.Cluster[p] - before.Cluster[p]
			}
			t.Logf("cost %d KiB, heap %d KiB: %.2f", cost>>10, heap>>10, float64(heap)/float64(cost))
			if heap > cost*11/10 || heap < cost*5/10 {
				t.Errorf("a cost of %d bytes takes %d of memory", cost, heap)
			}
			runtime.KeepAlive(d)
		})
	}
}
