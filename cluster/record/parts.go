package record

import (
	"vigil/fsm"
	"vigil/fsm/noun"
)

// What several records have in common: who speaks, and nested messages.

func speaker(w *wire, c *fsm.Speaker) {
	w.str(1, &c.Agent)
	uns(w, 2, &c.Inc)
	w.bytes(3, &c.TokenHash)
}

func work(w *wire, c *fsm.Work) {
	speaker(w, &c.Speaker)
	uns(w, 4, &c.Task)
	uns(w, 5, &c.Attempt)
}

func kv(w *wire, c *noun.KV) {
	w.str(1, &c.Key)
	w.str(2, &c.Value)
}

func roleSpec(w *wire, c *noun.RoleSpec) {
	w.str(1, &c.Name)
	w.str(2, &c.Runner)
	uns(w, 3, &c.Replicas)
	uns(w, 4, &c.Desired)
	uns(w, 5, &c.Start)
	uns(w, 6, &c.Proof)
	uns(w, 7, &c.Policy)
	list(w, 8, &c.Labels, kv)
	list(w, 9, &c.Params, kv)
	sig(w, 10, &c.TTL)
	sig(w, 11, &c.AckLimit)
	sig(w, 12, &c.PendingLimit)
	sig(w, 13, &c.StartLimit)
	sig(w, 14, &c.ProgressLimit)
	sig(w, 15, &c.StopGrace)
	uns(w, 16, &c.AttemptLimit)
	uns(w, 17, &c.KillLimit)
	sig(w, 18, &c.TurnLimit)
	sig(w, 19, &c.RunLimit)
	sig(w, 20, &c.HealthEvery)
	uns(w, 21, &c.HealthMissed)
	uns(w, 22, &c.Ladder)
	sig(w, 50, &c.Expect)
	list(w, 60, &c.Overseer, overseerSpec)
	sig(w, 61, &c.RetryFirst)
	sig(w, 62, &c.RetryMost)
	list(w, 63, &c.Grants, binding)
	w.bool(64, &c.AnyContainment)
	uns(w, 65, &c.SpendTokens)
	uns(w, 66, &c.SpendMicroUSD)
	uns(w, 67, &c.SpendEachTokens)
	uns(w, 68, &c.SpendEachMicroUSD)
}

func spendLimit(w *wire, c *noun.SpendLimit) {
	uns(w, 1, &c.Tokens)
	uns(w, 2, &c.MicroUSD)
}

func overseerSpec(w *wire, c *noun.OverseerSpec) {
	w.str(1, &c.Triage)
	uns(w, 2, &c.HandoffAfter)
	sig(w, 3, &c.Fresh)
	sig(w, 4, &c.Stale)
}

func roomWatch(w *wire, c *noun.RoomWatch) {
	sig(w, 1, &c.IdleLimit)
	sig(w, 2, &c.Deadline)
	w.bool(3, &c.Disabled)
	uns(w, 4, &c.Untaken)
}

func running(w *wire, c *fsm.Running) {
	uns(w, 1, &c.Agent)
	uns(w, 2, &c.Inc)
	uns(w, 3, &c.PID)
}

func hostView(w *wire, c *noun.HostView) {
	w.str(1, &c.Server)
	uns(w, 2, &c.Host)
	uns(w, 3, &c.Gossip)
	uns(w, 4, &c.Stream)
}
