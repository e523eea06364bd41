package core

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// Why answers "why does it run, or not?" for one agent. Code is stable: running,
// stopping, order_open, by_hand, or one of the reasons why no start is due.
type Why struct {
	Code string
	Text string        // a sentence
	Left time.Duration // until the reason ends by itself; 0: unknown or never
}

// WhyNot gives the reason why no start is due, "" when one is (law L3: the reason
// is always known).
func (v *View) WhyNot(a *noun.Agent) string {
	r, rm := v.RoleTable.Get(a.Role), v.RoomTable.Get(a.Room)
	switch {
	case a.Stuck() != "":
		return "unkillable"
	case rm.Deleting:
		return "deleting"
	case a.Retired || r.Retired:
		return "retired"
	case a.Proc.Fenced() && a.Order == noun.StopOrder:
		return "stopping"
	case a.Proc.Fenced():
		return "running"
	case a.Stopped || r.Spec.Desired == noun.DesiredStopped:
		return "stopped"
	case a.Proc == noun.ProcUnproven:
		return "unproven"
	case a.Proc == noun.ProcOrdered:
		return "order_open"
	case a.Part == noun.PartDisconnected && v.Paused(a) != "":
		return v.Paused(a)
	case a.Part != noun.PartDisconnected:
		return "by_hand"
	case r.Spec.Runner == "":
		return "no_runner"
	case v.LeaseTable.Get(a.ID).Fence != 0:
		return "fence"
	case a.NotBefore > v.Meta.Clock && a.Parked:
		return "parked"
	case a.NotBefore > v.Meta.Clock:
		return "back_off"
	case v.StartsHeld() > 0:
		return "hold"
	case v.awaits(r):
		return "unreported"
	case v.brakeHeld(a):
		return "brake"
	case r.Below != 0:
		return "applying"
	}
	if !v.demanded(r, a.ID) {
		return "no_task"
	}
	return ""
}

// Why explains the agent's present state.
func (v *View) Why(id noun.AgentID) Why {
	a := v.Agent(id)
	if a == nil {
		return Why{Code: "unknown", Text: "there is no such agent"}
	}
	why := v.whyOf(a)
	if text := v.unprovenText(a); text != "" && why.Code != "unproven" {
		why.Text += "; " + text
	}
	return why
}

func (v *View) whyOf(a *noun.Agent) Why {
	r, l := v.Role(a.Role), v.Lease(a.ID)
	switch code := v.WhyNot(a); code {
	case "unkillable":
		return Why{Code: code, Text: "its process on host " + v.hostName(a.Host) + " cannot be ended: " +
			a.Stuck() + "; its slot stays taken until it is gone"}
	case "deleting":
		return Why{Code: code, Text: "its room is being deleted"}
	case "retired":
		return Why{Code: code, Text: "it is no longer declared; it goes once nothing of it runs"}
	case "stopping":
		return Why{Code: code, Text: "a stop order is open: " + a.OrderReason}
	case "running":
		return v.whyRunning(a, r)
	case "stopped":
		if a.Stopped {
			text := "stopped" + v.stillFor(a.Ends().Stop) + " " + saidAt(a.IntentBy, a.Notes().IntentWhy, a.IntentAt)
			return Why{code, text + "; start it with `vigil agent start " + a.Name + "`", v.left(stopEndRow(a))}
		}
		return Why{Code: code, Text: "its role is declared as stopped; apply the room with `desired: running`"}
	case "paused", "room_paused", "all_paused", "budget":
		return Why{code, v.PausedText(a, code), v.left(v.pausedRow(a, code))}
	case "order_open":
		return Why{code, "a start order waits for host " + v.hostName(a.Host), v.left(v.agentLimit(a))}
	case "by_hand":
		text := "started by hand and " + a.Part.String() + a.SurplusText()
		if pause := v.Paused(a); pause != "" {
			text += ", but gets no task: it is " + v.PausedText(a, pause)
		}
		return Why{code, text, v.left(v.leaseRow(a.ID, l))}
	case "no_runner":
		return Why{Code: code, Text: "its role names no runner; start it by hand with `vigil wait-for-task`"}
	case "fence":
		return Why{code, "host " + v.hostName(a.Host) + " may still run it; waiting for the end of its fence",
			v.left(v.fenceRow(a.ID, l))}
	case "parked":
		if why := a.Notes().ParkedWhy; why != "" {
			return Why{code, "parked for " + why + "; `vigil agent unpark " + a.Name + "` starts it before",
				v.left(v.agentLimit(a))}
		}
		return Why{code,
			fmt.Sprintf("parked after %s; one trial follows (`vigil agent unpark %s` starts it before)%s",
				noun.Plural(a.Failures, "failure"), a.Name, a.Fault()), v.left(v.agentLimit(a))}
	case "back_off":
		return Why{code, fmt.Sprintf("back-off after failure %d%s", a.Failures, a.Fault()), v.left(v.agentLimit(a))}
	case "hold":
		return v.whyHeld()
	case "unproven":
		return Why{Code: code, Text: v.unprovenText(a)}
	case "unreported":
		return v.whyAwaits()
	case "applying":
		return Why{Code: code, Text: "its room is being applied; starts of its role wait until that is done"}
	case "brake":
		return v.whyBraked()
	case "no_task":
		return Why{Code: code, Text: "on demand: neither a task nor mail that would wake it waits for it"}
	}
	return v.whyNoHost(a)
}

