//go:build linux

package incidents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/stand"
	"vigil/rpc/gen/vigilv1"
)

// role declares agents that run tickers; does is what is wrong with them, see
// command ticker. more changes what else is declared.
func role(name string, replicas int, does string, more ...func(*vigilv1.RoleSpec)) *vigilv1.RoleSpec {
	r := &vigilv1.RoleSpec{Name: name, Runner: stand.Runner, Replicas: uint32(replicas), Ttl: durationpb.New(ttl),
		StopGrace: durationpb.New(500 * time.Millisecond), StartLimit: durationpb.New(30 * time.Second)}
	if does != "" {
		r.Params = map[string]string{"does": does}
	}
	for _, change := range more {
		change(r)
	}
	return r
}

// on pins a role to a host.
func on(h *stand.Host) func(*vigilv1.RoleSpec) {
	return func(r *vigilv1.RoleSpec) { r.Labels = map[string]string{"host": h.Name} }
}

// onDemand starts agents only for tasks.
func onDemand(r *vigilv1.RoleSpec) { r.Start = "on_demand" }

// lasting gives agents a longer lease, where a busy machine must not end one.
func lasting(lease time.Duration) func(*vigilv1.RoleSpec) {
	return func(r *vigilv1.RoleSpec) { r.Ttl = durationpb.New(lease) }
}

// byHand has agents started by nobody but themselves.
func byHand(r *vigilv1.RoleSpec) { r.Runner, r.Params = "", nil }

// room declares the room of the test, for the first time or anew.
func (w *world) room(roles ...*vigilv1.RoleSpec) {
	w.t.Helper()
	if _, err := w.fleet.ApplyRoom(w.ctx(), &vigilv1.ApplyRoomRequest{Room: w.name, By: "test",
		Roles: roles}); err != nil {
		w.t.Fatalf("apply room: %v", err)
	}
}

// slot is the full name of an agent of the room: "work", "work.2".
func (w *world) slot(name string) string { return w.name + "/" + name }

// agents lists the agents of the room.
func (w *world) agents() []*vigilv1.Agent {
	w.t.Helper()
	list, err := w.fleet.ListAgents(w.ctx(), &vigilv1.ListAgentsRequest{Room: w.name, Limit: 1000})
	if err != nil {
		w.t.Fatalf("list agents: %v", err)
	}
	return list.GetAgents()
}

// agent is one agent of the room, by slot.
func (w *world) agent(name string) *vigilv1.Agent {
	w.t.Helper()
	a, err := w.fleet.GetAgent(w.ctx(), &vigilv1.GetAgentRequest{Agent: w.slot(name)})
	if err != nil {
		w.t.Fatalf("get agent: %v", err)
	}
	return a.GetAgent()
}

// describe says of all agents of the room how they are.
func (w *world) describe() string {
	list, err := w.fleet.ListAgents(w.ctx(), &vigilv1.ListAgentsRequest{Room: w.name, Limit: 1000})
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, a := range list.GetAgents() {
		fmt.Fprintf(&b, "\n\t%s: life %d, %s, %s, on %s, order %s %s, %s", a.GetName(),
			a.GetIncarnationRaw(), a.GetProcess(), a.GetParticipant(), a.GetHost(), a.GetOrder(),
			a.GetOrderReason(), a.GetWhy())
	}
	return b.String()
}

// lives are all lives of an agent of the room in the ledger, the first one first;
// without a slot those of all agents.
func (w *world) lives(name string) []*ledger.Life {
	w.t.Helper()
	var mine []*ledger.Life
	for _, l := range w.ledger() {
		if l.Agent == w.slot(name) || name == "" && strings.HasPrefix(l.Agent, w.name+"/") {
			mine = append(mine, l)
		}
	}
	return mine
}

// running are the lives of the room that tick at this moment, by agent.
func (w *world) running() map[string][]*ledger.Life {
	w.t.Helper()
	lives, err := ledger.Running(w.Ledger.Folder, time.Second)
	if err != nil {
		w.t.Fatal(err)
	}
	mine := map[string][]*ledger.Life{}
	for _, l := range lives {
		if name, ok := strings.CutPrefix(l.Agent, w.name+"/"); ok {
			mine[name] = append(mine[name], l)
		}
	}
	return mine
}

