package agentd

import (
	"context"
	"strings"
	"time"

	"vigil/agentd/output"
	"vigil/agentd/proc"
	"vigil/rpc/gen/vigilv1"
)

// process is the tree of one life, as package proc or a shim holds it.
type process interface {
	PID() int
	// Stop sends SIGTERM and, after grace, SIGKILL; 0 kills at once.
	Stop(grace time.Duration)
	Freeze() error
	Thaw() error
	// Wait blocks until nothing of the tree is left. It calls stuck once when
	// something outlives SIGKILL.
	Wait(stuck func()) proc.Exit
}

// launcher starts processes; it returns once the program has been executed.
type launcher interface {
	Start(proc.Spec) (process, error)
}

// forks is the launcher of this daemon's own children.
type forks struct{ *proc.Forker }

func (f forks) Start(spec proc.Spec) (process, error) {
	t, err := f.Forker.Start(spec)
	if err != nil {
		return nil, err
	}
	return tree{t}, nil
}

type tree struct{ *proc.Tree }

func (t tree) Wait(stuck func()) proc.Exit {
	select {
	case <-t.Done():
	case <-t.Stuck():
		stuck()
		<-t.Done()
	}
	return t.Exit()
}

// phase is how far a life has come.
type phase uint8

const (
	accepting phase = iota // AcceptOrder is under way; nothing may be forked
	accepted               // committed, but an acknowledged beat is needed before the fork
	starting               // the fork is under way
	running
)

// ending says why a life is stopped.
type ending struct {
	why    string // a sentence, for people; empty: it is not stopped
	exempt bool   // on purpose: not a crash, not a failed start
}

// life is one incarnation on this host. It belongs to the keeper's goroutine.
type life struct {
	agent uint32
	inc   uint64
	order *vigilv1.Order
	phase phase

	token    string             // until it was given to the process
	giveUp   context.CancelFunc // ends the attempts to accept
	asked    time.Duration      // when the first of them was sent
	confirm  bool               // a beat must be acknowledged before the fork
	watch    deadman
	longest  time.Duration // the runner's limit of the grace; 0: none
	process  process       // from running on
	tail     *output.Tail
	log      *output.Log
	frozen   bool // the tree is frozen
	frosting bool // a freeze or thaw is under way

	ending ending
	killed bool           // SIGKILL was ordered
	next   *vigilv1.Order // waits for this life to be gone
}

// covered tells whether the cluster holds a fence for this life, as far as known.
func (l *life) covered() bool { return l.phase != accepting }

// vouched tells whether this daemon proves that the agent lives.
func (l *life) vouched() bool { return l.phase == running && l.order.GetProof() != "agent" }

// place splits room/role.2 into room, role and the agent's own name in the room.
func place(agentName string) (room, role, agent string, err error) {
	room, agent, err = output.SplitName(agentName)
	role = agent
	if i := strings.LastIndexByte(agent, '.'); i > 0 && strings.Trim(agent[i+1:], "0123456789") == "" {
		role = agent[:i]
	}
	return room, role, agent, err
}
