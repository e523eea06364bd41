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
	s := &seeker{work: w, claim: &vigilv1.ClaimRequest{Speaker: r.GetSpeaker()}}
	err := w.Park.WaitForTask(ctx, s, limit)
	if errors.Is(err, park.ErrNobody) {
		return nil, base.Read(w.Core, func(st *fsm.View) error { return base.NoAgent(st, r.GetSpeaker().GetAgent()) })
	}
	if err != nil {
		return nil, err
	}
	return s.answer, nil
}

// seeker is a Wait as package park sees it.
type seeker struct {
	work   *work
	claim  *vigilv1.ClaimRequest
	answer *vigilv1.ClaimResponse
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
