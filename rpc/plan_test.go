package rpc

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// planning is a cluster with a room whose agents are started by hand.
func planning(t *testing.T, n int) *world {
	t.Helper()
	w := start(t, n)
	w.advance(time.Minute)
	if code, got, _ := w.call(n-1, "PUT", "/v1/rooms/libs",
		`{"roles":[{"name":"svgbbox","ttl":"86400s","expect":"7200s"}]}`); code != 200 {
		t.Fatalf("apply: %d %v", code, got)
	}
	return w
}

// Every field of the example entry is in the answer about a task: 09:00 assigned and expected
// by 12:00, 10:30 the last progress with 60 %, asked at 10:40.
func TestDetectionExampleEntry(t *testing.T) {
	w := planning(t, 2)
	code, got, _ := w.call(1, "POST", "/v1/rooms/libs/tasks",
		`{"role":"svgbbox","title":"Implement bounding box calculation","expect":"10800s"}`)
	if code != 200 || got["expect"] != "10800s" || got["expected_completion"] != nil || got["percent"] != nil {
		t.Fatalf("create: %d %v", code, got)
	}
	me := w.join("libs/svgbbox")
	if code, got, _ = w.call(1, "POST", "/v1/work:claim", `{`+said(me)+`}`); code != 200 ||
		got["task"].(map[string]any)["expect_left"] != "10800s" {
		t.Fatalf("claim: %d %v", code, got)
	}
	if code, got, _ = w.call(1, "POST", "/v1/work:start", `{`+said(me)+`,"task":"1","attempt":1}`); code != 200 {
		t.Fatalf("start: %d %v", code, got)
	}
	w.advance(90 * time.Minute)
	if code, got, _ = w.call(1, "POST", "/v1/work:progress",
		`{`+said(me)+`,"task":"1","attempt":1,"percent":60}`); code != 200 {
		t.Fatalf("progress: %d %v", code, got)
	}
	w.advance(10 * time.Minute)
	code, got, _ = w.call(1, "GET", "/v1/tasks/1", "")
	for field, want := range map[string]any{"id": "1", "holder": "libs/svgbbox",
		"title": "Implement bounding box calculation", "state": "IN_PROGRESS", "assigned": "6000s",
		"expect": "10800s", "expect_left": "4800s", "progressed": "600s", "percent": float64(60),
		"extended": float64(0)} {
		if code != 200 || got[field] != want {
			t.Errorf("%s is %v, want %v", field, got[field], want)
		}
	}
	at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(got["expected_completion"]))
	// the answer has taken a while
	if left := time.Until(at); err != nil || left > 80*time.Minute || left < 50*time.Minute {
		t.Errorf("expected_completion is %v (%v)", got["expected_completion"], err)
	}
	if code, got, _ = w.call(1, "GET", "/v1/tasks?room=libs", ""); code != 200 ||
		got["tasks"].([]any)[0].(map[string]any)["percent"] != float64(60) {
		t.Errorf("list: %d %v", code, got)
	}
	// It moves its expectation, and the verdict names both.
	if code, got, _ = w.call(0, "POST", "/v1/work:progress",
		`{`+said(me)+`,"task":"1","attempt":1,"expect":"2400s"}`); code != 200 {
		t.Fatalf("progress: %d %v", code, got)
	}
	for _, tc := range []struct {
		pass        time.Duration
		kind, words string
	}{{0, "healthy", "task 1 is expected to be done in 40m0s, and 60 % of it"},
		{41 * time.Minute, "stalled", "task 1 was expected to be done 1m0s ago, and 60 % of it"}} {
		w.advance(tc.pass)
		_, got, _ = w.call(1, "GET", "/v1/agents/libs/svgbbox/status", "")
		if text := fmt.Sprint(got["verdict"]); !strings.Contains(text, "kind:"+tc.kind) ||
			!strings.Contains(text, tc.words) || !strings.Contains(text, "evidence:expectation") {
			t.Errorf("after %s: %s, want %s and %q", tc.pass, text, tc.kind, tc.words)
		}
	}
	if code, got, _ = w.call(1, "POST", "/v1/work:complete",
		`{`+said(me)+`,"task":"1","attempt":1,"result":"done"}`); code != 200 {
		t.Fatalf("complete: %d %v", code, got)
	}
	if _, got, _ = w.call(1, "GET", "/v1/tasks/1", ""); got["expect_left"] != nil ||
		got["expected_completion"] != nil || got["assigned"] != nil || got["percent"] != float64(60) {
		t.Errorf("a task that is done: %v", got)
	}
}

