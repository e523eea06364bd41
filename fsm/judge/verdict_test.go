package judge

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// working is an agent in the middle of a task, with reports that come in time.
func working() Signals {
	return Signals{Found: true, Proc: noun.ProcRunning, ProcAge: time.Hour, Managed: true, Part: noun.PartActive,
		PartAge:   20 * time.Minute,
		LeaseLeft: 40 * time.Second, FenceLeft: 40 * time.Second, StartLimit: 2 * time.Minute, HostName: "w1",
		HealthEvery: time.Minute, HealthMissed: 3, Declared: &noun.Declaration{}, DeclaredAge: 10 * time.Second,
		Task: 7, TaskState: noun.TaskInProgress, ProgressAge: time.Minute, PendingLimit: 5 * time.Minute}
}

// waiting is an agent without a task.
func waiting() Signals {
	g := working()
	g.Part, g.Task, g.TaskState, g.ProgressAge = noun.PartWaiting, 0, 0, 0
	return g
}

// gone is an agent that neither runs nor takes part.
func gone() Signals {
	g := waiting()
	g.Proc, g.Part, g.LeaseLeft, g.FenceLeft, g.Declared, g.Exit = noun.ProcNone, noun.PartDisconnected,
		0, 0, nil, "exited with code 1"
	return g
}

// exhausted is an agent that shows for so long that its tool is out of quota.
func exhausted(since time.Duration) Signals {
	g := shown(working(), noun.PromptUsageLimit, since)
	g.Exhausted = true
	return g
}

func with(g Signals, change func(*Signals)) Signals {
	change(&g)
	return g
}

func declared(g Signals, d noun.Declaration) Signals {
	g.Declared, g.DeclaredLeft, g.Missed = &d, time.Duration(d.Until), 9
	g.ProgressAge *= 600 // silent in every way
	return g
}

// late is a task without progress for so long, of which the expected completion is still
// so far away.
func late(silence, left time.Duration) func(*Signals) {
	return func(g *Signals) {
		g.ProgressAge, g.Expected, g.ExpectLeft, g.Percent = silence, true, left, noun.PercentOf(60)
	}
}

// shown is what stands on its terminal, and for how long.
func shown(g Signals, k noun.PromptKind, since time.Duration) Signals {
	g.Prompt, g.PromptAge, g.IdleLimit = k, since, 5*time.Minute
	return g
}

func missing(n uint32) func(*Signals) {
	return func(g *Signals) { g.Missed, g.DeclaredAge = n, g.HealthEvery*time.Duration(n) }
}

