package rpc

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/code"
	"vigil/rpc/door"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/park"
)

// maxWait is the longest that a call may wait.
const maxWait = 10 * time.Minute

// patience is how long a call may wait: a minute unless it says something else.
func patience(c *form.Checks, d *durationpb.Duration) time.Duration {
	limit := c.Duration("max_wait", d)
	if limit > maxWait {
		c.Fail("max_wait is %s; at most %s are allowed, then wait again.", limit, maxWait)
	}
	if limit == 0 {
		limit = time.Minute
	}
	return limit
}

// Wait parks until the role has a task, claims it and answers with it.
func (w *work) Wait(ctx context.Context, r *vigilv1.WaitRequest) (*vigilv1.ClaimResponse, error) {
	var c form.Checks
	c.Speaking(r.GetSpeaker(), false)
	limit := patience(&c, r.GetMaxWait())
	if c.Err != nil {
		return nil, c.Err
	}
	s, err := w.seek(ctx, r)
	if err != nil {
		return nil, err
	}
	err = w.wait(ctx, r, s, limit)
	if errors.Is(err, park.ErrNobody) {
		return nil, base.Read(w.Core, func(st *fsm.View) error { return base.NoAgent(st, r.GetSpeaker().GetAgent()) })
	}
	if err != nil {
		return nil, err
	}
	return s.answer, nil
}

// seek makes the seeker of a wait.
func (w *work) seek(ctx context.Context, r *vigilv1.WaitRequest) (*seeker, error) {
	s := &seeker{work: w, claim: &vigilv1.ClaimRequest{Speaker: r.GetSpeaker(), Start: r.GetStart()}}
	cmd, err := claimCmd(s.claim)
	s.request = fsm.Request{Cmd: cmd, Audit: w.Door.Audit(ctx, vigilv1.Work_Claim_FullMethodName, s.claim)}
	return s, err
}

// Places at the leader for the waits of this server: who waits there gets its task in the entry that makes it.
// They are so many that the leader's memory is bounded. Those beyond wait here, and are woken when no waiter
// at the leader takes the task.
const (
	maxDelegates     = 2048
	maxRoleDelegates = 256 // of one role
	// delegateGrace is how long the leader's answer may take beyond the wait.
	delegateGrace = 5 * time.Second
)

// wait waits at the leader where there is a place, else here, and here too when the leader is lost.
func (w *work) wait(ctx context.Context, r *vigilv1.WaitRequest, s *seeker, limit time.Duration) error {
	until := time.Now().Add(limit)
	if !door.IsForwarded(ctx) && !w.Reader.Leader().Self {
		if over, err := w.waitAtLeader(ctx, r, s, limit); over {
			return err
		}
	}
	return w.Park.WaitForTask(ctx, s, max(0, time.Until(until)))
}

// waitAtLeader has the leader do the waiting; false: it did not take place, or was broken off. What may have been
// claimed then is found by asking again.
func (w *work) waitAtLeader(ctx context.Context, r *vigilv1.WaitRequest, s *seeker, limit time.Duration) (bool, error) {
	role, _, _ := s.Seat() // where this replica is behind, the leader's is not
	if role == 0 || !w.delegates.Take(role) {
		return false, nil
	}
	defer w.delegates.Give(role)
	waiting, cancel := context.WithTimeout(ctx, limit+delegateGrace)
	defer cancel()
	answer, err := door.OnLeader(waiting, w.Door, vigilv1.Work_Wait_FullMethodName, r,
		func(ctx context.Context, _ *vigilv1.WaitRequest) (*vigilv1.ClaimResponse, error) { // it leads meanwhile
			err := w.Park.WaitForTask(ctx, s, limit)
			return s.answer, err
		})
	switch {
	case err == nil:
		s.answer = answer
		return true, nil
	case ctx.Err() != nil:
		return true, err
	}
	fate := code.Of(fault.Of(err).Code).Fate
	return !fate.Fleeting() && fault.Of(err).Code != code.UnknownOutcome, err
}

// seeker is a Wait as package park sees it.
type seeker struct {
	work    *work
	claim   *vigilv1.ClaimRequest
	request fsm.Request // the same for the log
	answer  *vigilv1.ClaimResponse
}

// Seat implements park.Seeker.
func (s *seeker) Seat() (role noun.RoleID, agent noun.AgentID, sure bool) {
	return s.work.seat(s.claim)
}

// Claim implements park.Seeker: here, or through the leader.
func (s *seeker) Claim(ctx context.Context) (index uint64, err error) {
	ctx = metadata.AppendToOutgoingContext(ctx, code.HeaderWoken, "1")
	s.answer, err = door.OnLeader(ctx, s.work.Door, vigilv1.Work_Claim_FullMethodName, s.claim, s.work.claimWoken)
	return s.answer.GetIndex(), err
}

// Request implements park.Seeker.
func (s *seeker) Request() fsm.Request { return s.request }

// Take implements park.Seeker.
func (s *seeker) Take(out *noun.Outcome) error {
	if out.Code != noun.OK {
		return fault.Refusal(out)
	}
	s.answer = base.Read(s.work.Core, func(st *fsm.View) *vigilv1.ClaimResponse { return s.work.claimAnswer(st, out) })
	return nil
}

// seat finds the agent that waits, as park.Seeker says.
func (w *work) seat(claim *vigilv1.ClaimRequest) (role noun.RoleID, agent noun.AgentID, sure bool) {
	s := form.Speaker(claim.GetSpeaker())
	w.Reader.Read(func(st *fsm.View) {
		if a := st.AgentByName(s.Agent); a != nil {
			role, agent = a.Role, a.ID
			sure = a.Inc == s.Inc && a.TokenHash == string(s.TokenHash) && a.Part == noun.PartWaiting && a.Task == 0
		}
	})
	return role, agent, sure
}