// left is how long it takes until a row is due; 0: there is none.
func (v *View) left(row due.Row) time.Duration {
	if row.Kind == nil {
		return 0
	}
	return row.At().Sub(v.Meta.Clock)
}

func (v *View) whyRunning(a *noun.Agent, r *noun.Role) Why {
	if h := v.Host(a.Host); h != nil && v.Unheard(h) > 0 {
		return v.whyUnheard(a, h)
	}
	switch {
	case a.Proc == noun.ProcAccepted:
		return Why{Code: "starting", Text: "host " + v.hostName(a.Host) + " is starting it"}
	case a.Part == noun.PartDisconnected:
		return Why{"not_joined", "its process runs but has not joined", v.left(v.agentLimit(a))}
	case a.Part == noun.PartWaiting && v.Paused(a) != "":
		return Why{Code: "running", Text: "waiting, but gets no task: " + v.PausedText(a, v.Paused(a))}
	case a.Part == noun.PartWaiting:
		return Why{Code: "running", Text: "waiting for a task"}
	case a.Task != 0:
		return Why{Code: "running", Text: fmt.Sprintf("working on task %d", a.Task) + a.SurplusText()}
	}
	return Why{Code: "running", Text: "active without a task"}
}

// whyUnheard says that nobody knows what the agent does: it may work, be frozen or be gone.
func (v *View) whyUnheard(a *noun.Agent, h *noun.Host) Why {
	text := fmt.Sprintf("nothing has been heard of its host %s, which is %s, for %s: whether it runs is not known",
		h.Name, h.State, v.Unheard(h).Round(time.Second))
	if a.Task != 0 {
		text += fmt.Sprintf("; it holds task %d", a.Task)
	}
	return Why{Code: "unheard", Text: text, Left: v.Lease(a.ID).Fence.Sub(v.Meta.Clock)}
}

// hostsNamed is how many hosts an explanation goes into.
const hostsNamed = 3

// whyNoHost names the hosts that could take it one day before those that never can.
func (v *View) whyNoHost(a *noun.Agent) Why {
	var near, never []string
	r, hosts := v.Role(a.Role), 0
	for h := range v.Hosts() {
		hosts++
		why := v.Misfit(h, a)
		switch {
		case why == "" && v.Braked(a):
			return v.whyBraked()
		case why == "":
			return Why{Code: "start_due", Text: "a start is due and about to be ordered" + a.Fault()}
		case lacks(h, r) == "" && len(near) < hostsNamed:
			near = append(near, h.Name+" "+why)
		case lacks(h, r) != "" && len(never) < hostsNamed:
			never = append(never, h.Name+" "+why)
		}
	}
	if hosts == 0 {
		return Why{Code: "no_host", Text: "no host has registered; start one with `vigil agentd`" + a.Fault()}
	}
	named := append(near, never...)
	named = named[:min(len(named), hostsNamed)]
	if more := hosts - len(named); more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return Why{Code: "no_host", Text: "waiting for a host: " + strings.Join(named, "; ") + a.Fault()}
}