// Every cell: what the signals are, and what they make together.
func TestVerdictTable(t *testing.T) {
	day := noun.Time(24 * time.Hour)
	for name, tc := range map[string]struct {
		g    Signals
		want Kind
		fine bool
	}{
		"unknown name":      {Signals{}, AgentNotFound, false},
		"works and reports": {working(), AgentHealthy, true},
		"starts": {with(working(), func(g *Signals) {
			g.Part, g.Task, g.PartAge,
				g.LeaseLeft = noun.PartDisconnected, 0, time.Second, 0
		}), AgentHealthy, true},
		"waits": {waiting(), AgentIdle, true},
		"waits while paused": {with(waiting(),
			func(g *Signals) { g.Paused, g.Waiting = "paused by x", time.Hour }), AgentIdle, true},
		"waits while being stopped": {with(waiting(),
			func(g *Signals) { g.Order, g.Waiting = noun.StopOrder, time.Hour }), AgentIdle, true},
		"declared busy": {with(working(),
			func(g *Signals) { g.Declared = &noun.Declaration{Status: noun.StatusBusy} }), AgentBusy, true},
		"declared busy until, silent": {declared(working(),
			noun.Declaration{Status: noun.StatusBusy, Until: day}), AgentBusy, true},
		"declared in_tool, silent": {declared(working(),
			noun.Declaration{Waiting: noun.WaitingTool, Until: day}), AgentBusy, true},
		"declared needs_input, silent": {declared(working(),
			noun.Declaration{Waiting: noun.WaitingInput, Until: day}), AgentNeedsInput, true},
		"declared parked, silent": {declared(working(),
			noun.Declaration{Waiting: noun.WaitingUntil, Until: day}), AgentSleeping, true},
		"declared parked, tasks wait": {with(declared(waiting(),
			noun.Declaration{Waiting: noun.WaitingUntil, Until: day}),
			func(g *Signals) { g.Waiting = time.Hour }), AgentSleeping, true},
		"declaration has lapsed, silent": {with(declared(working(), noun.Declaration{Status: noun.StatusBusy,
			Until: day}), func(g *Signals) { g.DeclaredLeft = 0 }), AgentUnresponsive, false},
		"declared degraded": {with(working(),
			func(g *Signals) { g.Declared = &noun.Declaration{Status: noun.StatusDegraded} }), AgentDegraded, false},
		"one report is missing":               {with(working(), missing(1)), AgentHealthy, true},
		"reports are missing, progress comes": {with(working(), missing(3)), AgentSuspect, false},
		"reports are missing, waits":          {with(waiting(), missing(3)), AgentSuspect, false},
		"reports and progress are missing": {with(working(),
			func(g *Signals) { missing(3)(g); g.ProgressAge = 4 * time.Minute }), AgentUnresponsive, false},
		"reports are missing, takes no task": {with(waiting(),
			func(g *Signals) { missing(3)(g); g.Waiting = 6 * time.Minute }), AgentUnresponsive, false},
		"never reported (I33)": {with(working(), func(g *Signals) { g.Declared = nil }),
			AgentHealthy, false},
		"never reported, no progress (N22)": {with(working(),
			func(g *Signals) { g.Declared, g.ProgressAge = nil, 4*time.Minute }), AgentSuspect, false},
		"never reported, some progress (N22)": {with(working(),
			func(g *Signals) { g.Declared, g.ProgressAge = nil, time.Minute }), AgentHealthy, false},
		"never reported, has written (N22)": {with(working(), func(g *Signals) {
			g.Declared, g.ProgressAge, g.Mailed, g.MailAge = nil, 4*time.Minute, true, time.Minute
		}), AgentHealthy, false},
		"never reported, just started": {with(working(),
			func(g *Signals) { g.Declared, g.ProcAge = nil, time.Minute }), AgentHealthy, true},
		"no reports asked for": {with(working(),
			func(g *Signals) { g.Declared, g.HealthEvery, g.HealthMissed = nil, 0, 0 }), AgentHealthy, true},
		"silent for 30 min": {with(working(),
			func(g *Signals) { g.ProgressAge = 30 * time.Minute }), AgentHealthy, true},
		"silent for more than 30 min": {with(working(),
			func(g *Signals) { g.ProgressAge = 31 * time.Minute }), AgentStalled, false},
		"silent, acknowledged mail": {with(working(), func(g *Signals) {
			g.ProgressAge, g.Mailed,
				g.MailAge = 31*time.Minute, true, 30*time.Minute
		}), AgentHealthy, true},
		"silent, acknowledged mail long ago": {with(working(), func(g *Signals) {
			g.ProgressAge, g.Mailed,
				g.MailAge = 45*time.Minute, true, 31*time.Minute
		}), AgentStalled, false},
		"reports missing, acknowledged mail": {with(working(), func(g *Signals) {
			missing(3)(g)
			g.ProgressAge,
				g.Mailed, g.MailAge = 4*time.Minute, true, time.Minute
		}), AgentSuspect, false},
		"exited, had acknowledged mail": {with(gone(),
			func(g *Signals) { g.Mailed, g.MailAge = true, time.Second }), AgentOffline, false},
		"silent, its role allows more": {with(working(),
			func(g *Signals) { g.ProgressAge, g.ProgressLimit = 31*time.Minute, time.Hour }), AgentHealthy, true},
		"silent for longer than that": {with(working(),
			func(g *Signals) { g.ProgressAge, g.ProgressLimit = 61*time.Minute, time.Hour }), AgentStalled, false},
		"silent, expected in a minute": {with(working(), late(31*time.Minute, time.Minute)),
			AgentHealthy, true},
		"silent, expected just now": {with(working(), late(31*time.Minute, 0)), AgentHealthy, true},
		"silent, it was expected a second ago": {with(working(), late(31*time.Minute, -time.Second)),
			AgentStalled, false},
		"late, silent for 30 min": {with(working(), late(30*time.Minute, -time.Hour)), AgentHealthy, true},
		"late, silent, acknowledged mail": {with(working(),
			func(g *Signals) { late(31*time.Minute, -time.Hour)(g); g.Mailed, g.MailAge = true, time.Minute }),
			AgentHealthy, true},
		"late, silent, declared in_tool": {with(declared(working(),
			noun.Declaration{Waiting: noun.WaitingTool, Until: day}), late(31*time.Minute, -time.Hour)),
			AgentBusy, true},
		"late, claimed, not started": {with(working(),
			func(g *Signals) { late(31*time.Minute, -time.Hour)(g); g.TaskState = noun.TaskAcknowledged }),
			AgentHealthy, true},
		"reports missing, expected later": {with(working(),
			func(g *Signals) { late(31*time.Minute, time.Hour)(g); missing(3)(g) }), AgentUnresponsive, false},
		"host suspect, late and silent": {with(working(),
			func(g *Signals) { late(time.Hour, -time.Hour)(g); g.Host = noun.HostSuspect }), AgentSuspect, false},
		"claimed, not started": {with(working(),
			func(g *Signals) { g.TaskState, g.ProgressAge = noun.TaskAcknowledged, time.Hour }), AgentHealthy, true},
		"a task waits": {with(waiting(),
			func(g *Signals) { g.Waiting = 5 * time.Minute }), AgentIdle, true},
		"deaf": {with(waiting(),
			func(g *Signals) { g.Waiting = 6 * time.Minute }), AgentDeaf, false},
		"host suspect, all else missing": {with(working(), func(g *Signals) {
			missing(9)(g)
			g.ProgressAge,
				g.Host = time.Hour, noun.HostSuspect
		}), AgentSuspect, false},
		"host suspect, declared busy": {with(declared(working(),
			noun.Declaration{Status: noun.StatusBusy, Until: day}),
			func(g *Signals) { g.Host = noun.HostSuspect }), AgentSuspect, false},
		"host lost, fence holds": {with(working(), func(g *Signals) { g.Host = noun.HostLost }),
			AgentSuspect, false},
		"host drained": {with(working(), func(g *Signals) { g.Host = noun.HostDraining }),
			AgentHealthy, true},
		"no leader": {with(working(),
			func(g *Signals) { missing(9)(g); g.ProgressAge, g.LeaderOff = time.Hour, true }), AgentSuspect, false},
		"lease is over": {with(working(),
			func(g *Signals) { missing(9)(g); g.LeaseLeft = -1 }), AgentSuspect, false},
		"fence is over": {with(working(), func(g *Signals) { g.FenceLeft = -1 }),
			AgentSuspect, false},
		"runs, has not joined in time": {with(working(),
			func(g *Signals) { g.Part, g.Task, g.PartAge = noun.PartDisconnected, 0, time.Hour }), AgentSuspect, false},
		"exited": {gone(), AgentOffline, false},
		"exited, no leader": {with(gone(), func(g *Signals) { g.LeaderOff = true }),
			AgentSuspect, false},
		"exited on a host now suspect": {with(gone(), func(g *Signals) { g.Host = noun.HostSuspect }),
			AgentOffline, false},
		"given up, host suspect": {with(gone(),
			func(g *Signals) { g.Proc, g.Host = noun.ProcLost, noun.HostSuspect }), AgentSuspect, false},
		"given up, host lost": {with(gone(),
			func(g *Signals) { g.Proc, g.Host = noun.ProcLost, noun.HostLost }), AgentOffline, false},
		"stopped by a human": {with(gone(), func(g *Signals) { g.Off = "stopped by x" }),
			AgentOffline, true},
		"start is ordered": {with(gone(),
			func(g *Signals) { g.Proc, g.Order, g.Exit = noun.ProcOrdered, noun.StartOrder, "" }), AgentOffline, false},
		"by hand, waits": {with(waiting(), func(g *Signals) {
			g.Proc, g.Managed,
				g.FenceLeft, g.HostName = noun.ProcNone, false, 0, ""
		}), AgentIdle, true},
		"permission prompt": {shown(working(), noun.PromptPermission, time.Minute),
			AgentNeedsInput, false},
		"permission prompt, all else missing": {with(shown(working(), noun.PromptPermission, time.Hour),
			func(g *Signals) { missing(9)(g); g.ProgressAge = time.Hour }), AgentNeedsInput, false},
		"permission prompt, declared": {shown(declared(working(),
			noun.Declaration{Waiting: noun.WaitingInput, Until: day}), noun.PromptPermission, time.Hour),
			AgentNeedsInput, true},
		"permission prompt, declared in_tool": {shown(declared(working(),
			noun.Declaration{Waiting: noun.WaitingTool, Until: day}), noun.PromptPermission, time.Hour),
			AgentNeedsInput, false},
		"permission prompt, waits": {with(shown(waiting(), noun.PromptPermission, time.Hour),
			func(g *Signals) { g.Waiting = time.Hour }), AgentNeedsInput, false},
		"permission prompt before the join": {with(shown(working(), noun.PromptPermission, time.Hour),
			func(g *Signals) { g.Part, g.Task, g.PartAge = noun.PartDisconnected, 0, time.Hour }),
			AgentNeedsInput, false},
		"permission prompt, host suspect": {with(shown(working(), noun.PromptPermission, time.Hour),
			func(g *Signals) { g.Host = noun.HostSuspect }), AgentSuspect, false},
		"permission prompt, exited since": {shown(gone(), noun.PromptPermission, time.Hour), AgentOffline, false},
		"usage limit, silent": {with(exhausted(time.Hour),
			func(g *Signals) { missing(9)(g); g.ProgressAge = time.Hour }), AgentSleeping, false},
		"usage limit, reports": {exhausted(time.Hour), AgentSleeping, true},
		"usage limit, may be over": {with(exhausted(time.Hour),
			func(g *Signals) { g.Exhausted, g.Quiet = false, true }), AgentDegraded, false},
		"usage limit, may be over, no progress": {with(exhausted(time.Hour),
			func(g *Signals) { g.Exhausted, g.Quiet, g.ProgressAge = false, true, 6*time.Minute }), AgentStalled, false},
		"usage limit, may be over, output": {with(exhausted(time.Hour),
			func(g *Signals) { g.Exhausted, g.ProgressAge = false, 6*time.Minute }), AgentDegraded, false},
		"usage limit, may be over, no reports": {with(exhausted(time.Hour), func(g *Signals) {
			missing(9)(g)
			g.Exhausted, g.ProgressAge = false, time.Hour
		}), AgentUnresponsive, false},
		"usage limit, declared busy": {shown(declared(working(),
			noun.Declaration{Status: noun.StatusBusy, Until: day}), noun.PromptUsageLimit, time.Hour), AgentBusy, true},
		"error": {shown(working(), noun.PromptError, time.Second), AgentDegraded, false},
		"error, silent": {with(shown(working(), noun.PromptError, time.Hour),
			func(g *Signals) { g.ProgressAge = time.Hour }), AgentStalled, false},
		"error, quiet, no progress": {with(shown(working(), noun.PromptError, 6*time.Minute),
			func(g *Signals) { g.Halted, g.Quiet, g.ProgressAge = true, true, 6*time.Minute }), AgentStalled, false},
		"error, quiet, no progress, older servers": {with(shown(working(), noun.PromptError, 6*time.Minute),
			func(g *Signals) { g.Quiet, g.ProgressAge = true, 6*time.Minute }), AgentDegraded, false},
		"error, output": {with(shown(working(), noun.PromptError, 6*time.Minute),
			func(g *Signals) { g.Halted, g.ProgressAge = true, 6*time.Minute }), AgentDegraded, false},
		"idle prompt, quiet, no progress": {with(shown(working(), noun.PromptIdle, 6*time.Minute),
			func(g *Signals) { g.Quiet, g.ProgressAge = true, 6*time.Minute }), AgentStalled, false},
		"idle prompt, quiet, progress": {with(shown(working(), noun.PromptIdle, 6*time.Minute),
			func(g *Signals) { g.Quiet, g.ProgressAge = true, 4*time.Minute }), AgentHealthy, true},
		"idle prompt, output": {with(shown(working(), noun.PromptIdle, 6*time.Minute),
			func(g *Signals) { g.ProgressAge = 6 * time.Minute }), AgentHealthy, true},
		"idle prompt, not for long": {with(shown(working(), noun.PromptIdle, 5*time.Minute),
			func(g *Signals) { g.Quiet, g.ProgressAge = true, 6*time.Minute }), AgentHealthy, true},
		"idle prompt, its role allows more": {with(shown(working(), noun.PromptIdle, 6*time.Minute),
			func(g *Signals) { g.Quiet, g.ProgressAge, g.ProgressLimit = true, 6*time.Minute, time.Hour }),
			AgentStalled, false},
		"idle prompt, done is expected later": {with(shown(working(), noun.PromptIdle, 6*time.Minute),
			func(g *Signals) { late(6*time.Minute, time.Hour)(g); g.Quiet = true }), AgentStalled, false},
		"idle prompt, no task": {with(shown(waiting(), noun.PromptIdle, time.Hour),
			func(g *Signals) { g.Quiet = true }), AgentIdle, true},
		"quiet, no prompt": {with(shown(working(), noun.PromptNone, time.Hour),
			func(g *Signals) { g.Quiet, g.ProgressAge = true, 29*time.Minute }), AgentHealthy, true},
		"output for ever, no progress (I41)": {with(shown(working(), noun.PromptNone, time.Hour),
			func(g *Signals) { g.ProgressAge = 31 * time.Minute }), AgentStalled, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := Judge(&tc.g)
			if v.Kind != tc.want || v.Fine != tc.fine {
				t.Errorf("%s, fine %v; want %s, %v: %+v", v.Kind, v.Fine, tc.want, tc.fine, v.Reasons)
			}
			if len(v.Reasons) == 0 {
				t.Error("a verdict without a reason")
			}
			if v.Kind.Grave() && len(against(v)) < 2 {
				t.Errorf("%s on %v", v.Kind, against(v))
			}
		})
	}
}

