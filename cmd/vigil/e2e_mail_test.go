//go:build linux

package main_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// L8: mail to an agent that is off is kept, delivered once to the life that comes, given
// again, marked, to the next life when that one died without an acknowledgement, and to
// no other after that. What senders are told.
func TestMailIsKeptDeliveredAndGivenAgain(t *testing.T) {
	t.Parallel()
	setenv(t, "VIGIL_USER", "ann")
	c := newCrew(t, alone)
	c.role("web", nil)
	c.sees("agent.joined", "web/a", 0)
	c.says("agent stop web/a --wait", "web/a")
	c.refuses(badInput{"", []string{"mail", "send", "web/nobody", "x"}, 3, []string{"web/nobody", "vigil agent list"}})
	c.refuses(badInput{"", []string{"mail", "send", "web/a", "now", "--no-queue"}, 4,
		[]string{"web/a is off", "vigil agent explain web/a"}})
	c.says("mail inbox web/a", "There is no such mail.")

	c.write("body.md", "read me when you are back\n")
	c.says("mail send web/a -s first --body-file "+c.path("body.md"), "mail 1 is sent to web/a")
	c.sees("mail.sent", "web/a", 0)
	waits := c.cli("mail", "send", "web/a", "second", "--wait")
	c.sees("mail.sent", "web/a", 0)
	waits.signal(syscall.SIGINT) // who waits gives up; the mail stays
	if code := waits.end(); code != 128+int(syscall.SIGINT) {
		t.Errorf("a wait that was broken off ended with %d: %s", code, waits.out.tail())
	}
	c.says("mail inbox web/a", "queued: 2", "first")
	c.says("agent status web/a", "offline", "2; `vigil mail inbox web/a` lists it")

	task := c.task("web", "held post")
	c.says("agent start web/a", "web/a")
	e := c.sees("mail.delivered", "web/a", 0)
	if e.GetText() != "2 mails, 0 of them not for the first time" {
		t.Errorf("the first life: %q", e.GetText())
	}
	first := c.agent("web/a")
	none := "There is no unread mail."
	c.eventually("the first life looks a second time", func() bool { return strings.Contains(c.posted(), none) })
	third := c.cli("mail", "send", "web/a", "third", "--wait")
	c.sees("mail.sent", "web/a", 0)
	c.says("mail inbox web/a --unacknowledged", "queued: 1", "delivered: 2")
	c.kill(first)

	e = c.sees("mail.delivered", "web/a", 0)
	if e.GetText() != "3 mails, 2 of them not for the first time" || e.GetIncarnation() == first.GetIncarnation() {
		t.Errorf("life %s after life %s: %q", e.GetIncarnation(), first.GetIncarnation(), e.GetText())
	}
	if code := third.end(); code != 0 || third.out.String() != "mail 3 is acknowledged by web/a\n" {
		t.Errorf("the wait for an acknowledgement ended with %d: %s", code, third.out.tail())
	}
	c.completed(task)
	c.says("mail inbox web/a", "acknowledged: 3")
	c.says("mail sent --unacknowledged", "There is no such mail.")
	c.says("mail sent", "acknowledged: 3", "ann", "redelivered")

	// What the two lives were handed over, as they saw it.
	text := c.posted()
	var seen []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "mail ") || strings.HasPrefix(line, "There is no") {
			number, rest, _ := strings.Cut(line, ",")
			if strings.Contains(rest, "redelivered") {
				number += " again"
			}
			seen = append(seen, strings.TrimSpace(number))
		}
	}
	want := []string{"mail 1", "mail 2", none, "mail 1 again", "mail 2 again", "mail 3", none}
	if strings.Join(seen, "; ") != strings.Join(want, "; ") || strings.Count(text, "read me when you are back") != 2 {
		t.Errorf("the lives have read %q, want %q:\n%s", seen, want, text)
	}

	second := c.agent("web/a")
	c.kill(second)
	c.joined("web/a", second.GetIncarnation())
	if got, err := c.fleet.GetAgentStatus(c.ctx(), &vigilv1.GetAgentStatusRequest{Agent: "web/a"}); err != nil ||
		got.GetUnreadMessages() != 0 {
		t.Errorf("%d mails wait for the third life (%v)", got.GetUnreadMessages(), err)
	}

	t.Run("urgent and without an acknowledgement", func(t *testing.T) { c.in(t).escalated() })
	t.Run("by hand", func(t *testing.T) { c.in(t).mailByHand() })
}

