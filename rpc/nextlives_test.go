package rpc

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// live has an agent's open order accepted and its process started on a host.
func (w *world) live(t *testing.T, host noun.HostID, id uint32, inc uint64) {
	t.Helper()
	if _, err := w.host(0).AcceptOrder(within(t), &vigilv1.AcceptOrderRequest{Host: uint32(host), Boot: "b1",
		Agent: id, Incarnation: inc}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.host(0).ReportStarted(within(t), &vigilv1.ReportStartedRequest{Host: uint32(host), Agent: id,
		Incarnation: inc, Pid: 7}); err != nil {
		t.Fatal(err)
	}
}

// last is the index of the newest entry.
func (w *world) last() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.index
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The end of a life and the order of the next one are one entry, wherever the host reports, and the answer brings
// the order. Who must not run again at once is ordered by no such entry (laws L4, L9, L11).
func TestL4TheNextLifeIsOrderedInTheEntryThatEndsTheLast(t *testing.T) {
	const agent = "demo/builder"
	for _, tt := range []struct {
		name  string
		exit  *vigilv1.ReportExitRequest
		first func(w *world, host noun.HostID) // before the end
		why   string                           // why no start is ordered; empty: one is
	}{
		{name: "crash", exit: &vigilv1.ReportExitRequest{Code: 1}},
		{name: "stopped on purpose", exit: &vigilv1.ReportExitRequest{Ordered: true}},
		{name: "could not be started", exit: &vigilv1.ReportExitRequest{StartFailed: true}, why: "start_due"},
		{name: "usage limit", exit: &vigilv1.ReportExitRequest{UsageLimit: true,
			RetryAfter: durationpb.New(time.Hour)}, why: "parked"},
		{name: "a human's stop", exit: &vigilv1.ReportExitRequest{}, why: "stopped",
			first: func(w *world, _ noun.HostID) {
				_, err := w.fleet(0).SetAgent(within(t), &vigilv1.SetAgentRequest{Agent: agent, Desired: "stopped"})
				must(t, err)
			}},
		{name: "a pause", exit: &vigilv1.ReportExitRequest{Code: 1}, why: "paused",
			first: func(w *world, _ noun.HostID) {
				w.pause(agent, true)
			}},
		{name: "a drain", exit: &vigilv1.ReportExitRequest{Code: 1}, why: "no_host",
			first: func(w *world, _ noun.HostID) {
				_, err := w.fleet(0).DrainHost(within(t), &vigilv1.DrainHostRequest{Host: "h1"})
				must(t, err)
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := start(t, 2)
			_, host := w.connect(t, 1)
			a := w.order(t, agent, host)
			inc := a.GetIncarnationRaw()
			w.live(t, host, a.GetId(), inc)
			if tt.first != nil {
				tt.first(w, host)
			}
			before := w.last()
			tt.exit.Host, tt.exit.Agent, tt.exit.Incarnation = uint32(host), a.GetId(), inc
			answer, err := w.host(1).ReportExit(within(t), tt.exit)
			if err != nil {
				t.Fatal(err)
			}
			if entries := w.last() - before; entries != 1 {
				t.Errorf("it took %d entries", entries)
			}
			next := answer.GetNext()
			w.nodes[0].Read(func(st *fsm.View) {
				got := st.Agent(noun.AgentID(a.GetId()))
				if tt.why != "" {
					if why := st.Why(got.ID).Code; next != nil || got.Inc != noun.Incarnation(inc) || why != tt.why {
						t.Errorf("order %v, incarnation %s, %s; want %s", next, got.Inc, why, tt.why)
					}
					return
				}
				if got.Inc != noun.Incarnation(inc)+1 || got.OpenOrder() != noun.StartOrder || got.Host != host {
					t.Errorf("incarnation %s, order %s on %d", got.Inc, got.OpenOrder(), got.Host)
				}
			})
			if tt.why == "" && (next.GetIncarnation() != inc+1 || next.GetKind() != "start" || next.GetRunner() != "sh" ||
				next.GetParams()["file"] != "a") {
				t.Errorf("the answer brings %v", next)
			}
			w.nodes[0].Read(func(st *fsm.View) {
				if err := st.Check(); err != nil {
					t.Error(err)
				}
			})
			eventually(t, "the count of lives that were ordered so", func() bool {
				return (w.servers[0].next.Ordered() == 1) == (tt.why == "")
			})
		})
	}
}

// A report that comes again orders nothing more, and its answer brings what is open still.
func TestL4ARepeatedReportOrdersNothingMore(t *testing.T) {
	w := start(t, 1)
	_, host := w.connect(t, 0)
	a := w.order(t, "demo/builder", host)
	inc := a.GetIncarnationRaw()
	w.live(t, host, a.GetId(), inc)
	report := &vigilv1.ReportExitRequest{Host: uint32(host), Agent: a.GetId(), Incarnation: inc, Code: 1}
	for range 2 {
		answer, err := w.host(0).ReportExit(within(t), report)
		if err != nil || answer.GetNext().GetIncarnation() != inc+1 {
			t.Fatalf("%v, %v", answer, err)
		}
	}
	w.live(t, host, a.GetId(), inc+1)
	if answer, err := w.host(0).ReportExit(within(t), report); err != nil || answer.GetNext() != nil {
		t.Errorf("an old report is answered by %v, %v", answer, err)
	}
	// The second failure in a row waits: the planner's turn, after the back-off.
	report.Incarnation = inc + 1
	if answer, err := w.host(0).ReportExit(within(t), report); err != nil || answer.GetNext() != nil {
		t.Errorf("the second failure is answered by %v, %v", answer, err)
	}
}

// L3: a host that is full leaves its slot to whoever has waited for it.
func TestL3ANextLifeTakesNoSlotThatOthersWaitFor(t *testing.T) {
	w := start(t, 1)
	_, err := w.fleet(0).ApplyRoom(within(t), &vigilv1.ApplyRoomRequest{Room: "demo", Roles: []*vigilv1.RoleSpec{
		{Name: "builder", Runner: "sh", Replicas: 2}}})
	must(t, err)
	reg, err := w.host(0).Register(within(t), &vigilv1.RegisterRequest{Key: "k1", Name: "h1", Boot: "b1", Capacity: 1,
		Runners: []string{"sh"}})
	must(t, err)
	a := w.order(t, "demo/builder", noun.HostID(reg.GetHost()))
	w.live(t, noun.HostID(reg.GetHost()), a.GetId(), a.GetIncarnationRaw())
	answer, err := w.host(0).ReportExit(within(t), &vigilv1.ReportExitRequest{Host: reg.GetHost(), Agent: a.GetId(),
		Incarnation: a.GetIncarnationRaw(), Code: 1})
	if err != nil || answer.GetNext() != nil {
		t.Errorf("%v, %v", answer, err)
	}
}