// against lists the signals that speak against the agent, each once.
func against(v Verdict) (list []string) {
	for _, r := range v.Reasons {
		if r.Bad && !slices.Contains(list, r.Evidence) {
			list = append(list, r.Evidence)
		}
	}
	return list
}

// spoil makes one signal bad.
func spoilers() map[string]func(*Signals) {
	return map[string]func(*Signals){
		"leader":   func(g *Signals) { g.LeaderOff = true },
		"host":     func(g *Signals) { g.Host = noun.HostSuspect },
		"lost":     func(g *Signals) { g.Host = noun.HostLost },
		"lease":    func(g *Signals) { g.LeaseLeft = -time.Minute },
		"fence":    func(g *Signals) { g.FenceLeft = -time.Minute },
		"health":   missing(50),
		"progress": func(g *Signals) { g.ProgressAge = 5 * time.Hour },
		"task":     func(g *Signals) { g.Waiting = 5 * time.Hour },
		"joined":   func(g *Signals) { g.Part, g.Task, g.PartAge, g.Waiting = noun.PartDisconnected, 0, time.Hour, 0 },
		"process":  func(g *Signals) { g.Proc, g.FenceLeft, g.Exit = noun.ProcNone, 0, "exited with code 1" },
		"silence":  func(g *Signals) { g.Declared = nil },
		"late":     func(g *Signals) { g.Expected, g.ExpectLeft = g.Task != 0, -time.Hour },
		"degraded": func(g *Signals) { g.Declared = &noun.Declaration{Status: noun.StatusDegraded} },
		"stopping": func(g *Signals) { g.Order = noun.StopOrder },
		"prompt":   func(g *Signals) { *g = shown(*g, noun.PromptPermission, time.Hour) },
		"shown":    func(g *Signals) { *g = shown(*g, noun.PromptError, time.Hour) },
		"idling":   func(g *Signals) { *g = shown(*g, noun.PromptIdle, time.Hour); g.Quiet = true },
		"quiet":    func(g *Signals) { *g = shown(*g, noun.PromptNone, time.Hour); g.Quiet = true },
	}
}