// posted is what the crew's agents have read.
func (c *crew) posted() string {
	text, err := os.ReadFile(c.path("ledger.mail"))
	if err != nil && !os.IsNotExist(err) {
		c.t.Fatal(err)
	}
	return string(text)
}

// eventually waits for what no event tells.
func (c *crew) eventually(what string, cond func() bool) {
	c.t.Helper()
	for end := time.Now().Add(patience); !cond(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("%s: not seen within %s", what, patience)
		}
	}
}

// escalated: urgent mail that nobody acknowledges shows as
// escalated, before and after its agent has read it.
func (c *crew) escalated() {
	c.role("alarm", nil)
	c.sees("agent.joined", "alarm/a", 0)
	c.says("agent stop alarm/a --wait", "alarm/a")
	c.says("settings set mail_urgent_limit=1s", "mail_urgent_limit")
	c.says("mail send alarm/a --priority urgent --kind alarm wake", "mail 4 is sent")
	if e := c.sees("mail.escalated", "alarm/a", 0); !strings.Contains(e.GetText(),
		"mail 4, urgent, from ann, read by nobody") {
		c.t.Errorf("the event says %q", e.GetText())
	}
	c.says("mail inbox --room alarm", "queued: 1", "escalated, kind alarm")
	c.says("mail show 4", "escalated", "wake")
	task := c.task("alarm", "post")
	c.says("agent start alarm/a", "alarm/a")
	c.completed(task)
	c.says("mail inbox alarm/a", "acknowledged: 1", "escalated, kind alarm")
}

// mailByHand: who was started by hand reads and writes in the life that an earlier command
// has kept, and says once whose terminal it is.
func (c *crew) mailByHand() {
	c.role("hand", byHand(time.Minute, 1))
	c.says("mail send hand/a hello", "is sent to hand/a")
	c.task("hand", "any")
	p := launch(c.t, "by hand", exec.Command("sh", "-c", `export VIGIL_ADDR="$1" VIGIL_AGENT=hand/a
		"$0" wait-for-task --follow-pid $$ && "$0" mail read && echo aside | "$0" mail send hand/a - &&
		"$0" mail inbox && "$0" mail sent && echo fine`, vigil(c.t), strings.Join(c.api, ",")))
	if code := p.end(); code != 0 {
		c.t.Fatalf("it ended with %d: %s", code, p.out.tail())
	}
	for _, want := range []string{
		`(?m)^mail \d+, normal, from ann, .*\n--- \w{8}: written by ann ---\n(Subject: .*\n\n)?hello$`,
		`(?m)^queued: 1\n.*\n.* hand/a  hand/a `, `(?m)^delivered: 1\n.*\n.* ann +hand/a `} {
		if !regexp.MustCompile(want).MatchString(p.out.String()) {
			c.t.Errorf("it printed %s\nwithout %s", p.out.String(), want)
		}
	}
	answer, err := vigilv1.NewMailboxClient(c.client).ListMail(c.ctx(), &vigilv1.ListMailRequest{From: "hand/a"})
	if err != nil || len(answer.GetMails()) != 1 ||
		answer.GetMails()[0].GetFromIncarnation() != c.agent("hand/a").GetIncarnation() {
		c.t.Errorf("sent in the name of the agent: %v, %v", answer.GetMails(), err)
	}
}
