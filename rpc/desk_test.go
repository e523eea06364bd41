package rpc

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

func (w *world) desk(i int) vigilv1.DeskClient { return vigilv1.NewDeskClient(w.conns[i]) }

func (w *world) newest() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.index
}

// inboxOf lists what waits for a human as "priority kind subject: actions".
func (w *world) inboxOf(i int, room string) (lines []string) {
	w.t.Helper()
	list, err := w.desk(i).ListInbox(within(w.t), &vigilv1.ListInboxRequest{Room: room, Stale: true})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, x := range list.GetItems() {
		lines = append(lines, x.GetPriority()+" "+x.GetKind()+" "+x.GetSubject()+": "+strings.Join(x.GetActions(), " "))
	}
	return lines
}

// What waits for a human is listed once, the most urgent first, whether an escalation was opened for it
// or not, and only what is of the room that is asked for.
func TestInboxHoldsEverythingOnceTheMostUrgentFirst(t *testing.T) {
	w := start(t, 2)
	w.advance(time.Minute)
	w.room("demo", "builder", 2)
	w.room("other", "builder", 1)
	w.planned(fsm.SendMail{From: "ann", To: "other/builder", Subject: "secret", Body: "secret", Priority: noun.MailUrgent})
	w.advance(3 * time.Minute)
	me := w.join("demo/builder")
	if _, err := w.work(0).Declare(within(t), &vigilv1.DeclareRequest{Speaker: me, Waiting: "needs_input",
		For: durationpb.New(time.Hour), Text: "<script>which branch?</script>"}); err != nil {
		t.Fatal(err)
	}
	task := w.task(0, "demo", "builder", "<img src=x onerror=alert(1)>")
	him := w.join("demo/builder.2")
	claimed, err := w.work(0).Claim(within(t), &vigilv1.ClaimRequest{Speaker: him})
	if err != nil || claimed.GetTask().GetId() != task.GetId() {
		t.Fatalf("claimed %v, %v", claimed, err)
	}
	if _, err := w.work(0).FailTask(within(t), &vigilv1.WorkRequest{Speaker: him, Task: task.GetId(),
		Attempt: claimed.GetTask().GetAttempt(), Text: "no such file"}); err != nil {
		t.Fatal(err)
	}
	want := []string{"urgent mail_unacknowledged other/builder: nudge restart stop ack close",
		"high needs_input demo/builder: answer mail restart stop", "low task_failed task 1: retry"}
	if got := w.inboxOf(1, ""); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the inbox holds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := w.inboxOf(1, "demo"); strings.Join(got, "\n") != strings.Join(want[1:], "\n") {
		t.Errorf("the inbox of a room holds\n%s", strings.Join(got, "\n"))
	}
	w.planned(fsm.RaiseLevel{Level: fsm.NewestLevel})
	sooner := fsm.PutSettings{Values: []noun.KV{{Key: "prompt_limit", Value: "30s"}}}
	w.planned(sooner)
	w.advance(30 * time.Second)
	w.planned(sooner) // an entry: a human is called now for what the agent asks, and it is the same thing, once
	want[1] = "high needs_input demo/builder: answer mail restart stop ack close"
	if got := w.inboxOf(0, "demo"); strings.Join(got, "\n") != strings.Join(want[1:], "\n") {
		t.Errorf("after a human was called for it the inbox holds\n%s", strings.Join(got, "\n"))
	}
	list, err := w.desk(1).ListInbox(within(t), &vigilv1.ListInboxRequest{Limit: 1})
	if err != nil || len(list.GetItems()) != 1 || list.GetMore() != 2 || list.GetItems()[0].GetMail() != 1 {
		t.Errorf("a short list: %v, %v", list, err)
	}
	if _, err := w.desk(0).ListInbox(within(t), &vigilv1.ListInboxRequest{Room: "none"}); codeOf(err) != "not_found" {
		t.Errorf("a room that is not there: %v", err)
	}
}

// An overview counts agents by verdict and tasks by state, with the age of the oldest, of everything or of
// one room, and says who leads and what holds the fleet.
func TestOverviewSaysHowTheFleetIs(t *testing.T) {
	w := start(t, 2)
	w.advance(time.Minute)
	w.room("demo", "builder", 3)
	w.room("other", "builder", 1)
	w.join("demo/builder")
	w.task(0, "other", "builder", "waits")
	w.advance(30 * time.Second)
	w.pause("", true)
	o, err := w.desk(1).GetOverview(within(t), &vigilv1.GetOverviewRequest{Stale: true})
	if err != nil {
		t.Fatal(err)
	}
	if o.GetLeader() != "s1" || o.GetRooms() != 2 || o.GetAgents() != 4 || o.GetVerdicts()["offline"] != 3 ||
		!o.GetPaused() || o.GetPauseWhy() != "quota" || o.GetIndex() != w.newest() || o.GetClock().GetSeconds() != 90 {
		t.Errorf("the overview is %v", o)
	}
	for _, c := range o.GetTasks() {
		if n := map[vigilv1.TaskState]uint64{vigilv1.TaskState_PENDING: 1}[c.GetState()]; c.GetCount() != n ||
			(n > 0) != (c.GetOldest().GetSeconds() == 30) {
			t.Errorf("%v", c)
		}
	}
	o, err = w.desk(0).GetOverview(within(t), &vigilv1.GetOverviewRequest{Room: "demo"})
	if err != nil || o.GetRooms() != 1 || o.GetAgents() != 3 || len(o.GetHosts()) != 0 || o.GetTasks()[1].GetCount() != 0 {
		t.Errorf("the overview of a room is %v, %v", o, err)
	}
}

