package agentd

import (
	"context"
	"errors"
	"maps"
	"os"
	"time"

	"vigil/agentd/results"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// lookAtSpools is the time between two looks into the spools of running agents.
const lookAtSpools = 3 * time.Second

// spools is the part that delivers what running agents have left.
type spools struct {
	base
	member *membership
	lives  *lives
	outbox *outbox

	due      time.Duration
	underway bool
	again    bool // once more after the look that is under way, which may have failed
}

// look looks into the spools when that is due, and says when to look again.
func (s *spools) look(now time.Duration) time.Duration {
	if now < s.due || s.underway || !s.member.registered {
		return longestNap
	}
	s.due, s.again = now+lookAtSpools, false
	var all []results.Spool
	for _, l := range s.lives.all {
		if l.phase == running && l.folder != "" {
			all = append(all, results.Spool{Folder: l.folder, Intent: l.intent()})
		}
	}
	if len(all) == 0 {
		return longestNap
	}
	s.underway = true
	s.spawn(func() {
		for _, one := range all {
			ctx, cancel := context.WithTimeout(s.ctx, attemptLimit)
			err := s.outbox.deliver(ctx, one)
			cancel()
			if err != nil {
				break // nobody answers: the next look goes on
			}
		}
		s.send(func() {
			s.underway = false
			if s.again {
				s.due = 0
			}
		})
	})
	return longestNap
}

// now has the spools looked into at once.
func (s *spools) now() { s.due, s.again = 0, s.underway }

// spooled lists what is ready of a spool, in order.
func (o *outbox) spooled(s results.Spool) []string {
	return s.List(func(path string) bool {
		o.mu.Lock() // not while the disk is read, which may hang
		defer o.mu.Unlock()
		return o.passed[path]
	})
}

// deliver brings the completions of a life to the cluster, in order, until one is
// neither taken nor refused.
func (o *outbox) deliver(ctx context.Context, s results.Spool) error {
	o.spooling.Lock()
	defer o.spooling.Unlock()
	for _, path := range o.spooled(s) {
		c, err := s.Read(path)
		if results.Crowded(err) {
			return err
		}
		if err == nil {
			_, err = o.work.CompleteTask(client.Traced(client.Late(ctx), c.Traceparent), &vigilv1.CompleteTaskRequest{
				Task: c.Task, Attempt: c.Attempt, Result: c.Result,
				Speaker: &vigilv1.Speaker{Agent: c.Agent, Incarnation: c.Incarnation, Token: c.Token}})
			if err != nil && !refused(err) {
				return err
			}
			if err != nil && !final(err) {
				if lost := o.letters.Keep(s, path, &c, clip(err.Error(), maxReason)); lost != nil {
					o.log.Error("a result that was refused cannot be kept", traced(&c, "agent", c.Agent, "task", c.Task,
						"error", lost)...)
				}
			}
		}
		if err != nil {
			o.log.Warn("a completion that an agent left behind was not taken", traced(&c, "agent", s.Intent.AgentName,
				"incarnation", s.Intent.Incarnation, "task", c.Task, "error", err)...)
		} else {
			o.log.Info("a completion that an agent could not deliver was delivered", traced(&c, "agent", c.Agent,
				"task", c.Task)...)
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			o.log.Warn("a file of a spool cannot be removed: it is passed over while this agentd runs", "error", err)
			o.mu.Lock()
			o.passed[path] = true
			o.mu.Unlock()
		}
	}
	return nil
}

// traced adds to a log line about a task the id of its trace, if it has one: of all that an agent may have
// written there, only that.
func traced(c *results.Completion, line ...any) []any {
	if id := client.TraceID(c.Traceparent); id != "" {
		line = append(line, "trace", id)
	}
	return line
}

// forgive forgets the files that were passed over, with the life they are of.
func (o *outbox) forgive(s results.Spool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.passed, func(path string, _ bool) bool { return s.Holds(path) })
}
