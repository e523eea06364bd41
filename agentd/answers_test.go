package agentd

import (
	"context"
	"errors"
	"testing"
)

// What is told to the service manager is what the daemon's own loop says: nothing before it runs, nothing
// while it hangs, an answer when it takes questions.
func TestAnswersComeOutOfTheLoop(t *testing.T) {
	a := &Agentd{}
	if a.Answers(t.Context()) == nil {
		t.Error("an agentd that does not run answers")
	}
	l := &loop{inbox: make(chan func()), done: make(chan struct{})}
	a.loop.Store(l)
	hung, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Answers(hung); !errors.Is(err, context.Canceled) {
		t.Errorf("a loop that takes nothing: %v", err)
	}
	go func() { (<-l.inbox)() }()
	if err := a.Answers(t.Context()); err != nil {
		t.Errorf("a loop that runs: %v", err)
	}
	close(l.done)
	if err := a.Answers(t.Context()); !errors.Is(err, errAgentdOver) {
		t.Errorf("a loop that has ended: %v", err)
	}
}