// runs waits until so many agents of the room run and have joined, as the ledger and
// the cluster agree, and gives their lives by slot.
func (w *world) runs(n int) map[string]*ledger.Life {
	w.t.Helper()
	found := map[string]*ledger.Life{}
	w.eventually(fmt.Sprintf("%d agents run", n), func() error {
		clear(found)
		now := w.running()
		for _, a := range w.agents() {
			name := strings.TrimPrefix(a.GetName(), w.name+"/")
			lives := now[name]
			if len(lives) == 1 && lives[0].Incarnation == a.GetIncarnationRaw() &&
				a.GetProcess() == "running" && a.GetParticipant() != "DISCONNECTED" {
				found[name] = lives[0]
			}
		}
		if len(found) != n {
			return fmt.Errorf("%d run: %s", len(found), w.describe())
		}
		return nil
	})
	return found
}

// next waits until an agent runs in a later life than the given one.
func (w *world) next(name string, after uint64) *ledger.Life {
	w.t.Helper()
	var found *ledger.Life
	w.eventually(fmt.Sprintf("%s lives again after life %d", name, after), func() error {
		a := w.agent(name)
		for _, l := range w.running()[name] {
			if l.Incarnation > after && l.Incarnation == a.GetIncarnationRaw() &&
				a.GetProcess() == "running" && a.GetParticipant() != "DISCONNECTED" {
				found = l
				return nil
			}
		}
		return errors.New(w.describe())
	})
	return found
}

// life reads the ledger of a life anew.
func (w *world) life(l *ledger.Life) *ledger.Life {
	w.t.Helper()
	for _, now := range w.ledger() {
		if now.File == l.File {
			return now
		}
	}
	w.t.Fatalf("%s is not in the ledger any more", l.File)
	return nil
}

// gone waits until the process of a life is gone.
func (w *world) gone(l *ledger.Life) *ledger.Life {
	w.t.Helper()
	var found *ledger.Life
	w.eventually("life "+l.File+" ends", func() error {
		if found = w.life(l); found.Gone == 0 {
			return errors.New(w.describe())
		}
		return nil
	})
	return found
}

// task creates a task; does is added to the behaviour of whoever works on it.
func (w *world) task(role, does string) uint64 {
	w.t.Helper()
	task, err := w.fleet.CreateTask(w.ctx(), &vigilv1.CreateTaskRequest{Room: w.name, Role: role,
		Title: "a task", Text: does, By: "test"})
	if err != nil {
		w.t.Fatalf("create task: %v", err)
	}
	return task.GetId()
}

// taskIs waits until a task is in one of the states.
func (w *world) taskIs(id uint64, states ...vigilv1.TaskState) *vigilv1.Task {
	w.t.Helper()
	var task *vigilv1.Task
	w.eventually(fmt.Sprintf("task %d is %v", id, states), func() (err error) {
		if task, err = w.fleet.GetTask(w.ctx(), &vigilv1.GetTaskRequest{Task: id}); err != nil {
			return err
		}
		if !slices.Contains(states, task.GetState()) {
			return fmt.Errorf("it is %s (%s); %s", task.GetState(), task.GetNote(), w.describe())
		}
		return nil
	})
	return task
}

// events are the events of the test's room since the test began, of the given kinds;
// without kinds all.
func (w *world) events(kinds ...string) []*vigilv1.Event {
	w.t.Helper()
	return w.eventsOf(&vigilv1.WatchEventsRequest{Room: w.name}, kinds...)
}

// eventsOf are the events since the test began that a request selects: those of
// hosts have no room.
func (w *world) eventsOf(request *vigilv1.WatchEventsRequest, kinds ...string) (list []*vigilv1.Event) {
	w.t.Helper()
	request.After, request.NoFollow = max(w.seen, request.GetAfter()), true
	w.eventually("the events are read", func() (err error) { // streams are not repeated by the client
		list, err = w.read(request, kinds)
		return err
	})
	return list
}

func (w *world) read(request *vigilv1.WatchEventsRequest, kinds []string) (list []*vigilv1.Event, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	stream, err := w.fleet.WatchEvents(ctx, request)
	for err == nil {
		var e *vigilv1.Event
		e, err = stream.Recv()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err == nil && (len(kinds) == 0 || slices.Contains(kinds, e.GetKind())) {
			list = append(list, e)
		}
	}
	return nil, err
}

// sees waits for an event of the room, about one of its agents when a slot is given,
// after the event with the number.
func (w *world) sees(kind, slot string, after uint64) *vigilv1.Event {
	w.t.Helper()
	var found *vigilv1.Event
	w.eventually("event "+kind+" "+slot, func() error {
		for _, e := range w.events(kind) {
			if e.GetSeq() > after && (slot == "" || e.GetAgent() == w.slot(slot)) {
				found = e
				return nil
			}
		}
		return fmt.Errorf("there is none; %s", w.describe())
	})
	return found
}
