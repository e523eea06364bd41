package rpc

import (
	"context"
	"crypto/subtle"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// maxBeats bounds the beats of one call.
const maxBeats = 1 << 16

// Beat renews leases and fences.
func (w *work) Beat(ctx context.Context, r *vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) {
	agents, incs, kinds, err := beatLines(r)
	if err != nil {
		return nil, err
	}
	if r.GetHost() == 0 {
		w.markStrangers(agents, incs, kinds, r.GetTokens())
	}
	used, err := w.usageLines(r)
	if err != nil {
		return nil, err
	}
	ans, err := w.Writer.Beat(ctx, fsm.HostBeats{Usage: used, Host: noun.HostID(r.GetHost()), Boot: r.GetBoot(),
		Packed: fsm.PackBeats(nil, agents, incs, kinds)})
	if err != nil {
		return nil, err
	}
	resp := &vigilv1.BeatResponse{Renewed: ans.Renewed, HostGone: ans.HostGone}
	if r.GetHost() != 0 {
		resp.Ttl = form.Lasting(base.Read(w.Core, func(st *fsm.View) time.Duration { return st.Settings().HostTTL }))
	}
	for _, x := range ans.Exceptions {
		resp.Exceptions = append(resp.Exceptions, &vigilv1.BeatException{Agent: uint32(x.Agent),
			Incarnation: uint64(x.Inc), Verdict: x.Verdict.String()})
	}
	return resp, nil
}

// Renew renews the lease of one life by its own word.
func (w *work) Renew(ctx context.Context, r *vigilv1.RenewRequest) (*vigilv1.RenewResponse, error) {
	var c form.Checks
	s := c.Speaking(r.GetSpeaker(), false)
	if c.Err != nil {
		return nil, c.Err
	}
	var id noun.AgentID
	var ttl time.Duration
	w.Reader.Read(func(st *fsm.View) {
		if a := st.AgentByName(s.Agent); a != nil {
			id, ttl = a.ID, time.Duration(st.Lease(a.ID).TTL) // the role's may be another one for the lives to come
		}
	})
	if id == 0 {
		return nil, fault.NotFound("There is no agent %s; `vigil agent list` shows the agents.", fault.Quote(s.Agent))
	}
	ans, err := w.Beat(ctx, &vigilv1.BeatRequest{Agents: []uint32{uint32(id)}, Incarnations: []uint64{uint64(s.Inc)},
		Kinds: []uint32{ownKinds}, Tokens: []string{r.GetSpeaker().GetToken()}})
	if err != nil {
		return nil, err
	}
	if list := ans.GetExceptions(); len(list) > 0 {
		if verdict := list[0].GetVerdict(); verdict == code.Rejoin || verdict == code.Denied {
			return nil, &fault.Error{Code: verdict}
		}
		return nil, &fault.Error{Code: code.Superseded} // it ended, or another life took its place
	}
	return &vigilv1.RenewResponse{Ttl: form.Lasting(ttl)}, nil
}

// Kinds of beats by who may send them.
const (
	ownKinds  = fsm.BeatLease
	hostKinds = fsm.BeatVouch | fsm.BeatFence
)

// beatLines checks a request and gives its parallel lines.
func beatLines(r *vigilv1.BeatRequest) (agents []noun.AgentID, incs []noun.Incarnation, kinds []uint8, err error) {
	n := len(r.GetAgents())
	var c form.Checks
	c.AtMost("beats", n, maxBeats)
	if len(r.GetIncarnations()) != n || len(r.GetKinds()) != n {
		c.Fail("agents, incarnations and kinds have %d, %d and %d entries; they must be equally many.",
			n, len(r.GetIncarnations()), len(r.GetKinds()))
	}
	tokens := len(r.GetTokens())
	allowed, rule := uint32(ownKinds), "an agent by itself renews its lease with 1"
	switch {
	case r.GetHost() != 0:
		allowed, rule = hostKinds, "a host sends 2 (vouch), 4 (fence) or both"
		c.Boot(r.GetBoot())
		if tokens > 0 {
			c.Fail("tokens has %d entries; a host has its boot instead, leave them out.", tokens)
		}
	case n == 0:
		c.Fail("agents are missing; without a host a beat needs at least one.")
	case tokens != 0 && tokens != n:
		c.Fail("tokens has %d entries for %d agents; send one for each, or none at all.", tokens, n)
	}
	if c.Err != nil {
		return nil, nil, nil, c.Err
	}
	agents, incs, kinds = make([]noun.AgentID, n), make([]noun.Incarnation, n), make([]uint8, n)
	for i := range n {
		k := r.GetKinds()[i]
		if k == 0 || k&^allowed != 0 {
			return nil, nil, nil, fault.Invalid("kinds[%d] is %d; %s.", i, k, rule)
		}
		agents[i], incs[i], kinds[i] = noun.AgentID(r.GetAgents()[i]),
			noun.Incarnation(r.GetIncarnations()[i]), uint8(k)
	}
	return agents, incs, kinds, nil
}

// markStrangers marks the beats whose token is not that of the life they are about,
// by the rule that holds for every other word of an agent (incident I103). It is done
// here, on the leader, so that the log carries neither tokens nor a hash with every
// beat. A life keeps its token, and beats of any other life change nothing: what is
// read here does not have to be the state at which the beat is applied.
func (w *work) markStrangers(agents []noun.AgentID, incs []noun.Incarnation, kinds []uint8, tokens []string) {
	hashes := make([]string, len(agents)) // outside of the lock
	for i, t := range tokens {
		hashes[i] = string(form.TokenHash(t))
	}
	w.Reader.Read(func(st *fsm.View) {
		for i, id := range agents {
			a := st.Agent(id)
			if a == nil || a.Inc != incs[i] {
				continue // the state machine answers
			}
			if subtle.ConstantTimeCompare([]byte(hashes[i]), []byte(a.TokenHash)) != 1 {
				kinds[i] |= fsm.BeatStranger
			}
		}
	})
}
