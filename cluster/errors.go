package cluster

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"vigil/fsm/noun"
)

// ErrNotLearning says that a server was not added, since for minutes it has learned nothing of the log.
var ErrNotLearning = errors.New("it does not catch up")

// Refused says that a change of the cluster itself was not made, and why.
type Refused struct {
	code   noun.Code
	detail string
}

func (e *Refused) Error() string { return e.detail }

// Code tells the doors which of their answers to give.
func (e *Refused) Code() noun.Code { return e.code }

func refuse(code noun.Code, format string, args ...any) error {
	return &Refused{code, fmt.Sprintf(format, args...)}
}

// fromRaft translates raft's errors into the coordinator's.
func fromRaft(err error) error {
	switch {
	case errors.Is(err, raft.ErrNotLeader):
		return noun.ErrNotLeader
	case errors.Is(err, raft.ErrLeadershipLost), errors.Is(err, raft.ErrRaftShutdown):
		return fmt.Errorf("%w (%w)", noun.ErrUnknownOutcome, err)
	}
	return err
}
