package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vigil/rpc/gen/vigilv1"
)

func (f *mcpFleet) letter(number uint64) *vigilv1.Mail {
	f.t.Helper()
	return must(f.mail.GetMail(f.ctx(), &vigilv1.GetMailRequest{Mail: number}))(f.t)
}

// Two agents write to each other; a human sees the states of their mail.
func TestMCPMailBetweenAgents(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	builder, reviewer := f.connect("web/builder"), f.connect("web/reviewer")
	reviewer.says("my_status", nil, "You are web/reviewer")
	wait := reviewer.begin("read_mail", map[string]any{"seconds": 3600})
	sent := builder.says("send_mail", map[string]any{"to": "web/reviewer", "subject": "which branch?",
		"body": "main, or the hushed one", "priority": "high", "kind": "question"}, "Mail 1 is sent")
	if got := fmt.Sprint(sent["mails"]); got != "[1]" {
		t.Errorf("sent %s", got)
	}
	r := <-wait
	r.holds(t, "read_mail", "1 mail. ", "Mail 1 (high, delivered)", "written by web/builder", "Kind: question",
		"Subject: which branch?", "main, or the hushed one", "ack_mail")
	if m := f.letter(1); m.GetState() != "delivered" || m.GetFrom() != "web/builder" ||
		m.GetFromIncarnation() == "" || m.GetPriority() != "high" {
		t.Errorf("the mail is %v", m)
	}
	reviewer.says("read_mail", nil, "There is no unread mail")
	// a model that has forgotten
	reviewer.says("read_mail", map[string]any{"mail": 1}, "nothing was marked", "the hushed one")
	reviewer.says("inbox", nil, "1 mail waits for your acknowledgement", "Mail 1 (", "written by web/builder")
	reviewer.says("send_mail", map[string]any{"reply_to": 1, "body": "main"}, "Mail 2 is sent")
	reviewer.says("ack_mail", map[string]any{"mails": []int{1}}, "Acknowledged: 1 of 1")
	reviewer.says("ack_mail", map[string]any{"mails": []int{1}}, "Acknowledged: 1 of 1")
	reviewer.refuses("ack_mail", map[string]any{"mails": []int{1, 99}}, "Mail 99 was not acknowledged",
		"those before it were")
	reviewer.says("inbox", nil, "You have acknowledged all mail")
	if m := f.letter(1); m.GetState() != "acknowledged" {
		t.Errorf("the mail is %v", m)
	}
	builder.says("read_mail", nil, "Mail 2 (normal, delivered, answers mail 1)", "written by web/reviewer")
	if m := f.letter(2); m.GetTo() != "web/builder" || m.GetThread() != 1 || m.GetReplyTo() != 1 {
		t.Errorf("the answer is %v", m)
	}
	// not to itself
	builder.says("send_mail", map[string]any{"to": "web", "subject": "all", "body": "hear"}, "sent to 2 agents")
	other := f.send("web/reviewer", "between us", "a word")
	builder.refuses("read_mail", map[string]any{"mail": other}, "neither to you nor from you")
	for _, c := range []*mcpClient{builder, reviewer} {
		if strings.Contains(c.log.String(), "hushed") || strings.Contains(c.log.String(), "branch") {
			t.Error("the log holds what a mail says")
		}
	}
}

// Mail reaches a model in every state: with the answer of any tool while it works, as the
// end of a wait while it waits, and once only.
func TestMCPTellsOfMail(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	before := f.send("web/builder", "kept", "while it was off")
	c := f.connect("web/builder")
	c.says("wait_for_task", map[string]any{"seconds": 3600}, "there is mail", "You have an unread mail: call read_mail")
	// it knows that, so it may wait
	c.says("wait_for_task", map[string]any{"seconds": 1}, "You have an unread mail", "no task came within 1s")
	c.says("read_mail", nil, "while it was off")
	wait := c.begin("wait_for_task", map[string]any{"seconds": 3600})
	during := f.send("web/builder", "news", "")
	r := <-wait
	r.holds(t, "wait_for_task", "there is mail")
	c.says("read_mail", nil, "news")
	c.says("ack_mail", map[string]any{"mails": []uint64{before, during}}, "2 of 2")

	task := f.task("builder", "Build it", "")
	c.claims(task, "This task is yours now")
	f.send("web/builder", "first", "")
	f.send("web/builder", "second", "")
	c.says("progress", map[string]any{"note": "x"}, "You have 2 unread mails: call read_mail", "still yours")
	for range 10 {
		f.send("web/builder", "many", "")
	}
	c.says("read_mail", nil, "10 mails, and 2 more are unread")
	c.says("read_mail", nil, "2 mails. Call ack_mail")
	c.says("complete_task", map[string]any{"result": "x"}, "Task 1 is completed")
}

// What one life has read and not acknowledged the next one gets, marked.
func TestMCPHandsMailOverAgainToTheNextLife(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	f.send("web/builder", "do not lose me", "")
	first := f.connect("web/builder")
	first.says("read_mail", nil, "do not lose me")
	_ = first.stdin.Close() // never fails
	first.end()
	second := f.connect("web/builder")
	second.says("read_mail", nil, "handed over before", "do not lose me")
	second.says("ack_mail", map[string]any{"mails": []int{1}})
	_ = second.stdin.Close() // never fails
	second.end()
	f.connect("web/builder").says("read_mail", nil, "There is no unread mail")
}