// The same through gRPC and in batches; what makes no sense is refused with a reason; and a
// task without words of its own has its role's.
func TestPlansThroughEveryDoor(t *testing.T) {
	w := planning(t, 1)
	room, err := w.fleet(0).GetRoom(within(t), &vigilv1.GetRoomRequest{Room: "libs"})
	if err != nil || room.GetRoles()[0].GetSpec().GetExpect().AsDuration() != 2*time.Hour {
		t.Fatalf("%v, %v", room, err)
	}
	answer, err := w.work(0).Batch(within(t), &vigilv1.BatchRequest{Writes: []*vigilv1.Write{
		{Op: &vigilv1.Write_CreateTask{CreateTask: &vigilv1.CreateTaskRequest{Room: "libs", Role: "svgbbox",
			Title: "own", Expect: durationpb.New(time.Hour)}}},
		{Op: &vigilv1.Write_CreateTask{CreateTask: &vigilv1.CreateTaskRequest{Room: "libs", Role: "svgbbox",
			Title: "its role's"}}},
		{Op: &vigilv1.Write_CreateTask{CreateTask: &vigilv1.CreateTaskRequest{Room: "libs", Role: "svgbbox",
			Title: "no", Expect: durationpb.New(time.Millisecond)}}},
	}})
	if err != nil || answer.GetResults()[2].GetError().GetCode() != "invalid" {
		t.Fatalf("%v, %v", answer, err)
	}
	me := w.join("libs/svgbbox")
	for i, want := range []time.Duration{time.Hour, 2 * time.Hour} {
		id := answer.GetResults()[i].GetTask()
		claim, err := w.work(0).Claim(within(t), &vigilv1.ClaimRequest{Speaker: me, Task: id})
		if err != nil || claim.GetTask().GetExpect().AsDuration() != want ||
			claim.GetTask().GetExpectLeft().AsDuration() != want {
			t.Fatalf("%v, %v", claim, err)
		}
		progress := &vigilv1.WorkRequest{Speaker: me, Task: id, Attempt: 1, Percent: proto.Uint32(0),
			Expect: durationpb.New(40 * time.Minute)}
		if b, err := w.work(0).Batch(within(t),
			&vigilv1.BatchRequest{Writes: []*vigilv1.Write{
				{Op: &vigilv1.Write_ProgressTask{ProgressTask: progress}}}}); err != nil ||
			b.GetResults()[0].GetError() != nil {
			t.Fatalf("%v, %v", b, err)
		}
		got, err := w.fleet(0).GetTask(within(t), &vigilv1.GetTaskRequest{Task: id})
		if err != nil || got.Percent == nil || got.GetPercent() != 0 ||
			got.GetExpectLeft().AsDuration() != 40*time.Minute {
			t.Errorf("%v, %v", got, err)
		}
		if _, err = w.work(0).CompleteTask(within(t),
			&vigilv1.CompleteTaskRequest{Speaker: me, Task: id, Attempt: 1}); err != nil {
			t.Fatal(err)
		}
	}
	for says, r := range map[string]*vigilv1.WorkRequest{
		"percent is 101; give 0 to 100":          {Percent: proto.Uint32(101)},
		"expect is 744h0m0s; give 1s to 30 days": {Expect: durationpb.New(31 * 24 * time.Hour)},
		"expect is 1ms; give 1s to 30 da":        {Expect: durationpb.New(time.Millisecond)},
		"expect is -1h0m0s":                      {Expect: durationpb.New(-time.Hour)},
	} {
		r.Speaker, r.Task, r.Attempt = me, 1, 1
		if _, err := progressTaskCmd(r); err == nil || fault.Of(err).Code != "invalid" ||
			!strings.Contains(fault.Of(err).Text, says) {
			t.Errorf("%v is answered %v, want %q", r, err, says)
		}
	}
	_, err = w.fleet(0).ApplyRoom(within(t), &vigilv1.ApplyRoomRequest{Room: "libs",
		Roles: []*vigilv1.RoleSpec{{Name: "svgbbox", Expect: durationpb.New(time.Millisecond)}}})
	if err == nil || !strings.Contains(err.Error(), "role svgbbox: expect is 1ms") {
		t.Errorf("%v", err)
	}
}