// Who follows hears of what happens once, goes on at another server where the first one stopped, and is told
// when that is not possible; looking writes nothing.
func TestFollowResumesAtAnyServerAndWritesNothing(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	before := w.newest()
	ctx, leave := context.WithCancel(within(t))
	first := w.follow(ctx, 0, &vigilv1.FollowRequest{})
	n := w.hear(first, func(n *vigilv1.News) bool { return n.GetOverview() != nil })
	if n.GetServer() != "s1" || n.GetLeader() != "s1" || len(n.GetEvents()) != 0 || n.GetSeq() == 0 {
		t.Errorf("the first news are %v", n)
	}
	if now := w.newest(); now != before {
		t.Errorf("looking wrote %d entries", now-before)
	}
	w.task(0, "demo", "builder", "one")
	n = w.hear(first, func(n *vigilv1.News) bool { return len(n.GetEvents()) > 0 })
	leave()
	w.task(0, "demo", "builder", "two")
	next := w.follow(within(t), 1, &vigilv1.FollowRequest{After: n.GetSeq(), Epoch: n.GetEpoch()})
	m := w.hear(next, func(n *vigilv1.News) bool { return len(n.GetEvents()) > 0 })
	if m.GetEvents()[0].GetSeq() != n.GetSeq()+1 || m.GetReset_() || m.GetServer() != "s2" {
		t.Errorf("behind %d came %v", n.GetSeq(), m)
	}
	other := w.follow(within(t), 1, &vigilv1.FollowRequest{After: n.GetSeq(), Epoch: n.GetEpoch() + 1})
	if x := w.hear(other, func(*vigilv1.News) bool { return true }); !x.GetReset_() || len(x.GetEvents()) > 0 {
		t.Errorf("after a restored backup came %v", x)
	}
	w.nodes[1].cutOff(true)
	if x := w.hear(next, func(n *vigilv1.News) bool { return n.GetLeader() == "" }); x.GetLeaderless() == nil {
		t.Errorf("without a leader came %v", x)
	}
}

func (w *world) follow(
	ctx context.Context, i int, r *vigilv1.FollowRequest,
) grpc.ServerStreamingClient[vigilv1.News] {
	w.t.Helper()
	s, err := w.desk(i).Follow(ctx, r)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// hear receives until there is news of that sort.
func (w *world) hear(s grpc.ServerStreamingClient[vigilv1.News], want func(*vigilv1.News) bool) *vigilv1.News {
	w.t.Helper()
	for {
		n, err := s.Recv()
		if err != nil {
			w.t.Fatal(err)
		}
		if want(n) {
			return n
		}
	}
}

// Over HTTP a stream has the forms of all other answers: names as in the .proto files, and what is always
// there.
func TestFollowOverHTTPHasTheFormsOfAllAnswers(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	req, err := http.NewRequestWithContext(within(t), "GET", "http://"+w.nodes[0].addr+"/v1/follow", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	for _, part := range []string{`{"result":{`, `"agents_running":0`, `"inbox":{}`, `"api_addr":`, `"events":[]`} {
		if err != nil || !strings.Contains(line, part) {
			t.Errorf("%s is missing (%v): %s", part, err, line)
		}
	}
}

// L9: what a human decides about an agent that has changed since they looked changes nothing.
func TestL9AStaleClickChangesNothing(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	seen, err := w.fleet(0).GetAgent(within(t), &vigilv1.GetAgentRequest{Agent: "demo/builder"})
	if err != nil {
		t.Fatal(err)
	}
	w.join("demo/builder")
	before, rev := w.newest(), seen.GetAgent().GetRev()
	_, restart := w.fleet(0).RestartAgent(within(t), &vigilv1.RestartAgentRequest{Agent: "demo/builder", IfRev: rev})
	_, unpark := w.fleet(0).UnparkAgent(within(t), &vigilv1.UnparkAgentRequest{Agent: "demo/builder", IfRev: rev})
	_, nudge := w.fleet(0).NudgeAgent(within(t), &vigilv1.NudgeAgentRequest{Agent: "demo/builder", Text: "1", IfRev: rev})
	for _, err := range []error{restart, unpark, nudge} {
		if codeOf(err) != "conflict" || !strings.Contains(err.Error(), "has changed") {
			t.Errorf("a stale click is answered with %v", err)
		}
	}
	events := all(t, w.watch(within(t), 0, &vigilv1.WatchEventsRequest{NoFollow: true}))
	if last := events[len(events)-1]; last.GetKind() != "agent.joined" {
		t.Errorf("entries %d to %d have changed something: %v", before, w.newest(), last)
	}
}
