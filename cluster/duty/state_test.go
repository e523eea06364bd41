package duty

import (
	"fmt"
	"testing"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// world is a state to plan on, driven by commands one entry each.
type world struct {
	t     *testing.T
	s     *fsm.State
	index uint64
	clock noun.Time
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, s: fsm.New()}
	w.must(fsm.LeaderEstablished{Server: "a"})
	for _, id := range []string{"a", "b", "c"} {
		w.must(fsm.PutServer{ID: id})
	}
	return w
}

func (w *world) apply(reqs ...fsm.Request) noun.Result {
	w.index++
	return w.s.Apply(&fsm.Entry{Index: w.index, Term: 1, Stint: 1, Stamp: w.clock, Requests: reqs})
}

func (w *world) must(c fsm.Command) noun.Outcome {
	w.t.Helper()
	out := w.apply(fsm.Request{Cmd: c}).Outcomes[0]
	if out.Code != noun.OK {
		w.t.Fatalf("%T: %s: %s", c, out.Code, out.Detail)
	}
	return out
}

func (w *world) set(kv ...string) {
	w.t.Helper()
	var c fsm.PutSettings
	for i := 0; i < len(kv); i += 2 {
		c.Values = append(c.Values, noun.KV{Key: kv[i], Value: kv[i+1]})
	}
	w.must(c)
}

func (w *world) pass(d time.Duration) {
	w.clock = w.clock.Add(d)
	w.apply()
}

// host registers a host with the runner "sh".
func (w *world) host(key string, change ...func(*fsm.RegisterHost)) noun.HostID {
	w.t.Helper()
	c := fsm.RegisterHost{Key: key, Name: key, Boot: "boot", Runners: []string{"sh"}}
	for _, f := range change {
		f(&c)
	}
	return w.must(c).Host
}

func room(name string, roles ...noun.RoleSpec) fsm.ApplyRoom {
	for i := range roles {
		if roles[i].Runner == "" {
			roles[i].Runner = "sh"
		}
	}
	return fsm.ApplyRoom{Room: name, Roles: roles, By: "test"}
}

// beat renews the lease of a host.
func (w *world) beat(h noun.HostID) {
	w.index++
	w.s.Apply(&fsm.Entry{Index: w.index, Term: 1, Stint: 1, Stamp: w.clock,
		Beats: []fsm.HostBeats{{Host: h, Boot: "boot"}}})
}

// accept plays the host: it accepts and reports every start order it has.
func (w *world) accept(h noun.HostID) {
	w.t.Helper()
	for _, id := range w.s.HostOrders(h) {
		a := w.s.Agent(id)
		w.must(fsm.AcceptOrder{Host: h, Boot: "boot", Agent: id, Inc: a.Inc})
		w.must(fsm.ReportStarted{Host: h, Agent: id, Inc: a.Inc, PID: 1})
	}
}

func (w *world) exit(agent string, kind noun.ExitKind) {
	w.t.Helper()
	a := w.s.AgentByName(agent)
	w.must(fsm.ReportExit{Host: a.Host, Agent: a.ID, Inc: a.Inc, Code: 1, Kind: kind})
}

// carry applies a plan and demands that every order of it is accepted.
func (w *world) carry(plan []fsm.Command) {
	w.t.Helper()
	for _, c := range plan {
		w.must(c)
	}
}

// show gives a plan as text: "start r/x#1 on h1".
func (w *world) show(plan []fsm.Command) (out []string) {
	for _, c := range plan {
		switch c := c.(type) {
		case fsm.OrderStart:
			out = append(out, fmt.Sprintf("start %s#%s on %s", w.s.Agent(c.Agent).Name, c.Inc, w.s.Host(c.Host).Name))
		case fsm.SuspectHost:
			verb := "trust"
			if c.Suspect {
				verb = "suspect"
			}
			out = append(out, verb+" "+w.s.Host(c.Host).Name+": "+c.Reason)
		case fsm.SurrenderHost:
			out = append(out, "surrender "+w.s.Host(c.Host).Name)
		case fsm.ReportViews:
			out = append(out, "void "+c.Server)
		case fsm.CancelOrder:
			out = append(out, fmt.Sprintf("cancel %s#%s", w.s.Agent(c.Agent).Name, c.Inc))
		}
	}
	return out
}

// starts is a plan of somebody who knows nothing from before.
func starts(s *fsm.View, most int) []fsm.Command { return new(planner).starts(s, looking(most)) }

// looking is a look that may give so many orders.
func looking(most int) look { return look{visits: visitsPerLook, orders: most} }

// ofHosts plans for all hosts.
func ofHosts(s *fsm.View, of func(h *noun.Host) []fsm.Command) (out []fsm.Command) {
	for h := range s.Hosts() {
		out = append(out, of(h)...)
	}
	return out
}
