package duty

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// A notice becomes a mail to a role; it is no reason for a further escalation.
func TestNoticesByMail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, cfg := troubled(t)
		r.do(room("ops", noun.RoleSpec{Name: "oncall"}))
		cfg.Escalate.Notifiers = []Notifier{{Name: "mail", Send: MailTo(r, "ops/oncall")},
			{Name: "wrong", Send: MailTo(r, "ops/nobody")}}
		inStint(t, r, cfg, func(*Duty) {
			r.trouble("r/x.1")
			r.ticks(3 * time.Hour)
			r.Read(func(s *fsm.View) {
				var mails []*noun.Mail
				for m := range s.Mails(1) {
					mails = append(mails, m)
				}
				if len(mails) != 1 || s.Agent(mails[0].To).Name != "ops/oncall" ||
					mails[0].Kind != "escalation" || mails[0].Priority != noun.MailNormal ||
					!strings.HasPrefix(mails[0].Subject,
						"escalation 1, urgent: mail_unacknowledged, r/x") ||
					!strings.Contains(mails[0].Body, "vigil escalation ack 1") {
					t.Fatalf("mails %+v", mails)
				}
				n := s.Escalation(1).Notice
				if n := slices.IndexFunc(n.Deliveries, func(d noun.Delivery) bool {
					return d.Notifier == "wrong" && d.Failure == "agent_not_found"
				}); n < 0 {
					t.Errorf("a wrong address: %+v", s.Escalation(1).Notice)
				}
				if c := s.EscalationCounts(); c.Open != 1 {
					t.Errorf("%d escalations", c.Open)
				}
			})
		})
	})
}

// A mail names all that is booked as told by it: what has no room is in the next one.
func TestMailNamesAllThatItIsBookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, cfg := troubled(t)
		r.do(room("ops", noun.RoleSpec{Name: "oncall"}))
		r.do(room("many", noun.RoleSpec{Name: "x", Replicas: 150}))
		cfg.Escalate.Notifiers = []Notifier{{Name: "mail", Send: MailTo(r, "ops/oncall"), Fits: MailFits}}
		r.do(fsm.SendMail{From: "ann", To: "many", Body: "x", Priority: noun.MailUrgent})
		r.ticks(2*time.Minute + time.Second) // nobody leads
		inStint(t, r, cfg, func(*Duty) {
			r.ticks(time.Minute)
			r.Read(func(s *fsm.View) {
				if c := s.EscalationCounts(); c.Open != 150 || c.Pending != 0 {
					t.Fatalf("%+v", c)
				}
				named, mails := map[uint64]bool{}, 0
				for m := range s.Mails(1) {
					if m.Kind != "escalation" {
						continue
					}
					mails++
					_, text, _ := strings.Cut(m.Body, "\n\n")
					var a Announcement
					if err := json.Unmarshal([]byte(text), &a); err != nil {
						t.Fatalf("a mail of %d bytes is cut: %v", len(m.Body), err)
					}
					named[a.Escalation] = true
					for _, x := range a.Also {
						named[x.Escalation] = strings.Contains(m.Body, fmt.Sprintf("and escalation %d, ", x.Escalation))
					}
				}
				for id := range uint64(150) {
					if !named[id+1] {
						t.Errorf("escalation %d is in none of %d mails", id+1, mails)
					}
				}
				if mails < 2 || mails > 12 {
					t.Errorf("%d mails", mails)
				}
			})
		})
	})
}
