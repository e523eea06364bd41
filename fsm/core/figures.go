package core

import (
	"time"

	"vigil/fsm/noun"
)

// Figures count what the laws are about. They are not replicated: each server
// counts what it has applied since it started.
type Figures struct {
	Beats         uint64    // batches
	Renewals      uint64    // of leases
	MarginLeft    noun.Time // sum over renewals of what was left of the lease
	MarginLeast   noun.Time // smallest of them; 0: none
	LeasesEnded   uint64
	LateSum       noun.Time // how late the ends of leases were noticed
	LateMost      noun.Time
	Recovered     uint64                        // tasks taken from a holder
	Extended      uint64                        // expected completions that were put off after they had passed
	Retried       uint64                        // attempts at tasks that had been tried before
	Waited        [len(WaitedBounds) + 1]uint64 // claims, by how long the task was in its queue
	WaitedSum     noun.Time
	Repeated      uint64 // writes answered from a session
	UsageClamped  uint64 // reports of usage that said more than can be
	Superseded    uint64 // words refused
	Conflicts     uint64
	OrdersDeduped uint64
	Exits         [noun.ExitGone + 1]uint64 // by kind
	Started       uint64                    // lives whose process was reported
	Repaired      uint64                    // of these, after an end that nobody ordered
	RepairSum     noun.Time                 // from that end to the report, back-off included
	RepairMost    noun.Time
	Full          uint64                          // refusals, since a budget was used up
	Dropped       uint64                          // finished tasks whose texts were dropped for space
	Brakes        uint64                          // times that the mass-failure brake was set
	Looks         uint64                          // at overseers
	LooksFailed   uint64                          // of these, without an answer of triage that was asked
	Decisions     [2][noun.DecideStart + 1]uint64 // by the rule, by triage
}

func (f *Figures) started(x *noun.Exit, now noun.Time) {
	f.Started++
	if x == nil || x.Kind == noun.ExitOrdered || x.Kind == noun.ExitClean {
		return
	}
	f.Repaired++
	f.RepairSum += now - x.At
	f.RepairMost = max(f.RepairMost, now-x.At)
}

func (f *Figures) ended(late time.Duration) {
	f.LeasesEnded++
	f.LateSum += noun.Time(late)
	f.LateMost = max(f.LateMost, noun.Time(late))
}

func (f *Figures) margin(left noun.Time) {
	f.Renewals++
	f.MarginLeft += left
	if f.MarginLeast == 0 || left < f.MarginLeast {
		f.MarginLeast = left
	}
}

// Figures returns the counts.
func (v *View) Figures() Figures { return v.Tally }