// lacks tells what of a role's demands the host does not offer at all, "" when
// nothing is missing.
func lacks(h *noun.Host, r *noun.Role) string {
	switch {
	case r.Spec.Runner == "":
		return "is not asked: the role names no runner"
	case !contains(h.Runners, r.Spec.Runner):
		return fmt.Sprintf("has no runner %q", r.Spec.Runner)
	}
	for _, want := range r.Spec.Labels {
		if !carries(h.Labels, want) {
			return fmt.Sprintf("lacks label %s=%s", want.Key, want.Value)
		}
	}
	if !h.Holds(&r.Spec) {
		return fmt.Sprintf("keeps agents apart as %q only, and the role has %s: give it `containment: weak` to let "+
			"others of its account act as it does", cmp.Or(h.Containment, "weak"), r.Spec.DelicateFor())
	}
	return ""
}

// Offers tells whether a host has the runner, the labels and the containment that a role needs.
func (v *View) Offers(host noun.HostID, r *noun.Role) bool {
	h := v.HostTable.Get(host)
	return h != nil && contains(h.Runners, r.Spec.Runner) && h.Holds(&r.Spec) &&
		!slices.ContainsFunc(r.Spec.Labels, func(want noun.KV) bool { return !carries(h.Labels, want) })
}

// Misfit tells why the host cannot take the agent's next start, "" when it can.
func (v *View) Misfit(h *noun.Host, a *noun.Agent) string {
	r, load := v.Role(a.Role), v.HostLoad(h.ID)
	capacity := h.Capacity
	if capacity == 0 {
		capacity = v.Meta.Settings.DefaultCapacity
	}
	switch {
	case h.State != noun.HostReady:
		return v.unready(h)
	case h.Drain:
		return "is drained" + v.stillFor(h.DrainEnd) + " by " + Nobody(h.DrainBy)
	case h.Pressure != "":
		return "takes no starts: " + h.Pressure
	case lacks(h, r) != "":
		return lacks(h, r)
	case load.Running+load.Starting >= capacity:
		return fmt.Sprintf("is full: %d of %s", load.Running+load.Starting, noun.Plural(capacity, "agent"))
	case load.Starting >= v.Meta.Settings.StartsPerHost:
		return fmt.Sprintf("is starting %s already", noun.Plural(load.Starting, "agent"))
	}
	return ""
}

// unready says why a host gets no starts, going by its state.
func (v *View) unready(h *noun.Host) string {
	switch {
	case h.State == noun.HostSuspect && h.SuspectWhy != "":
		return "is suspect: " + h.SuspectWhy
	case h.State == noun.HostReturning:
		return fmt.Sprintf("is returning: it came and went %s, no starts for %s", noun.Plural(len(h.Flaps), "time"),
			h.SteadyAt.Sub(v.Meta.Clock))
	}
	return out(h.State)
}

func contains(list []string, x string) bool {
	for _, v := range list {
		if v == x {
			return true
		}
	}
	return false
}

func carries(labels []noun.KV, want noun.KV) bool {
	for _, l := range labels {
		if l == want {
			return true
		}
	}
	return false
}

func (v *View) hostName(id noun.HostID) string {
	if h := v.HostTable.Get(id); h != nil {
		return h.Name
	}
	return "none"
}

func Nobody(by string) string {
	if by == "" {
		return "somebody"
	}
	return by
}

// HostNameOf is where an agent runs; empty: it was started by hand.
func (v *View) HostNameOf(a *noun.Agent) string {
	if a.Host == 0 {
		return ""
	}
	return v.hostName(a.Host)
}

func (v *View) Since(at noun.Time) time.Duration { return v.Meta.Clock.Sub(at).Round(time.Second) }
