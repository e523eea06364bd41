package form

import (
	"fmt"
	"strings"
	"time"

	"vigil/fsm/noun"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// DesiredWords are the words for what is wanted of a role's agents, by noun.Desired.
func DesiredWords() []string { return []string{"running", "stopped", "paused"} }

// Words of a role's declaration, by number.
func startWords() []string { return []string{"always", "on_demand"} }
func proofWords() []string { return []string{"process", "agent"} }

func desiredName(d noun.Desired) string { return DesiredWords()[d] }

// ProofName is the word for who proves that agents of a role live.
func ProofName(p noun.Proof) string { return proofWords()[p] }

// Word finds s among words; the empty word is the first.
func (c *Checks) Word(field, s string, words []string) int {
	if s == "" {
		return 0
	}
	for i, w := range words {
		if w == s {
			return i
		}
	}
	last := len(words) - 1
	c.Fail("%s %s is unknown; write %s or %s.", field, fault.Quote(s), strings.Join(words[:last], ", "), words[last])
	return 0
}

// RoleSpec copies what a role was declared with.
func RoleSpec(s *noun.RoleSpec) *vigilv1.RoleSpec {
	return &vigilv1.RoleSpec{
		Name: s.Name, Runner: s.Runner, Replicas: s.Replicas,
		Desired: desiredName(s.Desired), Start: startWords()[s.Start],
		Proof: ProofName(s.Proof), Policy: s.Policy.String(),
		Labels: KVMap(s.Labels), Params: KVMap(s.Params),
		Ttl: Lasting(s.TTL), AckLimit: Lasting(s.AckLimit), PendingLimit: Lasting(s.PendingLimit),
		StartLimit: Lasting(s.StartLimit), ProgressLimit: Lasting(s.ProgressLimit),
		StopGrace: Lasting(s.StopGrace), AttemptLimit: s.AttemptLimit, KillLimit: s.KillLimit,
		TurnLimit: Lasting(s.TurnLimit), RunLimit: Lasting(s.RunLimit), Health: convertHealth(s),
		Ladder: s.Ladder.String(), Expect: Lasting(s.Expect), Overseer: convertOverseerSpec(s),
		RetryFirst: Lasting(s.RetryFirst), RetryMost: Lasting(s.RetryMost),
		Budget: Budget(s.Spend()), AgentBudget: Budget(s.SpendEach()),
		Grants: Bindings(s.Grants), Containment: convertContainment(s),
	}
}

// containmentWords say whether agents with grants or policy: confirm run where others could act as they do.
func containmentWords() []string { return []string{noun.Sealed, "weak"} }

func convertContainment(s *noun.RoleSpec) string {
	switch {
	case !s.Delicate():
		return ""
	case s.AnyContainment:
		return containmentWords()[1]
	}
	return containmentWords()[0]
}

// convertHealth names the preset that the role's figures are those of, if any.
func convertHealth(s *noun.RoleSpec) *vigilv1.HealthSpec {
	if s.HealthEvery == 0 {
		return nil
	}
	out := &vigilv1.HealthSpec{Every: Lasting(s.HealthEvery), Missed: s.HealthMissed}
	for _, p := range noun.HealthPresets() {
		if p.Every == s.HealthEvery && p.Missed == s.HealthMissed {
			out.Preset = p.Name
		}
	}
	return out
}

// missedDefault is how many reports may be missing where a role says only how often
// they come.
const missedDefault = 3

// health resolves a preset, or takes the figures. Both are fine when they agree, as in
// what convertHealth gives.
func (c *Checks) health(at string, h *vigilv1.HealthSpec) (every time.Duration, missed uint32) {
	every, missed = c.Duration(at+"health.every", h.GetEvery()), h.GetMissed()
	switch {
	case h == nil || c.Err != nil:
		return 0, 0
	case h.GetPreset() == "" && every == 0:
		c.Fail("%shealth needs a preset or every: write %s, or how often reports come.", at, presetNames())
		return 0, 0
	case h.GetPreset() == "" && missed == 0:
		return every, missedDefault
	case h.GetPreset() == "":
		return every, missed
	}
	for _, p := range noun.HealthPresets() {
		if p.Name != h.GetPreset() {
			continue
		}
		if every != 0 && every != p.Every || missed != 0 && missed != p.Missed {
			c.Fail("%shealth: preset %s is every %s and %d missed; give the preset or the figures.", at,
				p.Name, p.Every, p.Missed)
		}
		return p.Every, p.Missed
	}
	c.Fail("%shealth preset %s is unknown; write %s.", at, fault.Quote(h.GetPreset()), presetNames())
	return 0, 0
}

func presetNames() string {
	var names []string
	for _, p := range noun.HealthPresets() {
		names = append(names, p.Name)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// RoleSpec validates one declared role.
func (c *Checks) RoleSpec(i int, s *vigilv1.RoleSpec) noun.RoleSpec {
	at := fmt.Sprintf("roles[%d]", i)
	c.Name(at+".name", s.GetName())
	if s.GetName() != "" {
		at = "role " + s.GetName() + ": "
	}
	c.OptionalName(at+"runner", s.GetRunner())
	if s.GetReplicas() > noun.MaxReplicas {
		c.Fail("%sreplicas %d is too many; at most %d are allowed.", at, s.GetReplicas(), noun.MaxReplicas)
	}
	c.tries(at+"attempt_limit", s.GetAttemptLimit())
	c.tries(at+"kill_limit", s.GetKillLimit())
	out := noun.RoleSpec{
		Name: s.GetName(), Runner: s.GetRunner(), Replicas: max(1, s.GetReplicas()),
		Desired: noun.Desired(c.Word(at+"desired", s.GetDesired(), DesiredWords())),
		Start:   noun.StartMode(c.Word(at+"start", s.GetStart(), startWords())),
		Proof:   noun.Proof(c.Word(at+"proof", s.GetProof(), proofWords())),
		Policy:  noun.Policy(c.Word(at+"policy", s.GetPolicy(), noun.PolicyNames())),
		Labels:  c.KVs(at+"labels", s.GetLabels()), Params: c.KVs(at+"params", s.GetParams()),
		TTL:           c.Duration(at+"ttl", s.GetTtl()),
		AckLimit:      c.Duration(at+"ack_limit", s.GetAckLimit()),
		PendingLimit:  c.Duration(at+"pending_limit", s.GetPendingLimit()),
		StartLimit:    c.Duration(at+"start_limit", s.GetStartLimit()),
		ProgressLimit: c.Duration(at+"progress_limit", s.GetProgressLimit()),
		StopGrace:     c.Duration(at+"stop_grace", s.GetStopGrace()),
		AttemptLimit:  s.GetAttemptLimit(), KillLimit: s.GetKillLimit(),
		TurnLimit: c.Duration(at+"turn_limit", s.GetTurnLimit()),
		RunLimit:  c.Duration(at+"run_limit", s.GetRunLimit()),
		Ladder:    noun.LadderMode(c.Word(at+"ladder", s.GetLadder(), noun.LadderModeNames())),
		Expect:    c.Expect(at+"expect", s.GetExpect()),

		RetryFirst: c.Duration(at+"retry_first", s.GetRetryFirst()),
		RetryMost:  c.Duration(at+"retry_most", s.GetRetryMost()),

		AnyContainment: c.Word(at+"containment", s.GetContainment(), containmentWords()) == 1,
	}
	if len(s.GetGrants()) > 0 {
		out.Grants = c.Bindings(at+"grants", s.GetGrants())
	}
	out.HealthEvery, out.HealthMissed = c.health(at, s.GetHealth())
	out.Overseer = c.overseerSpec(at, s.GetOverseer())
	all, each := c.Budget(at+"budget", s.GetBudget()), c.Budget(at+"agent_budget", s.GetAgentBudget())
	out.SpendTokens, out.SpendMicroUSD = all.Tokens, all.MicroUSD
	out.SpendEachTokens, out.SpendEachMicroUSD = each.Tokens, each.MicroUSD
	return out
}

// tries validates how many attempts or lives a task may cost.
func (c *Checks) tries(name string, n uint32) {
	if n > noun.MaxTries {
		c.Fail("%s %d is too many; at most %d are allowed.", name, n, noun.MaxTries)
	}
}

// overseerSpec validates what makes a role one of overseers.
func (c *Checks) overseerSpec(at string, o *vigilv1.OverseerSpec) []noun.OverseerSpec {
	if o == nil {
		return nil
	}
	c.OptionalName(at+"overseer.triage", o.GetTriage())
	return []noun.OverseerSpec{{Triage: o.GetTriage(), HandoffAfter: o.GetHandoffAfter(),
		Fresh: c.Duration(at+"overseer.fresh", o.GetFresh()), Stale: c.Duration(at+"overseer.stale", o.GetStale())}}
}

func convertOverseerSpec(s *noun.RoleSpec) *vigilv1.OverseerSpec {
	if len(s.Overseer) == 0 {
		return nil
	}
	o := &s.Overseer[0]
	return &vigilv1.OverseerSpec{Triage: o.Triage, HandoffAfter: o.HandoffAfter, Fresh: Lasting(o.Fresh),
		Stale: Lasting(o.Stale)}
}