// Nothing is unresponsive or offline on one signal, whatever the other signals are as
// long as they are good (law L10).
func TestL10NothingIsGraveOnOneSignal(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 20_000 {
		g := working()
		if r.IntN(2) == 0 {
			g = waiting()
		}
		g.Managed = r.IntN(4) > 0
		g.ProcAge, g.PartAge = time.Duration(r.Int64N(int64(100*time.Hour))),
			time.Duration(r.Int64N(int64(100*time.Hour)))
		g.HealthEvery, g.HealthMissed = time.Duration(1+r.Int64N(int64(time.Hour))), uint32(r.IntN(6))
		g.ProgressLimit = time.Duration(r.Int64N(int64(time.Hour)))
		if g.Task != 0 { // no silence that any role's reports could count as one
			g.ProgressAge = time.Duration(r.Int64N(int64(g.HealthEvery)))
		}
		if r.IntN(3) == 0 {
			g.Declared = &noun.Declaration{Status: noun.DeclaredStatus(r.IntN(3)),
				Waiting: noun.Waiting(r.IntN(4)), Until: 1}
			g.DeclaredLeft = time.Duration(r.Int64N(2)) * time.Hour
		}
		for name, spoil := range spoilers() {
			one := with(g, spoil)
			if v := Judge(&one); v.Kind.Grave() {
				t.Fatalf("%s on the one signal %q: %+v\n%+v", v.Kind, name, v.Reasons, one)
			}
		}
	}
}

// And whatever is grave, on signals of any kind, names two independent ones.
func TestL10GraveVerdictsNameTwoSignals(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	seen := map[Kind]int{}
	spoils := spoilers()
	names := []string{}
	for name := range spoils {
		names = append(names, name)
	}
	slices.Sort(names)
	for range 50_000 {
		g := working()
		if r.IntN(2) == 0 {
			g = waiting()
		}
		for range r.IntN(6) {
			spoils[names[r.IntN(len(names))]](&g)
		}
		v := Judge(&g)
		seen[v.Kind]++
		if v.Kind.Grave() && len(against(v)) < 2 {
			t.Fatalf("%s on %v: %+v\n%+v", v.Kind, against(v), v.Reasons, g)
		}
		if again := Judge(&g); !slices.Equal(again.Reasons, v.Reasons) || again.Kind != v.Kind {
			t.Fatalf("the same signals are judged %+v, then %+v", v, again)
		}
	}
	for _, kind := range []Kind{AgentHealthy, AgentIdle, AgentDegraded, AgentSuspect, AgentDeaf, AgentStalled,
		AgentUnresponsive, AgentOffline} {
		if seen[kind] == 0 {
			t.Errorf("no random signals were judged %s: %v", kind, seen)
		}
	}
}
