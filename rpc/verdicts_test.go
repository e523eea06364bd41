package rpc

import (
	"fmt"
	"testing"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// Agents are listed by their verdict wherever they stand by name; an answer looks at a bounded number of agents, and
// says where to go on.
func TestAgentsAreListedByVerdict(t *testing.T) {
	w := start(t, 1)
	w.advance(time.Minute)
	w.room("apps", "many", 10_000)
	w.room("zoo", "late", 3)
	for range 20 { // a large role grows entry by entry
		w.advance(time.Second)
	}
	w.join("zoo/late.3")
	list := func(r *vigilv1.ListAgentsRequest) *vigilv1.ListAgentsResponse {
		t.Helper()
		resp, err := w.fleet(0).ListAgents(within(t), r)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	kind := list(&vigilv1.ListAgentsRequest{Room: "zoo", After: "zoo/late.2"}).GetAgents()[0].GetVerdict().GetKind()
	want := []string{kind}
	first := list(&vigilv1.ListAgentsRequest{Verdicts: want})
	if !first.GetMore() || first.GetNext() != "apps/many.10000" || len(first.GetAgents()) != 0 {
		t.Fatalf("one answer looks at more than it should: %d agents, next %q", len(first.GetAgents()), first.GetNext())
	}
	second := list(&vigilv1.ListAgentsRequest{Verdicts: want, After: first.GetNext()})
	if len(second.GetAgents()) != 1 || second.GetAgents()[0].GetName() != "zoo/late.3" || second.GetMore() {
		t.Fatalf("behind it: %v", second)
	}
	for _, after := range []string{"", "apps/many.7"} {
		of := list(&vigilv1.ListAgentsRequest{Verdicts: want, Room: "zoo", After: after})
		if len(of.GetAgents()) != 1 || of.GetMore() {
			t.Errorf("a room behind %q was not looked at alone: %v", after, of)
		}
	}
	if of := list(&vigilv1.ListAgentsRequest{Room: "apps", After: "zoo/late"}); len(of.GetAgents()) != 0 || of.GetMore() {
		t.Errorf("behind all of a room: %v", of)
	}
	for _, a := range list(&vigilv1.ListAgentsRequest{Room: "zoo", NotFine: true}).GetAgents() {
		if a.GetVerdict().GetFine() {
			t.Errorf("%s is fine", a.GetName())
		}
	}
	for _, bad := range [][]string{{"sick"}, {""}, make([]string, 12)} {
		_, err := w.fleet(0).ListAgents(within(t), &vigilv1.ListAgentsRequest{Verdicts: bad})
		if codeOf(err) != "invalid" {
			t.Errorf("verdicts %q: %v", bad, err)
		}
	}
}

// The newest mail comes first where that is asked for: of a mailbox, of a sender, of a room and of all, page by page
// down to the first.
func TestTheNewestMailComesFirst(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	w.room("zoo", "late", 1)
	send := func(from, to string) {
		t.Helper()
		if _, err := w.mail(0).SendMail(within(t), &vigilv1.SendMailRequest{From: from, To: to, Subject: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 { // 1 to 6
		send("ann", "demo/builder")
		send("bob", "zoo/late")
	}
	me := w.join("demo/builder")
	if _, err := w.mail(0).ReadMail(within(t), &vigilv1.ReadMailRequest{Speaker: me}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.mail(0).AckMail(within(t), &vigilv1.AckMailRequest{Speaker: me, Mail: 3}); err != nil {
		t.Fatal(err)
	}
	for want, r := range map[string]*vigilv1.ListMailRequest{
		"[6 5 4 3 2 1]": {},
		"[5 3 1]":       {Agent: "demo/builder"}, // 3 is closed, the others are not
		"[6 4 2]":       {From: "bob"},
		"[5 1]":         {Room: "demo", Unacknowledged: true},
	} {
		var ids []uint64
		for r.NewestFirst, r.Limit = true, 2; ; {
			page, err := w.mail(0).ListMail(within(t), r)
			if err != nil || len(page.GetMails()) > 2 {
				t.Fatal(page, err)
			}
			for _, m := range page.GetMails() {
				ids = append(ids, m.GetId())
			}
			if r.After = page.GetNext(); !page.GetMore() {
				break
			}
		}
		if got := fmt.Sprint(ids); got != want {
			t.Errorf("%v: %s, want %s", r, got, want)
		}
	}
}
