package desk

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/door"
)

// replica is a state that counts the holds of its lock; each takes some time.
type replica struct {
	mu    sync.Mutex
	st    *fsm.State
	index uint64
	takes time.Duration
	holds int
}

func (r *replica) Read(fn func(*fsm.View)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holds++
	time.Sleep(r.takes)
	fn(&r.st.View)
}

func (r *replica) Leader() door.Leader           { return door.Leader{ID: "s1"} }
func (r *replica) Barrier(context.Context) error { return nil }
func (r *replica) Subscribe(func(noun.Effects))  {}

// do applies commands as one entry.
func (r *replica) do(cmds ...fsm.Command) {
	e := &fsm.Entry{Index: r.index + 1, Stamp: noun.Time(r.index+1) * noun.Time(time.Second)}
	r.index++
	for _, c := range cmds {
		e.Requests = append(e.Requests, fsm.Request{Cmd: c})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.st.Apply(e)
}

func open(agents uint32) (*Service, *replica) {
	r := &replica{st: fsm.New()}
	r.do(fsm.ApplyRoom{Room: "web", Roles: []noun.RoleSpec{{Name: "a", Replicas: agents}}},
		fsm.ApplyRoom{Room: "zoo", Roles: []noun.RoleSpec{{Name: "b", Replicas: 3}}})
	for range 20 { // a large role grows entry by entry
		r.do()
	}
	return NewService(base.NewCore("s1", nil, r, nil, nil, nil), nil), r
}

// A look at a fleet, however large, holds up writes for no more than base.ScanStep agents at a time, and a look at
// one room sees no other.
func TestALookIsMadeInSteps(t *testing.T) {
	const agents = 2*base.ScanStep + 500
	s, r := open(agents)
	r.holds = 0
	seen, err := s.look(t.Context(), "", 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := seen.overview.GetAgents(); n != agents+3 {
		t.Errorf("%d agents were counted of %d", n, agents+3)
	}
	if want := 2 + (agents+3+base.ScanStep-1)/base.ScanStep; r.holds != want { // one before and one after
		t.Errorf("the lock was held %d times, want %d", r.holds, want)
	}
	if seen, err = s.look(t.Context(), "zoo", 0); err != nil || seen.overview.GetAgents() != 3 ||
		seen.overview.GetRooms() != 1 {
		t.Errorf("%v, %v", seen.overview, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	r.holds = 0
	if _, err := s.look(gone, "web", 0); err == nil || r.holds > 1 {
		t.Errorf("for somebody who has gone the lock was held %d times: %v", r.holds, err)
	}
}

// However many look, and however often, looking takes no more than the lookShare-th part of a processor; what is
// shown meanwhile is old, and its index says of when.
func TestLooksAreSharedAndSayTheirIndex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := open(10)
		r.takes = 10 * time.Millisecond
		began := time.Now()
		r.holds = 0
		if _, err := s.look(t.Context(), "", 0); err != nil {
			t.Fatal(err)
		}
		took, once := time.Since(began), r.holds
		old := r.index
		for i := range 20 {
			r.do(fsm.SetPause{Pause: i%2 == 0, By: "ann"})
		}
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				seen, err := s.look(t.Context(), "", 0)
				if err != nil || seen.overview.GetIndex() != old {
					t.Errorf("a look that is shared is of index %d, %v; want %d", seen.overview.GetIndex(), err, old)
				}
			})
		}
		all.Wait()
		if r.holds != once {
			t.Errorf("100 who look have held the lock %d times", r.holds-once)
		}
		time.Sleep(lookShare*took - time.Since(began) + took)
		if seen, err := s.look(t.Context(), "", 0); err != nil || seen.overview.GetIndex() != r.index || r.holds != 2*once {
			t.Errorf("after its time: index %d of %d, %d holds, %v", seen.overview.GetIndex(), r.index, r.holds, err)
		}
		began = time.Now()
		for time.Since(began) < time.Minute { // who asks all the time
			if _, err := s.look(t.Context(), "", 0); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		if spent := time.Duration(r.holds-2*once) * r.takes; spent > time.Minute/lookShare+took {
			t.Errorf("in a minute the lock was held for %s", spent)
		}
	})
}

// Looks at more rooms than are kept replace each other, and none is lost for who waits for it.
func TestLooksAtManyRooms(t *testing.T) {
	s, r := open(1)
	for i := range maxLooks + 10 {
		r.do(fsm.ApplyRoom{Room: fmt.Sprintf("room-%d", i), Roles: []noun.RoleSpec{{Name: "a"}}})
	}
	for i := range maxLooks + 10 {
		name := fmt.Sprintf("room-%d", i)
		if seen, err := s.look(t.Context(), name, 0); err != nil || seen.overview.GetAgents() != 1 {
			t.Fatalf("%s: %v, %v", name, seen.overview, err)
		}
		if len(s.looks) > maxLooks {
			t.Fatalf("%d looks are kept", len(s.looks))
		}
	}
	if err := s.room("nowhere"); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a room that is not there: %v", err)
	}
}

// A budget that is used up waits for a human, who can lift it; the item says of which role.
func TestBudgetIsLiftedFromTheInbox(t *testing.T) {
	for kind, want := range map[noun.EscalationKind]string{noun.EscBudget: "lift", noun.EscPrompt: "answer restart stop",
		noun.EscNeedsInput:      "answer mail restart stop",
		noun.EscTaskQuarantined: "unquarantine cancel", noun.EscRoomCanceled: "reopen"} {
		if got := strings.Join(answers(&noun.Escalation{Kind: kind}, true), " "); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
		if got := answers(&noun.Escalation{Kind: kind}, false); got != nil {
			t.Errorf("%s that is over: %v", kind, got)
		}
	}
}
