package rpc

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"vigil/fsm"
	"vigil/rpc/gen/vigilv1"
)

// A search finds rooms, agents, hosts and tasks by parts of their names, what fits best first, and gives no
// more than it is asked for.
func TestSearchFindsNamesAndTasks(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 3)
	w.room("other", "demos", 1)
	w.register("k1", "demo-host")
	w.task(0, "other", "demos", "Write the DEMO <script>")
	ask := func(r *vigilv1.SearchRequest) (lines []string, more bool) {
		t.Helper()
		r.Stale = true
		got, err := w.desk(1).Search(within(t), r)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range got.GetHits() {
			lines = append(lines, h.GetKind()+" "+h.GetName())
		}
		return lines, got.GetMore()
	}
	if got, more := ask(&vigilv1.SearchRequest{Query: "Demo"}); more || fmt.Sprint(got) !=
		"[room demo host demo-host agent demo/builder agent demo/builder.2 agent demo/builder.3 agent other/demos task 1]" {
		t.Errorf("found %q, more: %t", got, more)
	}
	for query, want := range map[string]string{
		"buil demo": "[agent demo/builder agent demo/builder.2 agent demo/builder.3]",
		"#1":        "[task 1]", "write demo": "[task 1]", "nothing": "[]", " ": "[]"} {
		if got, _ := ask(&vigilv1.SearchRequest{Query: query}); fmt.Sprint(got) != want {
			t.Errorf("%q finds %q, want %s", query, got, want)
		}
	}
	if got, more := ask(&vigilv1.SearchRequest{Query: "demo", Limit: 2}); len(got) != 2 || !more || got[0] != "room demo" {
		t.Errorf("a short list: %q, more: %t", got, more)
	}
	got, _ := ask(&vigilv1.SearchRequest{Query: "demo", Room: "other"})
	if fmt.Sprint(got) != "[agent other/demos task 1]" {
		t.Errorf("in one room: %q", got)
	}
	if _, err := w.desk(0).Search(within(t), &vigilv1.SearchRequest{Query: "x", Limit: 101}); codeOf(err) != "invalid" {
		t.Errorf("too many are given: %v", err)
	}
}

// The history is read back page by page, without gaps, and every field filters it.
func TestEventsAreReadBackWithoutGaps(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 2)
	w.room("other", "builder", 1)
	w.join("demo/builder")
	for i := range 25 {
		w.task(0, []string{"demo", "other"}[i%2], "builder", "x")
	}
	back := func(r *vigilv1.ListEventsRequest) (seqs []uint64, kinds map[string]int) {
		t.Helper()
		kinds, r.Stale = map[string]int{}, true
		for {
			got, err := w.desk(1).ListEvents(within(t), r)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range got.GetEvents() {
				seqs = append(seqs, e.GetSeq())
				kinds[e.GetKind()]++
			}
			if r.Before = got.GetNext(); r.Before == 0 {
				return seqs, kinds
			}
		}
	}
	all, _ := back(&vigilv1.ListEventsRequest{Limit: 7})
	for i, seq := range all {
		if want := all[0] - uint64(i); seq != want {
			t.Fatalf("event %d stands where %d should", seq, want)
		}
	}
	if all[len(all)-1] != 1 {
		t.Errorf("the oldest is event %d", all[len(all)-1])
	}
	for want, r := range map[string]*vigilv1.ListEventsRequest{
		"map[task.created:25]":                {Kind: "task.", Limit: 4},
		"map[task.created:12]":                {Room: "other", Kind: "task.created"},
		"map[agent.joined:1]":                 {Agent: "demo/builder", Kind: "agent.joined"},
		"map[task.created:1]":                 {Task: 3},
		"map[room.applied:1 task.created:12]": {Words: "OTHER"},
		"map[]":                               {Host: "none"},
	} {
		if _, got := back(r); fmt.Sprint(got) != want {
			t.Errorf("%v: %v, want %s", r, got, want)
		}
	}
}

// A timeline has the tasks of an agent with how they ended, and the moments that concern everybody; what is
// before and behind the span is clipped.
func TestTimelineShowsTasksAndElections(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 2)
	me := w.join("demo/builder")
	w.task(0, "demo", "builder", "x")
	claimed, err := w.work(0).Claim(within(t), &vigilv1.ClaimRequest{Speaker: me})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.work(0).FailTask(within(t), &vigilv1.WorkRequest{Speaker: me, Task: claimed.GetTask().GetId(),
		Attempt: claimed.GetTask().GetAttempt(), Text: "no"}); err != nil {
		t.Fatal(err)
	}
	at := time.Time{}
	w.planned(fsm.SetPause{Pause: true, By: "ann"})
	events, err := w.desk(0).ListEvents(within(t), &vigilv1.ListEventsRequest{Kind: "task.claimed"})
	if err != nil || len(events.GetEvents()) != 1 {
		t.Fatal(events, err)
	}
	at = events.GetEvents()[0].GetAt().AsTime()
	line, err := w.desk(1).GetTimeline(within(t), &vigilv1.GetTimelineRequest{Stale: true,
		From: timestamppb.New(at.Add(-time.Minute)), To: timestamppb.New(at.Add(time.Hour))})
	if err != nil {
		t.Fatal(err)
	}
	var spans []string
	for _, l := range line.GetLanes() {
		for _, s := range l.GetSpans() {
			spans = append(spans, fmt.Sprintf("%s %s: %s %s %s bad=%t", l.GetKind(), l.GetName(), s.GetKind(), s.GetName(),
				s.GetText(), s.GetBad()))
		}
	}
	if fmt.Sprint(spans) != "[agent demo/builder: task 1 failed bad=true]" {
		t.Errorf("the lanes hold %q", spans)
	}
	kinds := map[string]bool{}
	for _, m := range line.GetMarks() {
		kinds[m.GetKind()] = true
	}
	if !kinds["leader.established"] || !kinds["cluster.paused"] {
		t.Errorf("the marks are %v", line.GetMarks())
	}
	_, err = w.desk(1).GetTimeline(within(t), &vigilv1.GetTimelineRequest{Stale: true,
		From: timestamppb.New(at), To: timestamppb.New(at.Add(-time.Hour))})
	if codeOf(err) != "invalid" {
		t.Errorf("a span that ends before it begins: %v", err)
	}
}
