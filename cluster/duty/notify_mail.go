package duty

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// MailTo is a Send that writes a mail to a role or an agent. Its priority is normal, so
// that mail about mail that nobody answers is never escalated itself.
func MailTo(r Replica, to string) func(context.Context, string, []byte) error {
	return func(ctx context.Context, id string, body []byte) error {
		var a Announcement
		if err := json.Unmarshal(body, &a); err != nil {
			return errors.New("the notice cannot be read")
		}
		out := make([]noun.Outcome, 1)
		mail := fsm.SendMail{From: "vigil", To: to, Kind: "escalation", Priority: noun.MailNormal,
			Subject: clip(fmt.Sprintf("escalation %d, %s: %s, %s", a.Escalation, a.Priority, a.Kind,
				a.Subject), noun.MaxMailSubject),
			Body: clip(mailBody(&a, body), noun.MaxMailBody)}
		if err := r.SubmitAll(ctx, []fsm.Request{{Planned: true, Cmd: mail}}, out); err != nil {
			return errors.New("the mail could not be written")
		}
		if out[0].Code != noun.OK {
			return errors.New(out[0].Code.String())
		}
		return nil
	}
}

// MailFits is the Fits of MailTo: a mail has a limit, and what is booked as delivered must be in it.
func MailFits(a *Announcement) bool {
	body, err := json.Marshal(a)
	return err == nil && len(mailBody(a, body)) <= noun.MaxMailBody
}

// mailBody is what a mail says, for people and, below that, as JSON.
func mailBody(a *Announcement, body []byte) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s.\nvigil: %s.\n", a.Subject, a.Reason, a.Done)
	for _, c := range a.Commands {
		text.WriteString("  " + c + "\n")
	}
	for _, x := range a.Also {
		fmt.Fprintf(&text, "and escalation %d, %s: %s, %s\n", x.Escalation, x.Priority, x.Kind, x.Subject)
	}
	return text.String() + "\n" + string(body) + "\n"
}

func clip(text string, most int) string {
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}
