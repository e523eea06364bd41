package core

import (
	"fmt"
	"time"

	"vigil/fsm/noun"
)

// PutSettings changes settings by name; all or none.
type PutSettings struct {
	Values []noun.KV
	By     string
}

func (c PutSettings) Apply(s *State) noun.Outcome {
	next := s.Meta.Settings
	for _, kv := range c.Values {
		// An older server puts names that it does not know into the log and refuses them as it applies them.
		if Level(PutSettings{Values: []noun.KV{kv}}) > s.Meta.Level {
			return Refuse(noun.Invalid, "%v", noun.NoSetting(kv.Key))
		}
		if err := next.Set(kv.Key, kv.Value); err != nil {
			return Refuse(noun.Invalid, "%v", err)
		}
	}
	if err := next.Check(); err != nil {
		return Refuse(noun.Invalid, "%v", err)
	}
	s.Meta.Settings, s.Meta.SettingsRev = next, s.Meta.Index
	for h := range s.Hosts() { // open orders may be due earlier now
		for _, id := range s.HostOrders(h.ID) {
			a := s.AgentTable.Mut(id)
			s.Rearm(TimerAgent, uint64(id), &a.Armed, s.AgentRow(a))
		}
	}
	s.rearmHosts(&c)
	if next.BrakeAgents == 0 && s.Meta.Brake.Set != 0 && s.Meta.Level >= LevelRetry {
		s.endBrake("there is no brake any more: brake_agents=0 by " + Nobody(c.By))
	}
	s.Hooks.SettingsPut.Call(c.Values)
	for _, kv := range c.Values {
		s.Event("settings.changed", About{}, kv.Key+"="+kv.Value+" by "+Nobody(c.By))
	}
	s.Result.Effects.Plan = true
	return noun.Outcome{Rev: s.Meta.Index}
}

// fillDefaults completes a declared role from the settings in force.
func (s *View) fillDefaults(r *noun.RoleSpec) {
	set := &s.Meta.Settings
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&r.TTL, set.TTL)
	def(&r.AckLimit, set.AckLimit)
	def(&r.PendingLimit, set.PendingLimit)
	def(&r.StartLimit, set.StartLimit)
	def(&r.StopGrace, min(set.StopGrace, noun.LongestGrace(r.TTL)))
	if r.Replicas == 0 {
		r.Replicas = 1
	}
	if r.AttemptLimit == 0 {
		r.AttemptLimit = set.AttemptLimit
	}
	if r.KillLimit == 0 {
		r.KillLimit = set.KillLimit
	}
}

// CheckRole tells what is wrong with a declared role, with defaults filled in. An
// agent must be stoppable before its fence ends (law L7): F + grace + 2 s < TTL
// with F = 0.75 TTL, for TTLs of at least 10 s; shorter ones keep the ratio only.
func (s *View) CheckRole(spec *noun.RoleSpec) error {
	r := *spec
	s.fillDefaults(&r)
	if err := noun.CheckName(r.Name); err != nil {
		return fmt.Errorf("name: %w", err)
	}
	if r.Runner != "" {
		if err := noun.CheckName(r.Runner); err != nil {
			return fmt.Errorf("runner: %w", err)
		}
	}
	spans := []struct {
		name     string
		v        time.Duration
		min, max time.Duration
	}{
		{"ttl", r.TTL, 500 * time.Millisecond, 24 * time.Hour},
		{"ack_limit", r.AckLimit, 100 * time.Millisecond, 7 * 24 * time.Hour},
		{"pending_limit", r.PendingLimit, 100 * time.Millisecond, 7 * 24 * time.Hour},
		{"start_limit", r.StartLimit, 500 * time.Millisecond, 24 * time.Hour},
		{"progress_limit", r.ProgressLimit, 0, 7 * 24 * time.Hour},
		{"stop_grace", r.StopGrace, 0, 24 * time.Hour},
		{"turn_limit", r.TurnLimit, 0, 30 * 24 * time.Hour},
		{"run_limit", r.RunLimit, 0, 30 * 24 * time.Hour},
		{"retry_first", r.RetryFirst, 0, 24 * time.Hour},
		{"retry_most", r.RetryMost, 0, noun.MaxAfter},
	}
	for _, d := range spans {
		if d.v < d.min || d.v > d.max {
			return fmt.Errorf("%s: %s is out of range, %s to %s is allowed", d.name, d.v, d.min, d.max)
		}
	}
	switch {
	case r.StopGrace > noun.LongestGrace(r.TTL):
		return fmt.Errorf("stop_grace: %s is too long for a ttl of %s, at most %s is allowed: "+
			"an agent must be stopped before its fence ends", r.StopGrace, r.TTL, noun.LongestGrace(r.TTL))
	case r.Replicas > noun.MaxReplicas:
		return fmt.Errorf("replicas: %d is out of range, 1 to %d is allowed", r.Replicas, noun.MaxReplicas)
	case r.Desired > noun.DesiredPaused || r.Start > noun.StartOnDemand || r.Proof > noun.ProofAgent ||
		r.Policy > noun.PolicyConfirm || r.Ladder > noun.LadderRestart:
		return fmt.Errorf("desired, start, proof, policy or ladder has a value that this server does not know")
	}
	if err := noun.CheckHealth(&r); err != nil {
		return err
	}
	if err := noun.CheckExpect(r.Expect); err != nil {
		return err
	}
	if err := noun.CheckOverseer(&r); err != nil {
		return err
	}
	if err := noun.CheckGrants(&r); err != nil {
		return err
	}
	for _, l := range [...]noun.SpendLimit{r.Spend(), r.SpendEach()} {
		if err := noun.CheckSpend(l); err != nil {
			return err
		}
	}
	for _, list := range [][]noun.KV{r.Labels, r.Params} {
		for i, kv := range list {
			if kv.Key == "" || len(kv.Key) > noun.MaxName || len(kv.Value) > noun.MaxTitle {
				return fmt.Errorf("labels and params: %q has a name of 1 to %d "+
					"and a value of at most %d characters", kv.Key, noun.MaxName, noun.MaxTitle)
			}
			if i > 0 && list[i-1].Key >= kv.Key {
				return fmt.Errorf("labels and params must be sorted by name without doubles: %q", kv.Key)
			}
		}
	}
	return nil
}
