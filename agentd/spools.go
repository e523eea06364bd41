package agentd

import (
	"context"
	"errors"
	"maps"
	"os"
	"strings"
	"time"

	"vigil/agentd/results"
	"vigil/rpc/client"
	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// lookAtSpools is the time between two looks into the spools of running agents.
const lookAtSpools = 3 * time.Second

// maxSaid bounds the files of spools of which is remembered what was said: agents make them.
const maxSaid = 10_000

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
			_, err := s.outbox.deliver(ctx, one)
			cancel()
			if err != nil && !errors.As(err, new(*unreadError)) {
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

// unreadError says that something in a spool could not be read, for reasons that may pass: it stays where it is.
type unreadError struct {
	paths []string // of files; none: it is the folder
	why   error    // of the last one
}

func (e *unreadError) Error() string {
	return "a result that an agent has left cannot be read: " + e.why.Error()
}
func (e *unreadError) Unwrap() error { return e.why }

// spooled lists what is ready of a spool, in order.
func (o *outbox) spooled(s results.Spool) ([]string, error) {
	all, err := s.List(func(path string) bool {
		o.mu.Lock() // not while the disk is read, which may hang
		defer o.mu.Unlock()
		return o.passed[path]
	})
	if err != nil {
		return nil, &unreadError{why: err}
	}
	return all, nil
}

// deliver brings completions of a life to the cluster, in order, until one is neither taken nor refused. Those that
// cannot be read stay, and the error is an unreadError then. It tells whether there may be more.
func (o *outbox) deliver(ctx context.Context, s results.Spool) (more bool, err error) {
	o.spooling.Lock()
	defer o.spooling.Unlock()
	all, err := o.spooled(s)
	if err != nil {
		return true, err
	}
	var unread unreadError
	for _, path := range all {
		c, err := o.read(s, path)
		if err != nil && !results.Unfit(err) {
			o.notRead(s, path, err)
			unread.paths, unread.why = append(unread.paths, path), err
			continue
		}
		if err == nil {
			if err = o.complete(ctx, s, path, &c); err != nil && !refused(err) {
				return true, err
			}
		}
		if err != nil {
			o.log.Warn("a completion that an agent left behind was not taken", traced(&c, "agent", s.Intent.AgentName,
				"incarnation", s.Intent.Incarnation, "task", c.Task, "error", err)...)
		} else {
			o.log.Info("a completion that an agent could not deliver was delivered", traced(&c, "agent", c.Agent,
				"task", c.Task)...)
		}
		o.remove(path)
	}
	if unread.why != nil {
		return true, &unread
	}
	return len(all) > 0, nil
}

// What an answer says when the result that it refuses is with its task: as that of the task, or among its late ones.
const (
	saysDone = "by this very attempt"
	saysKept = "kept for inspection"
)

// keptThere tells that a completion was refused and its result is with the task all the same. That the task, or the
// attempt, is over says nothing of that: a cluster that was restored from a backup knows nothing of what came later.
func keptThere(err error) bool {
	switch client.Code(err) {
	case code.Late:
		return true
	case code.Superseded:
		return strings.Contains(err.Error(), saysDone) || strings.Contains(err.Error(), saysKept)
	}
	return false
}

// complete says to the cluster that a task is done. A result that it refuses, and does not keep, becomes a dead letter.
func (o *outbox) complete(ctx context.Context, s results.Spool, path string, c *results.Completion) error {
	_, err := o.work.CompleteTask(client.Traced(client.Late(ctx), c.Traceparent), &vigilv1.CompleteTaskRequest{
		Task: c.Task, Attempt: c.Attempt, Result: c.Result,
		Speaker: &vigilv1.Speaker{Agent: c.Agent, Incarnation: c.Incarnation, Token: c.Token}})
	if err != nil && refused(err) && !keptThere(err) {
		if lost := o.letters.Keep(s, path, c, clip(err.Error(), maxReason)); lost != nil {
			o.log.Error("a result that was refused cannot be kept", traced(c, "agent", c.Agent, "task", c.Task,
				"error", lost)...)
		}
	}
	return err
}

// remove removes a file of a spool that is dealt with.
func (o *outbox) remove(path string) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		o.log.Warn("a file of a spool cannot be removed: it is passed over while this agentd runs", "error", err)
		o.passOver(path)
	}
}

func (o *outbox) passOver(path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.passed[path] = true
}

func (o *outbox) isPassed(path string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.passed[path]
}

// notRead tells people, once, of a file that could not be read.
func (o *outbox) notRead(s results.Spool, path string, err error) {
	o.mu.Lock()
	_, said := o.passed[path]
	if said = said || len(o.passed) >= maxSaid; !said {
		o.passed[path] = false
	}
	o.mu.Unlock()
	if !said {
		o.log.Warn("a result that an agent has left cannot be read, and stays for the next look", "agent",
			s.Intent.AgentName, "incarnation", s.Intent.Incarnation, "error", err)
	}
}

// setAside moves what still cannot be read of a life that is over to the dead letters, and passes over what cannot be
// moved. It tells whether there may be more.
func (o *outbox) setAside(s results.Spool, unread *unreadError) (more bool) {
	who := []any{"agent", s.Intent.AgentName, "incarnation", s.Intent.Incarnation}
	if len(unread.paths) == 0 {
		o.passOver(s.Folder)
		o.log.Error("what an agent has left cannot be read, and stays where it is: the next agentd looks again",
			append(who, "error", unread.why)...)
		return false
	}
	for _, path := range unread.paths {
		if err := o.letters.SetAside(s, path); err != nil {
			o.log.Error("a result that cannot be read cannot be kept", append(who, "error", err)...)
			o.passOver(path)
			continue
		}
		o.log.Error("a result that cannot be read is set aside", append(who, "folder", o.letters.Dir,
			"error", unread.why)...)
	}
	return true
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