// Each error code, and what it says of the agent.
func TestDetectionErrorCodes(t *testing.T) {
	w := planning(t, 1)
	send := func(ctx context.Context, to string, id *vigilv1.WriteId) error {
		no := false
		_, err := w.mail(0).SendMail(ctx, &vigilv1.SendMailRequest{From: "ecos", To: to,
			Subject: "Task assignment", Queue: &no, Id: id})
		return err
	}
	if err := send(within(t), "libs/nobody", nil); codeOf(err) != "agent_not_found" {
		t.Errorf("a wrong name: %v", err)
	}
	if err := send(within(t), "libs/svgbbox", nil); codeOf(err) != "agent_offline" {
		t.Errorf("an agent that is off: %v", err)
	}
	w.join("libs/svgbbox")
	session, err := w.work(0).OpenSession(within(t), &vigilv1.OpenSessionRequest{Client: "ecos"})
	if err != nil {
		t.Fatal(err)
	}
	id := &vigilv1.WriteId{Session: session.GetSession(), Seq: 1}
	w.mu.Lock() // the server is overloaded: it gets to nothing
	short, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	err = send(short, "libs/svgbbox", id)
	cancel()
	w.mu.Unlock()
	if codeOf(err) != "timeout" {
		t.Errorf("a server that does not answer: %v", err)
	}
	if err := send(within(t), "libs/svgbbox", id); err != nil { // it may have been done: the same write id
		t.Errorf("sent again: %v", err)
	}
	if _, got, _ := w.call(0, "GET", "/v1/mail?agent=libs/svgbbox", ""); len(got["mails"].([]any)) != 1 {
		t.Errorf("sent twice: %v", got)
	}
}

// The query for what nobody has acknowledged of what one has sent.
func TestDetectionUnacknowledgedQuery(t *testing.T) {
	w := planning(t, 2)
	for _, body := range []string{`{"from":"ecos","to":"libs/svgbbox","subject":"one"}`,
		`{"from":"ecos","to":"libs/svgbbox","subject":"two"}`, `{"from":"ann","to":"libs/svgbbox","subject":"three"}`} {
		if code, got, _ := w.call(1, "POST", "/v1/mail", body); code != 200 {
			t.Fatalf("send: %d %v", code, got)
		}
	}
	me := w.join("libs/svgbbox")
	ask := func() (subjects []string) {
		t.Helper()
		code, got, _ := w.call(1, "GET", "/v1/mail?from=ecos&unacknowledged=true", "")
		if code != 200 {
			t.Fatalf("query: %d %v", code, got)
		}
		for _, m := range got["mails"].([]any) {
			subjects = append(subjects, fmt.Sprint(m.(map[string]any)["subject"]))
		}
		return subjects
	}
	if got := ask(); fmt.Sprint(got) != "[one two]" {
		t.Errorf("sent: %v", got)
	}
	if code, got, _ := w.call(1, "POST", "/v1/mail:read", `{`+said(me)+`}`); code != 200 {
		t.Fatalf("read: %d %v", code, got)
	}
	if got := ask(); fmt.Sprint(got) != "[one two]" {
		t.Errorf("delivered, and not acknowledged: %v", got)
	}
	if code, got, _ := w.call(1, "POST", "/v1/mail/1/ack", `{`+said(me)+`}`); code != 200 {
		t.Fatalf("ack: %d %v", code, got)
	}
	if got := ask(); fmt.Sprint(got) != "[two]" {
		t.Errorf("one is acknowledged: %v", got)
	}
}
